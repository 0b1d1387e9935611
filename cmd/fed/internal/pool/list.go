package pool

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fsub/cmd/fed/internal/cli"
	"fsub/federation"
	v1 "fsub/federation/api/v1"
)

func newListCommand() *cobra.Command {
	return cli.List(&v1.Pools, &cobra.Command{Use: "list", Short: "List the pools: machines by state, spending and budgets, and what the clouds refuse now"})
}

func newMachinesCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "machines [SITE]",
		Short: "List the rented machines, the newest first: what each does, for which job, and what it has cost",
		Args:  cobra.MaximumNArgs(1),
	}
	var ended bool
	cli.ListWith(&v1.Machines, cmd, cli.Lister[v1.Machine, v1.MachineQuery]{
		Ask: func(q *v1.MachineQuery, args []string) error {
			if q.Site = federation.SiteName(strings.Join(args, "")); ended {
				q.Since = time.Unix(0, 0)
			}
			return nil
		},
		Choose: func(all []v1.Machine, _ []string) ([]v1.Machine, error) {
			if len(all) == v1.MaxMachines {
				fmt.Fprintf(cmd.ErrOrStderr(), "fed: only the newest %d machines are listed\n", v1.MaxMachines)
			}
			return all, nil
		},
	})
	cmd.Flags().BoolVar(&ended, "all", false, "those that have ended too")
	return cmd
}
