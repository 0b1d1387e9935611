package cli

import (
	"cmp"
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"fsub/federation/api/client"
)

// Ask makes cmd, which has its words, a command that asks the daemon and prints the answer: as JSON if that is wanted, else as text does. An answer that
// comes with an [ExitError] is printed too.
func Ask[T any](cmd *cobra.Command, ask func(ctx context.Context, c *client.Client, args []string) (T, error), text func(w io.Writer, answer T) error) *cobra.Command {
	var c Connection
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		answer, err := ask(cmd.Context(), c.Client(), args)
		if err != nil && !errors.As(err, new(ExitError)) {
			return err
		}
		if c.JSON {
			return cmp.Or(PrintJSON(cmd.OutOrStdout(), answer), err)
		}
		return cmp.Or(text(cmd.OutOrStdout(), answer), err)
	}
	c.Flags(cmd)
	return cmd
}
