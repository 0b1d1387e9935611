package admin

import (
	"github.com/spf13/cobra"

	"fsub/cmd/fed/internal/cli"
	v1 "fsub/federation/api/v1"
)

// NewTokenCommand returns the command with the verbs for tokens.
func NewTokenCommand() *cobra.Command {
	return cli.AddVerbs(&cobra.Command{
		Use:   "token",
		Short: "Tokens with which you call from other machines: laptops, CI",
		Long: `A token identifies you on machines without the daemon's socket. It is shown once, when it is created; give it to fsub login there.
The daemon keeps a hash of it. Whoever has the token may do what its scope says, in your name, until it expires or is revoked.`,
	}, &v1.Tokens, &cobra.Command{
		Short: "Create a token, and show it; one of the same name is revoked",
		Long: `Create a token, and show it once. Its scope is what its bearer may do: read (look only), submit (also submit jobs, and act on your own), or operate (what you
may as an operator; only operators create such tokens). No token makes an administrator, or a coordinator of an account. A token of the same name is revoked.`,
		Example: "  fed token create laptop\n  fed token create ci --scope submit --lifetime 12h --json",
	})
}
