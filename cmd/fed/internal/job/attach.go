package job

import (
	"os"
	"strings"

	"github.com/spf13/cobra"

	"fsub/cmd/fed/internal/cli"
	"fsub/cmd/internal/conn"
	"fsub/cmd/internal/srun"
	"fsub/federation/plain"
)

func NewAttachCommand() *cobra.Command {
	var c cli.Connection
	cmd := &cobra.Command{
		Use:   "attach JOB [COMMAND [ARGUMENT...]]",
		Short: "Open a shell, or run a command, inside your running job",
		Long: `attach runs a command on the first machine of a job of yours that runs: beside its steps, in the environment and the directory of its
batch script and within its limits. Without a command it is your shell. With a terminal it is one of the machine's: job control, Ctrl-C and the window's size
work. The command ends when the connection does, and with the job.`,
		Example: "  fed attach 30000017\n  fed attach 30000017 nvidia-smi\n  srun --jobid=30000017 --overlap --pty -N2 hostname",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if code := srun.Attach(args[0], args[1:], os.Environ(), os.Stdin, plain.Raw(cmd.OutOrStdout()), cmd.ErrOrStderr(), connect(&c)); code != 0 {
				return cli.ExitError(code)
			}
			return nil
		},
	}
	cmd.Flags().SetInterspersed(false) // what follows the job is the command's
	cmd.Flags().StringVar(&c.Socket, "socket", cli.DefaultSocket(), "the daemon's socket (environment: FSUB_SOCKET)")
	return cmd
}

// named reports whether a socket is named, or is there: else the servers are asked that files and the environment name.
func named(c *cli.Connection) bool {
	return c.Elsewhere() == "" || strings.HasPrefix(c.Socket, "tls://")
}

// connect is the connection of the small commands, which becomes a tunnel, to the daemon that the command asks.
func connect(c *cli.Connection) *conn.Conn {
	env := os.Environ()
	if named(c) {
		env = append(env, "FSUB_SOCKET="+c.Socket)
	}
	return conn.FromEnv(env)
}
