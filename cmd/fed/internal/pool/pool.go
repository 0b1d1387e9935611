// Package pool has the commands about rented machines and what they cost: fed pool and offers.
package pool

import (
	"github.com/spf13/cobra"

	"fsub/cmd/fed/internal/daemon"
)

func NewCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "pool", Short: "The pools of rented machines, and what they cost"}
	cmd.AddCommand(newListCommand(), newMachinesCommand(), newRetryCommand(), newClearCommand(), daemon.NewSettleCommand())
	return cmd
}
