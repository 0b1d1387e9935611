package job

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"fsub/cmd/fed/internal/cli"
	"fsub/federation/api/client"
	"fsub/federation/plain"
)

func NewLogsCommand() *cobra.Command {
	var c cli.Connection
	var o logsOptions
	cmd := &cobra.Command{
		Use:   "logs JOB[_TASK]",
		Short: "Show what a job has written, wherever it runs",
		Long: `logs prints a job's standard output, which usually holds its errors too. At a site that shares the job's working
directory it is read from the job's own file, with your rights; from elsewhere it comes through the daemon.
Of an array it prints what each task has written, with the task before each line.`,
		Example: "  fed logs -f 30000017\n  fed logs --tail 20 30000017\n  fed logs -e 30000020_4\n  fed logs 30000020",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := cli.ParseJobID(args[0])
			if err != nil {
				return err
			}
			_, task, _ := strings.Cut(args[0], "_")
			daemon := c.Client()
			defer daemon.Close()
			l := logs{client: daemon, ref: client.LogRef{Job: id, Task: task, Stderr: o.stderr}, name: args[0], follow: o.follow,
				out: plain.Raw(cmd.OutOrStdout()), errOut: cmd.ErrOrStderr()}
			if task == "" {
				tasks, err := tasksOf(cmd.Context(), daemon, id)
				switch {
				case err != nil:
					return fmt.Errorf("job %s: %w", args[0], err)
				case tasks != nil && o.follow:
					return l.pickTask(tasks)
				case tasks != nil:
					return l.array(cmd.Context(), tasks, o.tail)
				}
			}
			if o.tail >= 0 {
				l.tail = &tail{w: l.out, lines: o.tail}
				l.out = l.tail
			}
			return l.run(cmd.Context())
		},
	}
	cmd.Flags().StringVar(&c.Socket, "socket", cli.DefaultSocket(), "the daemon's socket (environment: FSUB_SOCKET)")
	cmd.Flags().BoolVarP(&o.follow, "follow", "f", false, "go on until the job has ended")
	cmd.Flags().BoolVarP(&o.stderr, "err", "e", false, "show standard error, where --error gave it a separate file")
	cmd.Flags().IntVar(&o.tail, "tail", -1, "begin with the last `N` lines; of an array, of each task")
	return cmd
}

type logsOptions struct {
	follow, stderr bool
	tail           int // lines; negative: all
}
