package job

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"fsub/federation"
	"fsub/federation/api/client"
)

// tasksOf are the tasks of an array that have a record: those that have started, or ended without that. nil: the job is no array.
func tasksOf(ctx context.Context, c *client.Client, id federation.JobID) ([]federation.Task, error) {
	rec, err := c.Job(ctx, id)
	if err != nil || rec.Job.Spec.Array == "" && rec.Job.Whole == nil || rec.Job.Part != nil {
		return nil, err
	}
	tasks := slices.Clone(rec.Tasks)
	slices.SortFunc(tasks, func(a, b federation.Task) int { return a.Index - b.Index })
	return append([]federation.Task{}, tasks...), nil
}

// array prints what each task of an array has written, each line with the task before it. What has no output is told on errOut.
func (l logs) array(ctx context.Context, tasks []federation.Task, tail int) error {
	var silent []int
	for _, t := range tasks {
		name := fmt.Sprintf("%s_%d", l.name, t.Index)
		var text bytes.Buffer
		one := logs{client: l.client, ref: l.ref, name: name, out: &text, errOut: l.errOut}
		one.ref.Task = fmt.Sprint(t.Index)
		if err := one.run(ctx); err != nil && !errors.As(err, new(noOutput)) {
			return err
		}
		if text.Len() == 0 {
			silent = append(silent, t.Index)
		}
		for line := range strings.Lines(lastLines(text.String(), tail)) {
			if _, err := fmt.Fprintf(l.out, "%s: %s\n", name, strings.TrimSuffix(line, "\n")); err != nil {
				return err
			}
		}
	}
	if len(silent) > 0 {
		fmt.Fprintf(l.errOut, "fed: without output: %s_[%s]\n", l.name, federation.FormatArray(silent, 0))
	}
	if len(tasks) == 0 {
		return fmt.Errorf("no task of array %s has started: see fed explain %s", l.name, l.name)
	}
	return nil
}

// pickTask says which tasks of an array there are to follow.
func (l logs) pickTask(tasks []federation.Task) error {
	var running, failed []int
	for _, t := range tasks {
		switch {
		case t.State == federation.Running:
			running = append(running, t.Index)
		case t.State.Ended() && t.State != federation.Completed:
			failed = append(failed, t.Index)
		}
	}
	said, example := "", "TASK"
	for _, s := range []struct {
		tasks []int
		are   string
	}{{running, "running"}, {failed, "failed"}} {
		if len(s.tasks) > 0 {
			said += fmt.Sprintf("; %s %s", federation.FormatArray(s.tasks, 0), s.are)
			if example == "TASK" {
				example = fmt.Sprint(s.tasks[0])
			}
		}
	}
	return fmt.Errorf("%s is an array: follow one of its tasks: fed logs -f %s_%s%s", l.name, l.name, example, said)
}

// lastLines is the end of text, so many lines of it; all if n is negative.
func lastLines(text string, n int) string {
	if n < 0 {
		return text
	}
	end := len(text)
	if strings.HasSuffix(text, "\n") {
		end--
	}
	at := len(text)
	for ; n > 0 && at > 0; n-- {
		at = strings.LastIndexByte(text[:end], '\n') + 1
		end = max(at-1, 0)
	}
	return text[at:]
}

// tail keeps the last lines of what is there at first, and passes on what comes after that.
type tail struct {
	w     io.Writer
	lines int
	kept  []byte
	open  bool // the first part is over
}

// tailMost is how much text tail keeps while it waits for the end of what is there.
const tailMost = 4 << 20

func (t *tail) Write(p []byte) (int, error) {
	if t.open {
		return t.w.Write(p)
	}
	if t.kept = append(t.kept, p...); len(t.kept) > tailMost {
		t.kept = []byte(lastLines(string(t.kept), t.lines))
	}
	return len(p), nil
}

// flush writes what was kept.
func (t *tail) flush() error {
	if t.open {
		return nil
	}
	t.open = true
	_, err := io.WriteString(t.w, lastLines(string(t.kept), t.lines))
	t.kept = nil
	return err
}
