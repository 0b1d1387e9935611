package main

import (
	"github.com/spf13/cobra"

	"fsub/cmd/fed/internal/daemon"
)

func newPoolCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "pool", Short: "The pools of rented machines, and what they cost"}
	cmd.AddCommand(newPoolListCommand(), newPoolMachinesCommand(), newPoolRetryCommand(), newPoolClearCommand(), daemon.NewSettleCommand())
	return cmd
}
