package main

import (
	"strings"

	"github.com/spf13/cobra"

	"fsub/federation/api/client"
)

func newLogsCommand() *cobra.Command {
	var c connection
	var o logsOptions
	cmd := &cobra.Command{
		Use:   "logs JOB[_TASK]",
		Short: "Show what a job has written, wherever it runs",
		Long: `logs prints a job's standard output, which usually holds its errors too. At a site that shares the job's working
directory it is read from the job's own file, with your rights; from elsewhere it comes through the daemon.`,
		Example: "  fed logs -f 30000017\n  fed logs --err 30000020_4",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := parseJobID(args[0])
			if err != nil {
				return err
			}
			_, task, _ := strings.Cut(args[0], "_")
			daemon := c.client()
			defer daemon.Close()
			l := logs{client: daemon, ref: client.LogRef{Job: id, Task: task, Stderr: o.stderr}, name: args[0], follow: o.follow,
				out: cmd.OutOrStdout(), errOut: cmd.ErrOrStderr()}
			return l.run(cmd.Context())
		},
	}
	cmd.Flags().StringVar(&c.socket, "socket", socketDefault(), "the daemon's socket (environment: FSUB_SOCKET)")
	cmd.Flags().BoolVarP(&o.follow, "follow", "f", false, "go on until the job has ended")
	cmd.Flags().BoolVar(&o.stderr, "err", false, "show the errors, where --error gave them a file of their own")
	return cmd
}

type logsOptions struct {
	follow, stderr bool
}
