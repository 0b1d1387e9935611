package daemon

import (
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"fsub/cloud/local"
)

// settleWord names the command that the machines of this one call for when the last has ended and
// no daemon is there.
const settleWord = "settle"

// NewSettleCommand is not for people.
func NewSettleCommand() *cobra.Command {
	return &cobra.Command{
		Use:    settleWord + " DIR",
		Short:  "Clear away what the machines of a local pool have left, when all of them have ended and no daemon lives",
		Args:   cobra.ExactArgs(1),
		Hidden: true,
		RunE: func(_ *cobra.Command, args []string) error {
			return local.Settle(args[0], slog.New(slog.DiscardHandler))
		},
	}
}

// SettleCommand is its command line; nil where this program's file is not known.
func SettleCommand(dir string) []string {
	self, err := os.Executable()
	if err != nil {
		return nil
	}
	return []string{self, "pool", settleWord, dir}
}
