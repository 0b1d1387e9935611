package admin

import (
	"fmt"

	"github.com/spf13/cobra"

	"fsub/cmd/fed/internal/cli"
	"fsub/federation/api/client"
	v1 "fsub/federation/api/v1"
)

// NewDaemonCommand is "fed daemon".
func NewDaemonCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "daemon",
		Short: "The daemons that share one PostgreSQL, and which of them leads",
		Long: `Several daemons may share a PostgreSQL (store and daemons in the configuration). One of them leads: it plans and speaks to the sites. The others stand by:
they list jobs by themselves, and pass on to it what they cannot answer. When it ends, one of them leads within seconds.`,
	}
	cmd.AddCommand(
		cli.List(&v1.Daemons, &cobra.Command{Use: "list", Short: "List the daemons"}),
		newStepDownCommand(),
	)
	return cmd
}

func newStepDownCommand() *cobra.Command {
	var c cli.Connection
	cmd := &cobra.Command{
		Use:   "step-down",
		Short: "Have another daemon lead, for instance before this one is upgraded; administrators only",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if _, err := client.Post[v1.None](cmd.Context(), c.Client(), "/fed/v1/daemons/step-down", nil); err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), "another daemon leads from now on; see: fed daemon list")
			return nil
		},
	}
	c.Flags(cmd)
	return cmd
}
