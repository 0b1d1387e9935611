package job

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fsub/cmd/fed/internal/cli"
	"fsub/cmd/internal/scontrol"
	"fsub/federation"
	"fsub/federation/action"
	"fsub/federation/api/client"
	v1 "fsub/federation/api/v1"
)

// many is a command that does one thing to many jobs.
type many struct {
	cli.Connection
	ask    v1.NewOperation
	yes    bool
	dry    bool
	hold   bool
	detach bool
	resume int64
	to     []string
	notes  map[string]int // how many jobs each note was printed of

	cmd    *cobra.Command
	client *client.Client
}

// newJobVerbCommands are the commands that do something to jobs.
func newJobVerbCommands() []*cobra.Command {
	var all []*cobra.Command
	for _, v := range []struct {
		verb  action.Kind
		short string
	}{
		{action.Hold, "Keep jobs that wait from starting"},
		{action.Release, "Let held jobs go"},
		{action.Requeue, "Stop jobs that run and queue them again, under their IDs"},
		{action.Cancel, "Cancel jobs"},
		{action.Update, "Change what jobs ask for: KEY=VALUE as of scontrol update"},
		{action.Move, "Take jobs to another site, under their IDs"},
	} {
		all = append(all, newVerbCommand(v.verb, v.short))
	}
	return all
}

func newVerbCommand(verb action.Kind, short string) *cobra.Command {
	m := &many{ask: v1.NewOperation{Verb: verb}}
	use := string(verb) + " [JOB...]"
	if verb == action.Update {
		use += " KEY=VALUE..."
	}
	cmd := &cobra.Command{
		Use:   use + " [--where CONDITION]...",
		Short: short,
		Long: short + `.

The jobs are shown first, and where there are more than ask_above of the configuration says, you are asked (--yes: not asked).
Which jobs are meant is then written down, and the daemon goes on with them whatever becomes of this command or of itself; each job gets it once.
The same command once more, or --resume ID, shows the rest. Each job has a line of its own at the end; the exit code is 0 if all succeeded.

` + jobWhere,
		RunE: func(cmd *cobra.Command, args []string) error {
			m.cmd, m.client = cmd, m.Connection.Client()
			return m.run(cmd.Context(), args)
		},
	}
	m.Connection.Flags(cmd)
	f := cmd.Flags()
	jobWhereFlag(cmd, &m.ask.Where)
	f.BoolVarP(&m.yes, "yes", "y", false, "do not ask")
	f.BoolVarP(&m.dry, "dry-run", "n", false, "print what would be done to which jobs, and do nothing")
	f.BoolVar(&m.detach, "detach", false, "return at once: the daemon does the rest; see fed job operations")
	f.Int64Var(&m.resume, "resume", 0, "go on with the operation of this ID")
	f.StringVar(&m.ask.Why, "reason", "", "why, for the audit log and the jobs' history")
	f.StringVar(&m.ask.Ticket, "ticket", "", "number of a ticket, for the audit log")
	switch verb {
	case action.Requeue:
		f.BoolVar(&m.hold, "hold", false, "hold them once they wait")
	case action.Move:
		f.StringSliceVar(&m.to, "to", nil, "to one of these sites; else to any but the one where the job is")
		f.BoolVar(&m.ask.Queued, "queued", false, "only jobs that have not started")
		f.BoolVar(&m.ask.Now, "now", false, "jobs that run do not get their --signal and its time first")
		f.BoolVar(&m.ask.Force, "force", false, "even if no such site can run the job now")
	}
	return cmd
}

func (m *many) run(ctx context.Context, args []string) error {
	if m.resume > 0 {
		op, err := m.client.Operation(ctx, action.OperationID(m.resume), 1<<30)
		if err != nil {
			return err
		}
		return m.follow(ctx, op)
	}
	if err := m.read(args); err != nil {
		return err
	}
	m.ask.Preview = true
	op, err := m.client.Operate(ctx, m.ask)
	if err != nil {
		return err
	}
	if m.dry {
		return m.preview(op)
	}
	if op.ID == 0 {
		if err := m.confirm(op); err != nil {
			return err
		}
		m.ask.Preview, m.ask.Jobs, m.ask.Last = false, nil, op.Last
		for i := 0; i < len(op.Items) && op.Last == 0; i++ {
			m.ask.Jobs = append(m.ask.Jobs, op.Items[i].ID)
		}
		if op, err = m.client.Operate(ctx, m.ask); err != nil {
			return err
		}
	} else {
		fmt.Fprintf(m.cmd.ErrOrStderr(), "operation %d of %s goes on: %d of %d jobs are settled\n", op.ID, cli.When(op.Time), op.Settled, op.Jobs)
	}
	return m.follow(ctx, op)
}

// preview prints what would become of each job.
func (m *many) preview(op *v1.Operation) error {
	if op.ID != 0 {
		return fmt.Errorf("operation %d of %s, which asks for the same, goes on or was not read to its end; run: fed job %s --resume %[1]d", op.ID, cli.When(op.Time), m.cmd.Name())
	}
	if err := m.print(m.cmd.OutOrStdout(), op.Items, op.Verb, "would be "); err != nil {
		return err
	}
	if n := op.Jobs - len(op.Items); n > 0 {
		fmt.Fprintf(m.cmd.ErrOrStderr(), "... and %d more; see: fed job list\n", n)
	}
	return m.failed(op)
}

// read takes jobs and changes from the command line.
func (m *many) read(args []string) error {
	var ids []string
	for _, arg := range args {
		if m.ask.Verb == action.Update && strings.Contains(arg, "=") {
			change, err := scontrol.ReadChange(arg, time.Now())
			if err != nil {
				return fmt.Errorf("invalid change %q: %w", arg, err)
			}
			m.ask.Change = append(m.ask.Change, change)
			continue
		}
		for _, word := range strings.Split(arg, ",") {
			id, task, has := strings.Cut(word, "_")
			if _, err := strconv.ParseUint(id+task, 10, 64); err != nil || id == "" || has && task == "" {
				return fmt.Errorf("invalid job ID %q: want 30000001, or 30000001_7 for a task", word)
			}
			ids = append(ids, word)
		}
	}
	if len(ids) > 0 {
		m.ask.Where = append(m.ask.Where, "id="+strings.Join(ids, ","))
	}
	if m.hold {
		m.ask.Verb = action.ReqHold
	}
	for _, site := range m.to {
		m.ask.To = append(m.ask.To, federation.SiteName(site))
	}
	switch {
	case len(m.ask.Where) == 0:
		return errors.New("no job is named: give job IDs, or --where")
	case m.ask.Verb == action.Update && len(m.ask.Change) == 0:
		return errors.New("no change is named: give KEY=VALUE as for scontrol update")
	}
	return nil
}

// shown is how many jobs are shown before it is asked whether something is to be done to them.
const shown = 50

// confirm shows which jobs are meant, and asks where there are many.
func (m *many) confirm(op *v1.Operation) error {
	n := op.Jobs
	if m.yes || n <= op.AskAbove {
		return nil
	}
	out := bufio.NewWriter(m.cmd.ErrOrStderr())
	t := cli.NewTable(out)
	t.Row("JOBID", "USER", "NAME", "STATE", "SITE", "NODES", "NOTE")
	for _, v := range op.Items[:min(len(op.Items), shown)] {
		t.Row(v.Job, v.User, v.Name, string(v.State), string(v.Site), v.Nodes, v.Note)
	}
	t.Flush()
	if n > shown {
		fmt.Fprintf(out, "... and %d more; see: fed job list\n", n-shown)
	}
	if n > len(op.Items) {
		fmt.Fprintf(out, "%s %d jobs\n", op.Verb, n)
		out.Flush()
		return cli.Confirm(m.cmd, fmt.Sprintf("these are more than %d jobs", op.AskAbove))
	}
	sites := map[string]int{}
	for _, v := range op.Items {
		sites[orDash(string(v.Site))]++
	}
	var by []string
	for site, n := range sites {
		by = append(by, fmt.Sprintf("%d at %s", n, site))
	}
	slices.Sort(by)
	fmt.Fprintf(out, "%s %d jobs (%s); %d of them need nothing, %d are refused\n", op.Verb, n, strings.Join(by, ", "), op.Settled-op.Failed, op.Failed)
	out.Flush()
	return cli.Confirm(m.cmd, fmt.Sprintf("these are more than %d jobs", op.AskAbove))
}

// followPause is the time between two looks at an operation, and as much again for each 10,000 of its jobs.
const followPause = 100 * time.Millisecond

// follow prints a line for each job of an operation as it is settled, until all are. A daemon that has gone away is waited for.
func (m *many) follow(ctx context.Context, op *v1.Operation) error {
	if m.detach {
		fmt.Fprintf(m.cmd.OutOrStdout(), "operation %d: %d jobs; see: fed job operations\n", op.ID, op.Jobs)
		return nil
	}
	id, told, waits := op.ID, 0, ""
	for {
		next, err := m.client.Operation(ctx, id, told)
		switch {
		case ctx.Err() != nil:
			fmt.Fprintf(m.cmd.ErrOrStderr(), "the daemon goes on with operation %d; to see it: fed job %s --resume %[1]d\n", id, m.cmd.Name())
			return cli.ExitError(130)
		case errors.Is(err, federation.ErrUnavailable):
			waits = m.say(waits, "the daemon does not answer; it goes on with operation "+id.String()+" when it is back")
			time.Sleep(time.Second)
			continue
		case err != nil:
			return err
		}
		op = next
		if err := m.print(m.cmd.OutOrStdout(), op.Items, op.Verb, ""); err != nil {
			return err
		}
		for _, v := range op.Items {
			told = max(told, v.Settled)
		}
		if op.Ended != nil && told == op.Jobs {
			break
		}
		if told < op.Settled {
			continue // one answer does not tell of all
		}
		waits = m.say(waits, strings.Join(op.Waiting, ", "))
		select {
		case <-time.After(followPause * time.Duration(1+op.Jobs/10_000)):
		case <-ctx.Done():
		}
	}
	if err := m.client.OperationTold(ctx, id); err != nil {
		return err
	}
	m.sum()
	return m.failed(op)
}

// failed makes the exit code of an operation that was not done to all of its jobs.
func (m *many) failed(op *v1.Operation) error {
	if op.Failed == 0 {
		return nil
	}
	fmt.Fprintf(m.cmd.ErrOrStderr(), "%d of %d jobs: not done\n", op.Failed, op.Jobs)
	return cli.ExitError(1)
}

// sum says of many jobs that were released who had held them.
func (m *many) sum() {
	if m.ask.Verb != action.Release || len(m.notes) < 2 {
		return
	}
	var parts []string
	for _, note := range slices.Sorted(maps.Keys(m.notes)) {
		parts = append(parts, fmt.Sprintf("%d %s", m.notes[note], note))
	}
	fmt.Fprintln(m.cmd.ErrOrStderr(), strings.Join(parts, ", "))
}

// say tells once what is waited for.
func (m *many) say(before, now string) string {
	if now != before && now != "" {
		fmt.Fprintln(m.cmd.ErrOrStderr(), "fed: waiting:", now)
	}
	return now
}

// print prints a line for each item: its note, or else what was done, after before.
func (m *many) print(w io.Writer, items []v1.OperationItem, verb action.Kind, before string) error {
	out := bufio.NewWriter(w)
	for _, v := range items {
		if !v.Failed && v.Note != "" {
			if m.notes == nil {
				m.notes = map[string]int{}
			}
			m.notes[v.Note]++
		}
		if m.JSON {
			if err := json.NewEncoder(out).Encode(v); err != nil {
				return err
			}
			continue
		}
		text := cmp.Or(v.Note, verb.Done())
		if strings.HasPrefix(text, verb.Done()) {
			text = before + text
		}
		fmt.Fprintf(out, "%s: %s\n", v.Job, text)
	}
	return out.Flush()
}

func newOperationsCommand() *cobra.Command {
	return cli.List(&v1.Operations, &cobra.Command{Use: "operations", Short: "List operations on many jobs and their progress; users see their own"})
}
