package pool

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fsub/accounting"
	"fsub/cmd/fed/internal/cli"
	"fsub/federation"
	"fsub/federation/api/client"
	v1 "fsub/federation/api/v1"
)

func newListCommand() *cobra.Command {
	var c cli.Connection
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the pools: machines by state, spending and budgets, and what the clouds refuse now",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			pools, err := client.List(cmd.Context(), c.Client(), &v1.Pools, v1.None{})
			if err != nil {
				return err
			}
			if c.JSON {
				return cli.PrintJSON(cmd.OutOrStdout(), pools)
			}
			return printPools(cmd.OutOrStdout(), pools)
		},
	}
	c.Flags(cmd)
	return cmd
}

func printPools(w io.Writer, pools []v1.Pool) error {
	t := cli.NewTable(w)
	t.Row("SITE", "POOL", "STARTING", "IDLE", "BUSY", "ENDING", "MAX", "WAITING", "$/H", "TODAY", "MONTH", "BUDGET", "NOTE")
	for i := range pools {
		p := &pools[i]
		n := func(i int) string { return fmt.Sprint(i) }
		t.Row(string(p.Site), p.Name, n(p.Starting), n(p.Idle), n(p.Busy), n(p.Ending), n(p.Max), n(p.Waiting),
			accounting.Bare(p.PricePerHour.Rate()), p.Today.USD(), p.Month.USD(), budgetText(p), poolNote(p))
	}
	return t.Flush()
}

func budgetText(p *v1.Pool) string {
	var texts []string
	if p.Daily > 0 {
		texts = append(texts, p.Daily.USD()+"/day")
	}
	if p.Monthly > 0 {
		texts = append(texts, p.Monthly.USD()+"/month")
	}
	return strings.Join(texts, ",")
}

// poolNote says why a pool starts no machines, or not all types, and what else an operator should know.
func poolNote(p *v1.Pool) string {
	var notes []string
	if p.Stopped != "" {
		notes = append(notes, p.Stopped)
	}
	if p.BoundToday > 0 {
		notes = append(notes, p.BoundToday.USD()+" of today's budget bound by running jobs")
	}
	if p.BoundMonth > 0 {
		notes = append(notes, p.BoundMonth.USD()+" of this month's bound by running jobs")
	}
	for _, c := range p.Cooling {
		notes = append(notes, fmt.Sprintf("%s: %s until %s", c.What, c.Reason, c.Until.Local().Format("15:04:05")))
	}
	if p.Note != "" {
		notes = append(notes, p.Note)
	}
	return strings.ReplaceAll(strings.Join(notes, "; "), "\n", " ")
}

func newMachinesCommand() *cobra.Command {
	var c cli.Connection
	var all bool
	cmd := &cobra.Command{
		Use:   "machines [SITE]",
		Short: "List the rented machines, the newest first: what each does, for which job, and what it has cost",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			site := federation.SiteName(strings.Join(args, ""))
			machines, err := c.Client().Machines(cmd.Context(), site, all)
			if err != nil {
				return err
			}
			if len(machines) == v1.MaxMachines {
				fmt.Fprintf(cmd.ErrOrStderr(), "fed: only the newest %d machines are listed\n", v1.MaxMachines)
			}
			if c.JSON {
				return cli.PrintJSON(cmd.OutOrStdout(), machines)
			}
			return printMachines(cmd.OutOrStdout(), machines)
		},
	}
	c.Flags(cmd)
	cmd.Flags().BoolVar(&all, "all", false, "those that have ended too")
	return cmd
}

func printMachines(w io.Writer, machines []v1.Machine) error {
	t := cli.NewTable(w)
	t.Row("SITE", "POOL", "MACHINE", "NODE", "INSTANCE", "OFFERING", "STATE", "SINCE", "ENDED", "JOB", "$/H", "COST", "IDLE", "WHY")
	for i := range machines {
		m := &machines[i]
		t.Row(string(m.Site), m.Pool, m.ID, m.Name, m.Instance, m.Offering, m.State, timeText(m.Created), timeText(m.Ended), cli.TaskText(m.Job, m.Array, m.Task),
			accounting.Bare(m.PricePerHour.Rate()), m.Cost.USD(), m.IdleCost.USD(), strings.ReplaceAll(m.Why, "\n", " "))
	}
	return t.Flush()
}

func timeText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return cli.When(t)
}
