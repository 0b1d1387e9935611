package pool

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"fsub/cmd/fed/internal/cli"
	"fsub/federation"
	v1 "fsub/federation/api/v1"
)

func newListCommand() *cobra.Command {
	return cli.List(&v1.Pools, &cobra.Command{Use: "list", Short: "List the pools: machines by state, spending and budgets, and what the clouds refuse now"})
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
			return cli.Print(cmd, &c, &v1.Machines, machines)
		},
	}
	c.Flags(cmd)
	cmd.Flags().BoolVar(&all, "all", false, "those that have ended too")
	return cmd
}
