package books

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"fsub/accounting/report"
	"fsub/accounting/report/format"
	"fsub/cmd/fed/internal/cli"
	"fsub/federation/api/client"
	v1 "fsub/federation/api/v1"
	"fsub/federation/plain"
)

// reportOptions are what fed report was told.
type reportOptions struct {
	cli.Connection
	by                 []string
	every              string
	since, until, last string
	where              []string
	running            bool
	chosen             bool // running was said
	format, output     string
}

// kindsOfReports says what each report tells.
var kindsOfReports = [][2]string{
	{"usage", "Hours of GPUs, CPUs, nodes and memory"},
	{"cost", "Dollars, and dollars for a GPU hour"},
	{"efficiency", "How much of the held resources was used, where that is measured"},
	{"wait", "How long jobs waited"},
	{"fairness", "Whose share is how large"},
	{"goodput", "Of 100 GPU hours that were paid, how many moved a job forward, and where the rest went"},
	{"forecast", "Forecast of this month's cost"},
	{"savings", "The same runs at the dearest pool, at list price, at first fit, and as run"},
}

func NewReportCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "report",
		Short: "Usage and cost of all runs at all sites",
		Long: `Usage and cost of all runs at all sites. You see what is yours, and what is of the accounts that you coordinate;
operators see all. Days are UTC days.`,
		Args: cobra.NoArgs, // a word that is no report is an error
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	for _, k := range kindsOfReports {
		var o reportOptions
		one := &cobra.Command{Use: k[0], Short: k[1], Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error {
			o.chosen = cmd.Flags().Changed("running")
			return o.run(cmd, k[0])
		}}
		o.spanFlags(one)
		f := one.Flags()
		f.StringSliceVar(&o.by, "by", []string{"account"}, "what to tell apart: site, account, user, qos, partition, gpu, name, group; several with commas, or none")
		f.StringVar(&o.every, "every", "", "tell the time apart: day, week or month")
		f.StringArrayVar(&o.where, "where", nil, "KEY=VALUE[,VALUE...]: only runs of which this is true; keys are those of --by")
		f.BoolVar(&o.running, "running", false, "count runs that have not ended, as of now: usage, cost and goodput (default: in reports that cover today)")
		o.formatFlags(one)
		cmd.AddCommand(one)
	}
	newSavedReportCommands(cmd)
	cmd.AddCommand(newBudgetReportCommand(), newSlurmReportCommand("cluster", "AccountUtilizationByUser, UserUtilizationByAccount or Utilization, as sreport prints them"),
		newSlurmReportCommand("user", "TopUsage, as sreport prints it"))
	return cmd
}

// newBudgetReportCommand tells how budgets stand, which the ledger does not know.
func newBudgetReportCommand() *cobra.Command {
	var o reportOptions
	cmd := &cobra.Command{Use: "budget", Short: "Use of the budgets of accounts, users and QOS, and how long the rest lasts", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if _, err := o.formatOf(); err != nil {
				return err
			}
			all, err := client.List(cmd.Context(), o.Client(), &v1.Budgets, v1.None{})
			if err != nil {
				return err
			}
			if len(all) == 0 {
				fmt.Fprintln(cmd.ErrOrStderr(), report.NoBudgets)
			}
			if err := o.write(cmd.OutOrStdout(), report.Budgets(time.Now(), budgetsOf(all))); err != nil {
				return err
			}
			var said []string
			for i := range all {
				said = append(said, all[i].Closed...)
			}
			slices.Sort(said)
			for _, text := range slices.Compact(said) {
				fmt.Fprintln(cmd.ErrOrStderr(), text)
			}
			return nil
		}}
	o.Flags(cmd)
	o.formatFlags(cmd)
	return cmd
}

func budgetsOf(all []v1.Budget) (out []report.Budget) {
	for i := range all {
		out = append(out, all[i].Report())
	}
	return out
}

func newSlurmReportCommand(word, short string) *cobra.Command {
	var o reportOptions
	cmd := &cobra.Command{
		Use: word + " REPORT [KEY=VALUE...]", Short: short, Args: cobra.MinimumNArgs(1),
		Long: short + ". Conditions are start= and end= (YYYY-MM-DD), clusters=, accounts=, users= and tres=, with commas. Each site is a cluster.",
		RunE: func(cmd *cobra.Command, args []string) error {
			return slurmReport(cmd.Context(), cmd.OutOrStdout(), &o, append([]string{word}, args...))
		},
	}
	o.spanFlags(cmd)
	return cmd
}

func (o *reportOptions) spanFlags(cmd *cobra.Command) {
	o.Flags(cmd)
	f := cmd.Flags()
	f.StringVar(&o.since, "since", "", "the first day, YYYY-MM-DD or YYYY-MM (default: the first of this month)")
	f.StringVar(&o.until, "until", "", "the last day, YYYY-MM-DD or YYYY-MM (default: today)")
	f.StringVar(&o.last, "last", "", `instead of --since: days, weeks or months until today: "30d", "4w", "12m"`)
}

func (o *reportOptions) formatFlags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.format, "format", "", "table, csv, json, parquet or html (default: by the name of --output, else table)")
	cmd.Flags().StringVarP(&o.output, "output", "o", "", "write to this file")
}

// spec is what is asked for.
func (o *reportOptions) spec(kind string) report.Spec {
	s := report.Spec{Kind: kind, By: o.by, Every: o.every, Since: o.since, Until: o.until, Last: o.last, Where: o.where}
	if o.chosen {
		s.Running = &o.running
	}
	return s
}

func (o *reportOptions) run(cmd *cobra.Command, kind string) error {
	if _, err := o.formatOf(); err != nil {
		return err
	}
	spec := o.spec(kind)
	q, ask, err := spec.Ask(time.Now())
	if err != nil {
		return err
	}
	m, err := report.NewMaker(q)
	if err != nil {
		return err
	}
	if err := o.Client().EachBookedSum(cmd.Context(), ask, func(s *v1.BookedSum) {
		l := s.Line()
		m.Add(&l)
	}); err != nil {
		return err
	}
	return o.write(cmd.OutOrStdout(), m.Table())
}

func (o *reportOptions) formatOf() (string, error) {
	if o.format == "" && o.JSON {
		return "json", nil
	}
	return format.Of(o.format, o.output)
}

// write writes a report to the file that was asked for, or else to out.
func (o *reportOptions) write(out io.Writer, t *report.Table) error {
	form, err := o.formatOf()
	if err == nil && form == "html" {
		t.Federation, _ = o.Client().Federation(context.Background()) // a page without it is one
	}
	switch {
	case err != nil:
		return err
	case o.output == "" && form == "table":
		return printReport(out, t)
	case o.output == "":
		return format.Write(plain.Raw(out), t, form)
	}
	f, err := os.Create(o.output)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := format.Write(f, t, form); err != nil {
		return err
	}
	return f.Close()
}

// printReport prints a table.
func printReport(w io.Writer, t *report.Table) error {
	fmt.Fprintf(w, "%s, %s\n", t.Title, t.Span)
	if t.Empty() {
		_, err := fmt.Fprintln(w, report.Nothing)
		return err
	}
	tab := cli.NewTable(w)
	for _, words := range t.Lines() {
		tab.Row(words...)
	}
	if err := tab.Flush(); err != nil || t.Open == "" {
		return err
	}
	_, err := fmt.Fprintln(w, t.Open)
	return err
}
