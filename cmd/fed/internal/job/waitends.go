package job

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"

	"fsub/federation"
	v1 "fsub/federation/api/v1"
	"fsub/federation/journal"
)

// errDone ends the reading of events.
var errDone = errors.New("there is nothing more to wait for")

func markOf(n int64) journal.Mark { return journal.Mark(n) }

// end is a line about a job, or a task, that has ended.
type end struct {
	Job   string           `json:"job"`
	State federation.State `json:"state"`
	Exit  string           `json:"exit_code"`
	Name  string           `json:"name,omitempty"`
}

// event takes up what happens.
func (w *waiter) event(e *v1.Event) error {
	switch {
	case e.Event != "end":
	case e.Task != nil:
		w.taskEnded(e.Array, *e.Task, e.State, e.Exit, e.Name)
		w.jobEnded(e.Job, e.State, e.Exit, e.Name) // by the task's own number
	case e.Tasks != "":
		if set, err := federation.ReadTasks(e.Tasks); err == nil {
			for i := range set.All() {
				w.taskEnded(e.Array, i, e.State, e.Exit, e.Name)
			}
		}
	default:
		w.jobEnded(e.Job, e.State, e.Exit, e.Name)
	}
	if w.done() {
		return errDone
	}
	return nil
}

// jobEnded tells of a job that has ended, if it was waited for.
func (w *waiter) jobEnded(id federation.JobID, state federation.State, exit *int32, name string) {
	a := w.open[id]
	if a == nil || !a.whole {
		return
	}
	delete(w.open, id)
	w.tell(id.String(), state, exit, name)
}

// taskEnded tells of a task of an array that has ended, if it was waited for.
func (w *waiter) taskEnded(array federation.JobID, index int, state federation.State, exit *int32, name string) {
	a := w.open[array]
	if a == nil || !a.tasks[index] {
		return
	}
	if delete(a.tasks, index); len(a.tasks) == 0 && !a.whole {
		delete(w.open, array)
	}
	w.tell(fmt.Sprintf("%d_%d", array, index), state, exit, name)
}

// tell counts what has ended and prints a line about it; with --any, one.
func (w *waiter) tell(job string, state federation.State, exit *int32, name string) {
	if w.told[job] || w.any && w.ended > 0 {
		return
	}
	w.told[job] = true
	if w.ended++; state != federation.Completed {
		w.wrong++
	}
	if w.quiet {
		return
	}
	line := end{Job: job, State: state, Exit: "-", Name: name}
	if exit != nil {
		line.Exit = fmt.Sprintf("%d:%d", *exit>>8, *exit&0x7f)
	}
	if w.JSON {
		json.NewEncoder(w.out).Encode(line)
		return
	}
	fmt.Fprintf(w.out, "%s\t%s\t%s\t%s\n", line.Job, line.State, line.Exit, cmp.Or(line.Name, "-"))
}
