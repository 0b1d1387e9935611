package job

import (
	"fmt"
	"os"

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
			if at := c.Elsewhere(); at != "" {
				return fmt.Errorf("fed attach works on the daemon's machine, and the daemon is on another (%s); from here, by fsub-remote: srun --jobid=%s --overlap --pty $SHELL", at, args[0])
			}
			env := append(os.Environ(), "FSUB_SOCKET="+c.Socket)
			if code := srun.Attach(args[0], args[1:], os.Environ(), os.Stdin, plain.Raw(cmd.OutOrStdout()), cmd.ErrOrStderr(), conn.FromEnv(env)); code != 0 {
				return cli.ExitError(code)
			}
			return nil
		},
	}
	cmd.Flags().SetInterspersed(false) // what follows the job is the command's
	cmd.Flags().StringVar(&c.Socket, "socket", cli.DefaultSocket(), "the daemon's socket (environment: FSUB_SOCKET)")
	return cmd
}
