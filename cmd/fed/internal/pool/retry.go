package pool

import (
	"fmt"

	"github.com/spf13/cobra"

	"fsub/cmd/fed/internal/cli"
	"fsub/federation"
)

func newRetryCommand() *cobra.Command {
	var c cli.Connection
	cmd := &cobra.Command{
		Use:   "retry SITE...",
		Short: "Ask a cloud again for offerings that it refused, once the cause is fixed",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, site := range args {
				forgiven, err := c.Client().RetryPools(cmd.Context(), federation.SiteName(site))
				if err != nil {
					return err
				}
				if len(forgiven) == 0 {
					fmt.Fprintf(cmd.OutOrStdout(), "%s: nothing is refused just now\n", site)
				}
				for _, f := range forgiven {
					fmt.Fprintf(cmd.OutOrStdout(), "%s: will be asked again for %s (%s: %s)\n", site, f.What, f.Reason, f.Detail)
				}
			}
			return nil
		},
	}
	c.Flags(cmd)
	return cmd
}
