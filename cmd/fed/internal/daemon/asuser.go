package daemon

import (
	"os"

	"github.com/spf13/cobra"

	"fsub/cmd/fed/internal/cli"
	"fsub/federation/staging/home"
)

// asUser is the hidden command that the daemon starts as one of its users, to read or write that user's files.
const asUser = "as-user"

func NewAsUserCommand() *cobra.Command {
	return &cobra.Command{
		Use:    asUser,
		Short:  "Read or write files for the daemon, which starts this itself",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if code := home.Child(os.Stdin, os.Stdout, os.Stderr); code != 0 {
				return cli.ExitError(code)
			}
			return nil
		},
	}
}
