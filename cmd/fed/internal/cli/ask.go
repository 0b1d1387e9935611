package cli

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"fsub/federation/api/client"
)

// Ask makes cmd, which has its words, a command that asks the daemon and prints the answer: as JSON if that is wanted, else as text does.
func Ask[T any](cmd *cobra.Command, ask func(ctx context.Context, c *client.Client, args []string) (T, error), text func(w io.Writer, answer T) error) *cobra.Command {
	var c Connection
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		answer, err := ask(cmd.Context(), c.Client(), args)
		switch {
		case err != nil:
			return err
		case c.JSON:
			return PrintJSON(cmd.OutOrStdout(), answer)
		}
		return text(cmd.OutOrStdout(), answer)
	}
	c.Flags(cmd)
	return cmd
}
