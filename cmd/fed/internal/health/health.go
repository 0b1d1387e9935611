// Package health has the commands about what keeps nodes from working: the rules of health, checks of nodes, and planned maintenance.
package health

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fsub/cmd/fed/internal/cli"
	"fsub/federation/api/client"
	v1 "fsub/federation/api/v1"
	"fsub/federation/health"
	"fsub/federation/idle"
)

func NewCommand() *cobra.Command {
	cmd := cli.Ask(&cobra.Command{
		Use:   "health",
		Short: "What the daemon does by itself about bad nodes and poison jobs: breakers, suspected nodes, rules",
		Long: `The daemon looks at how jobs end and at what health checks find. By its rules it avoids nodes for a while, drains them, and holds jobs that fail
wherever they run. Limits bound what a rule drains; beyond them its breaker opens, and nothing is drained by it until an operator resets it.
The breaker part:SITE/NAME of a switch or block opens when gangs fail below it and do well elsewhere: gangs are kept off it for a day, or until an operator resets it.
That of a rail, part:SITE/NAME:PORT, opens when the same port goes down on several nodes there: gangs are kept off these nodes until the ports are back.

Without a verb: what is wrong with the daemon and its sites, the breakers that are open, and the nodes of which something is remembered.`,
		Args: cobra.NoArgs,
	}, func(ctx context.Context, c *client.Client, _ []string) (*v1.Health, error) { return c.Health(ctx) }, showHealth)
	cmd.AddCommand(newRulesCommand(), newHistoryCommand(), newResetCommand(), newTestCommand())
	return cmd
}

func showHealth(out io.Writer, h *v1.Health) error {
	now := time.Now()
	for _, f := range h.Faults {
		fmt.Fprintf(out, "FAULT since %s: %s\n", cli.When(f.Since), cli.OneLine(f.Text))
	}
	open := 0
	for _, b := range h.Breakers {
		if b.Open {
			open++
			fmt.Fprintf(out, "BREAKER %s is open since %s: %s\n", b.Name, cli.When(*b.Since), b.Why)
			if b.Until != nil {
				fmt.Fprintf(out, "Gangs are kept off it until %s, or: fed health reset %s\n", cli.When(*b.Until), b.Name)
			} else {
				fmt.Fprintf(out, "Nothing is drained by it until: fed health reset %s\n", b.Name)
			}
		}
	}
	if open == 0 {
		fmt.Fprintln(out, "no breaker is open")
	}
	t := cli.NewTable(out)
	t.Row("NODE", "IS", "RULE", "UNTIL", "FAILURES", "LAST", "WHY")
	for i := range h.Nodes {
		n := &h.Nodes[i]
		is, rule, until, last := "-", "-", "-", "-"
		switch {
		case n.Drained != "":
			is, rule = "drained", n.Drained
		case n.Suspected != nil && now.Before(*n.Suspected):
			is, rule, until = "suspected", n.Rule, cli.When(*n.Suspected)
		case n.Denied != "":
			is, rule = "denied", n.Denied
		}
		if n.Last != nil {
			last = cli.When(*n.Last)
		}
		why := n.Why
		if why == "" {
			why = "-"
		}
		t.Row(string(n.Site)+"/"+n.Name, is, rule, until, fmt.Sprint(n.Failures), last, why)
	}
	return t.Flush()
}

func newRulesCommand() *cobra.Command {
	return cli.Ask(&cobra.Command{
		Use:   "rules",
		Short: "The rules in force: what triggers them, what they do, and their limits",
		Args:  cobra.NoArgs,
	}, func(ctx context.Context, c *client.Client, _ []string) ([]v1.HealthRule, error) {
		h, err := c.Health(ctx)
		return h.Rules, err
	}, showRules)
}

func showRules(out io.Writer, rules []v1.HealthRule) error {
	t := cli.NewTable(out)
	t.Row("RULE", "ACTION", "FOR", "LIMIT", "NEEDS", "WHAT")
	for _, r := range rules {
		lasts, limit := "-", "-"
		if r.For > 0 && (r.Action == "suspect" || r.Name == idle.Name) {
			lasts = health.Span(time.Duration(r.For * float64(time.Second)))
		}
		if r.Limit > 0 && r.Action == "drain" {
			limit = fmt.Sprintf("%d/h", r.Limit)
		}
		t.Row(r.Name, r.Action, lasts, limit, r.Needs, r.What)
	}
	return t.Flush()
}

func newHistoryCommand() *cobra.Command {
	return cli.List(&v1.HealthFindings, &cobra.Command{Use: "history", Short: "What the rules have said, and what of it was not done"})
}

func newResetCommand() *cobra.Command {
	return cli.Ask(&cobra.Command{
		Use:   "reset [BREAKER]",
		Short: "Close a breaker, or all of them; operators only",
		Long: `Close a breaker, or all of them. Its rule starts again: it ignores what was seen before. Look at "fed health history" first, and
resume the nodes that were drained for nothing.`,
		Args: cobra.MaximumNArgs(1),
	}, func(ctx context.Context, c *client.Client, args []string) ([]string, error) {
		return c.ResetHealth(ctx, strings.Join(args, ""))
	}, func(out io.Writer, closed []string) error {
		for _, name := range closed {
			fmt.Fprintf(out, "%s: reset\n", name)
		}
		return nil
	})
}
