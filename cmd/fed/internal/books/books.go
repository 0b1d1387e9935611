// Package books has the commands about what runs used and cost: the ledger, bills and reports.
package books

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"fsub/cmd/fed/internal/cli"
	"fsub/federation/api/client"
	v1 "fsub/federation/api/v1"
)

func NewCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "books", Short: "The ledger of what runs used and cost: compare it with the sites' own accounts, import bills"}
	cmd.AddCommand(newCheckCommand(), newImportBillCommand(),
		cli.List(&v1.Bills, &cobra.Command{Use: "bills", Short: "The bills that were imported, beside what the ledger had estimated"}))
	return cmd
}

func newCheckCommand() *cobra.Command {
	var sites []string
	var day, since string
	cmd := cli.Ask(&cobra.Command{
		Use:   "check",
		Short: "Compare the ledger with the accounts of sites, and name every difference",
		Long: `Compare the ledger with what sites' own accounts say now, for UTC days: the seconds of each TRES for each account and user, with what
sacct would add up, and with sreport where the site's configuration has a report_command. Every difference is named, with the runs that make it.
The exit code is 1 if there are any.`,
		Args: cobra.NoArgs,
	}, func(ctx context.Context, c *client.Client, _ []string) ([]v1.BooksCheck, error) {
		q, err := checkQuery(sites, day, since, time.Now())
		if err != nil {
			return nil, err
		}
		found, err := c.CheckBooks(ctx, q)
		if err == nil && slices.ContainsFunc(found, func(c v1.BooksCheck) bool { return c.Error != "" || len(c.Differences) > 0 }) {
			err = cli.ExitError(1)
		}
		return found, err
	}, printChecks)
	cmd.Flags().StringSliceVar(&sites, "site", nil, "these sites (default: all)")
	cmd.Flags().StringVar(&day, "day", "", "this UTC day, YYYY-MM-DD (default: yesterday)")
	cmd.Flags().StringVar(&since, "since", "", "with --day, from this day on: at most 31 days")
	return cmd
}

func checkQuery(sites []string, day, since string, now time.Time) (url.Values, error) {
	last := now.UTC().AddDate(0, 0, -1)
	var err error
	if day != "" {
		if last, err = time.Parse(time.DateOnly, day); err != nil {
			return nil, fmt.Errorf("invalid --day %q: want YYYY-MM-DD", day)
		}
	}
	first := last
	if since != "" {
		if first, err = time.Parse(time.DateOnly, since); err != nil || first.After(last) {
			return nil, fmt.Errorf("invalid --since %q: want YYYY-MM-DD, not after --day", since)
		}
	}
	return url.Values{"site": sites, "from": {first.Format(time.DateOnly)}, "until": {last.AddDate(0, 0, 1).Format(time.DateOnly)}}, nil
}

func printChecks(w io.Writer, all []v1.BooksCheck) error {
	for i := range all {
		c := &all[i]
		days := c.From
		if until, err := time.Parse(time.DateOnly, c.Until); err == nil {
			if last := until.AddDate(0, 0, -1).Format(time.DateOnly); last != c.From {
				days += " to " + last
			}
		}
		if c.Error != "" {
			fmt.Fprintf(w, "%s, %s: not compared: %s\n", c.Site, days, c.Error)
			continue
		}
		if c.Skipped != "" {
			fmt.Fprintf(w, "%s, %s: nothing to compare: %s\n", c.Site, days, c.Skipped)
			continue
		}
		fmt.Fprintf(w, "%s, %s: %d runs, %d figures compared with sacct", c.Site, days, c.Runs, c.Figures)
		switch c.Report {
		case "":
			fmt.Fprint(w, "; no report_command for sreport")
		case "compared":
			fmt.Fprintf(w, ", %d with sreport", c.ReportFigures)
		default:
			fmt.Fprintf(w, "; sreport not compared: %s", c.Report)
		}
		if c.Live > 0 {
			fmt.Fprintf(w, "; %d runs have not ended and are booked when they do", c.Live)
		}
		if c.OtherAccount > 0 {
			fmt.Fprintf(w, "; %d runs are under another account at the site than the one that pays", c.OtherAccount)
		}
		if len(c.Differences) == 0 {
			fmt.Fprintln(w, ": no difference")
			continue
		}
		fmt.Fprintf(w, ": %d differences\n", len(c.Differences))
		t := cli.NewTable(w)
		t.Row("WITH", "ACCOUNT", "USER", "TRES", "LEDGER", "SITE", "DIFFERENCE", "WHY")
		for _, d := range c.Differences {
			t.Row(d.With, d.Account, d.User, d.TRES, strconv.FormatInt(d.Ours, 10), strconv.FormatInt(d.Theirs, 10), strconv.FormatInt(d.Ours-d.Theirs, 10), d.Why)
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	return nil
}
