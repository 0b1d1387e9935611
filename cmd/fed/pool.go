package main

import "github.com/spf13/cobra"

func newPoolCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "pool", Short: "The pools of rented machines, and what they cost"}
	cmd.AddCommand(newPoolListCommand(), newPoolMachinesCommand(), newPoolRetryCommand(), newPoolClearCommand(), newPoolSettleCommand())
	return cmd
}
