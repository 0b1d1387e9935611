package job

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fsub/cmd/fed/internal/cli"
	"fsub/cmd/internal/show"
	"fsub/federation"
	"fsub/federation/api/client"
	v1 "fsub/federation/api/v1"
)

// Exit codes of fed wait, beside 0 and the 1 of every command.
const (
	exitNotCompleted = 2
	exitTimeout      = 124 // as of timeout(1)
	exitInterrupted  = 130 // as of a shell
)

// NewWaitCommand makes fed wait.
func NewWaitCommand() *cobra.Command {
	w := &waiter{}
	cmd := &cobra.Command{
		Use:   "wait JOB[_TASKS]... | --group NAME",
		Short: "Wait until jobs have ended; the exit code says how",
		Long: `Wait until all of the jobs have ended, or all of your jobs in a group, those too that are submitted into it meanwhile; with --any, until one of them has. An array has ended when all
of its tasks have. Each job that has ended is a line: its number, its state, its exit code and its name. Of a group only those are that ended otherwise than COMPLETED, at most 100, and the last
line says how many of its jobs ended how, each task of an array as one. The daemon tells of the ends; nothing is asked again and again.

The exit code is 0 if all of them are COMPLETED, 2 if some are not, 1 if there is no such job or the wait went wrong, 124 after --timeout, 130 after an interrupt.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			w.client, w.out, w.errOut = w.Connection.Client(), cmd.OutOrStdout(), cmd.ErrOrStderr()
			return w.run(cmd.Context(), args)
		},
	}
	w.Connection.Flags(cmd)
	f := cmd.Flags()
	f.StringVar(&w.group, "group", "", "wait for the jobs of this group, and of those within it")
	f.StringVar(&w.user, "user", "", "with --group: of this user; * for those of all users. Not set: yours")
	f.BoolVar(&w.any, "any", false, "return when the first of them has ended")
	f.DurationVar(&w.timeout, "timeout", 0, "wait no longer than this: 90s, 12h. Not set: as long as it takes")
	f.BoolVarP(&w.quiet, "quiet", "q", false, "print nothing; the exit code tells")
	return cmd
}

// waiter waits for jobs.
type waiter struct {
	cli.Connection
	group, user string
	any, quiet  bool
	timeout     time.Duration

	client      *client.Client
	out, errOut io.Writer

	open         map[federation.JobID]*awaited // what is waited for
	told         map[string]bool               // jobs and tasks that have ended
	ended, wrong int                           // jobs that have ended, and those of them that are not COMPLETED
	from         client.EventsFrom
	of           groupWait
}

// awaited is a job that is waited for, or some tasks of an array.
type awaited struct {
	whole bool
	tasks map[int]bool
}

func (w *waiter) run(ctx context.Context, args []string) error {
	switch {
	case w.group == "" && len(args) == 0:
		return errors.New("no job is named: give job numbers, or --group NAME")
	case w.group != "" && len(args) > 0:
		return errors.New("give job numbers or --group, not both")
	case w.group == "" && w.user != "":
		return errors.New("--user is for --group")
	case w.timeout < 0:
		return fmt.Errorf("invalid --timeout %s: want a time above 0, such as 90s or 12h", w.timeout)
	}
	interrupted := ctx
	if w.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, w.timeout)
		defer cancel()
	}
	err := w.wait(ctx, args)
	switch {
	case interrupted.Err() != nil:
		return cli.ExitError(exitInterrupted)
	case ctx.Err() != nil && !w.done() && w.group != "":
		fmt.Fprintf(w.errOut, "fed: of the group %s %d had not ended within %s\n", w.group, w.of.left, w.timeout)
		return cli.ExitError(exitTimeout)
	case ctx.Err() != nil && !w.done():
		fmt.Fprintf(w.errOut, "fed: ended within %s: %d; the others have not\n", w.timeout, w.ended)
		return cli.ExitError(exitTimeout)
	case err != nil:
		return err
	case w.wrong > 0:
		return cli.ExitError(exitNotCompleted)
	}
	return nil
}

// done reports whether there is nothing more to wait for.
func (w *waiter) done() bool {
	if w.group != "" {
		return w.of.over
	}
	return len(w.open) == 0 || w.any && w.ended > 0
}

// wait reads how things are, and follows the log of changes from there. A daemon that has gone away is asked again until it is back; if its log no longer goes back so far, all
// is read again.
func (w *waiter) wait(ctx context.Context, args []string) error {
	w.open, w.told = map[federation.JobID]*awaited{}, map[string]bool{}
	if w.group != "" {
		return w.waitGroup(ctx)
	}
	if err := w.name(args); err != nil {
		return err
	}
	if err := w.again(ctx, func() error { return w.begin(ctx) }); err != nil {
		return err
	}
	for !w.done() {
		mark, err := w.client.Events(ctx, w.from, w.event)
		w.from.After = mark
		switch {
		case errors.Is(err, errDone), ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, federation.ErrTrimmed):
			err = w.again(ctx, func() error { return w.begin(ctx) })
		case errors.Is(err, federation.ErrUnavailable):
			err = pause(ctx)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// again does something until the daemon answers, unless it has never answered.
func (w *waiter) again(ctx context.Context, do func() error) error {
	for {
		err := do()
		if !errors.Is(err, federation.ErrUnavailable) || w.from.After == 0 {
			return err
		}
		if err := pause(ctx); err != nil {
			return err
		}
	}
}

func pause(ctx context.Context) error {
	select {
	case <-time.After(eventsPause):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// name takes the jobs that the command line names.
func (w *waiter) name(args []string) error {
	for _, word := range strings.Split(strings.Join(args, ","), ",") {
		if len(args) == 0 {
			break
		}
		id, err := cli.ParseJobID(word)
		if err != nil {
			return err
		}
		a := w.open[id]
		if a == nil {
			a = &awaited{}
			w.open[id] = a
		}
		_, list, some := strings.Cut(word, "_")
		if a.whole = a.whole || !some; !some {
			continue
		}
		for _, i := range show.Ranges(strings.Trim(list, "[]")) {
			if a.tasks == nil {
				a.tasks = map[int]bool{}
			}
			a.tasks[i] = true
		}
		if len(a.tasks) == 0 {
			return fmt.Errorf("invalid job ID %q: want 30000001, or 30000001_7 for a task", word)
		}
	}
	return nil
}

// begin reads the states of what is waited for, and from which mark to go on.
func (w *waiter) begin(ctx context.Context) error {
	var ids []federation.JobID
	tasks := false
	for id, a := range w.open {
		ids, tasks = append(ids, id), tasks || len(a.tasks) > 0
	}
	now, err := client.Post[v1.StatesResponse](ctx, w.client, "/fed/v1/jobs/states", v1.StatesRequest{Jobs: ids, Tasks: tasks})
	if err != nil {
		return err
	}
	if len(now.Unknown) > 0 {
		return fmt.Errorf("job %d: Invalid job id specified", now.Unknown[0])
	}
	w.from = client.EventsFrom{After: markOf(now.Mark), Follow: true, Where: []string{"event=end"}}
	const mostNamed = 100
	if len(ids) <= mostNamed { // else all ends are told, and those of others are left out here
		words := make([]string, len(ids))
		for i, id := range ids {
			words[i] = id.String()
		}
		w.from.Where = append(w.from.Where, "job="+strings.Join(words, ","))
	}
	for i := range now.States {
		if w.state(&now.States[i]); w.done() {
			break
		}
	}
	return nil
}

// state takes up how a job is now.
func (w *waiter) state(j *v1.JobState) {
	a := w.open[j.JobID]
	for _, t := range j.Tasks {
		if set, err := federation.ReadTasks(t.Tasks); err == nil && t.State.Ended() {
			for i := range a.tasks {
				if set.Has(i) {
					w.taskEnded(j.JobID, i, t.State, t.Exit, j.Name)
				}
			}
		}
	}
	if a.whole && j.State.Ended() {
		w.jobEnded(j.JobID, j.State, j.Exit, j.Name)
	}
}
