package site

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fsub/cmd/fed/internal/cli"
	"fsub/federation"
	"fsub/federation/api/client"
	v1 "fsub/federation/api/v1"
	"fsub/federation/driver"
)

func newShowCommand() *cobra.Command {
	return cli.Ask(&cobra.Command{
		Use:   "show SITE",
		Short: "Show a site: what is wrong with it and what to do, what is planned there, its history",
		Args:  cobra.ExactArgs(1),
	}, func(ctx context.Context, c *client.Client, args []string) (*v1.SiteDetail, error) {
		return c.Site(ctx, federation.SiteName(args[0]))
	}, showSite)
}

func showSite(out io.Writer, s *v1.SiteDetail) error {
	line := func(key, format string, args ...any) {
		fmt.Fprintf(out, "%-12s %s\n", key, fmt.Sprintf(format, args...))
	}
	line("site", "%s", s.Name)
	state := string(s.State)
	if s.By != "" {
		state += fmt.Sprintf(" by %s since %s", s.By, cli.When(s.At))
	}
	if s.StateWhy != "" {
		state += ": " + s.StateWhy
	}
	line("state", "%s", state)
	if s.State == federation.FedRemoved {
		return showSiteHistory(out, s)
	}
	line("health", "%s", s.Health())
	for _, c := range s.Conditions {
		line("", "%s since %s%s", strings.ReplaceAll(string(c.Name), "_", " "), cli.When(c.Since), cli.Colon(c.Detail))
		line("", "  %s", strings.ReplaceAll(c.Advice, "SITE", string(s.Name)))
	}
	if !s.NextTry.IsZero() {
		line("next try", "%s", cli.When(s.NextTry))
	}
	if !s.Seen.IsZero() {
		line("seen", "%s (%s ago)", cli.When(s.Seen), max(time.Since(s.Seen), 0).Round(time.Second))
		line("cluster", "%s, Slurm %s, %s", s.Cluster, s.Version, s.Mode)
		line("nodes", "%d, of which %d are idle; %d GPUs, %d free", s.Nodes, s.NodesIdle, s.GPUs, s.GPUsFree)
	}
	for i := range s.Fragments {
		if f := &s.Fragments[i]; f.Free > 0 {
			line("free", "%s", f.Text())
		}
	}
	line("jobs", "%d run, %d wait there", s.Running, s.Bound)
	for _, w := range s.Warnings {
		line("warning", "%s", w)
	}
	for _, a := range s.Accounts {
		line("accounts", "%s", a)
	}
	for i := range s.Maintenance {
		m := &s.Maintenance[i]
		line("maintenance", "%d: %s from %s to %s: %s", m.ID, cli.AllIfNone(m.Nodes), cli.When(m.From), cli.When(m.To), m.Reason)
	}
	return showSiteHistory(out, s)
}

func showSiteHistory(out io.Writer, s *v1.SiteDetail) error {
	if len(s.History) == 0 {
		return nil
	}
	fmt.Fprintln(out)
	t := cli.NewTable(out)
	t.Row("TIME", "WHO", "FROM", "TO", "WHY")
	for _, h := range s.History {
		t.Row(cli.When(h.Time), h.Who, h.From, h.To, strings.ReplaceAll(h.Why, "\n", " "))
	}
	return t.Flush()
}

func newTestCommand() *cobra.Command {
	var names []federation.SiteName
	return cli.Ask(&cobra.Command{
		Use:   "test [SITE]",
		Short: "Try everything that is needed of a site, or of all, and say what to do",
		Long: `The daemon tries everything that it needs of a site: address, TLS, token, version, rights (job IDs, node updates), slurmdbd, clock and
file systems. Nothing is changed at the site. The exit code is 1 if something failed.`,
		Args: cobra.MaximumNArgs(1),
	}, func(ctx context.Context, c *client.Client, args []string) (map[federation.SiteName][]v1.SiteCheck, error) {
		if len(args) > 0 {
			names = []federation.SiteName{federation.SiteName(args[0])}
		} else {
			sites, err := c.Sites(ctx)
			if err != nil {
				return nil, err
			}
			for _, s := range sites {
				names = append(names, s.Name)
			}
		}
		all, failed := map[federation.SiteName][]v1.SiteCheck{}, error(nil)
		for _, name := range names {
			checks, err := c.TestSite(ctx, name)
			if err != nil {
				return nil, err
			}
			if all[name] = checks; slices.ContainsFunc(checks, func(k v1.SiteCheck) bool { return k.Result == driver.CheckFailed }) {
				failed = cli.ExitError(1)
			}
		}
		return all, failed
	}, func(w io.Writer, all map[federation.SiteName][]v1.SiteCheck) error {
		t := cli.NewTable(w)
		t.Row("SITE", "CHECK", "RESULT", "FOUND", "DO")
		for _, name := range names {
			for _, k := range all[name] {
				t.Row(string(name), k.Name, string(k.Result), strings.ReplaceAll(k.Detail, "\n", " "), k.Advice)
			}
		}
		return t.Flush()
	})
}
