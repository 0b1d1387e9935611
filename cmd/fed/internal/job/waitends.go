package job

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"fsub/federation"
	"fsub/federation/api/client"
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

// beginGroup reads the jobs of a group: those that have not ended are waited for, those that have are told.
func (w *waiter) beginGroup(ctx context.Context) error {
	if w.user == "" {
		caller, err := client.Get[v1.Caller](ctx, w.client, "/fed/v1/caller")
		if err != nil {
			return err
		}
		w.user = caller.User
	}
	where := []string{"group=" + w.group}
	if w.user != "*" {
		where = append(where, "user="+w.user)
	}
	w.open = map[federation.JobID]*awaited{}
	first := w.from.After == 0
	asOf := int64(0)
	live := func(l *v1.JobLine) { w.open[cmp.Or(l.Array, l.ID)] = &awaited{whole: true} }
	if err := w.list(ctx, where, &asOf, live); err != nil {
		return err
	}
	if first { // else what has ended meanwhile is told below, where it is still known
		w.from = client.EventsFrom{Follow: true, Where: append([]string{"event=end,submit"}, where...)}
	}
	w.from.After = markOf(asOf)
	var ended []federation.JobID
	past := func(l *v1.JobLine) {
		if id := cmp.Or(l.Array, l.ID); w.open[id] == nil && (len(ended) == 0 || ended[len(ended)-1] != id) {
			ended = append(ended, id)
		}
	}
	if err := w.list(ctx, append(slices.Clone(where), "state=ended"), new(int64), past); err != nil {
		return err
	}
	slices.Sort(ended)
	if err := w.pastEnds(ctx, slices.Compact(ended)); err != nil {
		return err
	}
	if first && len(w.open) == 0 && w.ended == 0 {
		return fmt.Errorf("no job of %s is in the group %s; see: fed job list --by group", w.user, w.group)
	}
	return nil
}

// pastEnds tells of jobs that had ended before.
func (w *waiter) pastEnds(ctx context.Context, ids []federation.JobID) error {
	for some := range slices.Chunk(ids, v1.MostPage) {
		now, err := client.Post[v1.StatesResponse](ctx, w.client, "/fed/v1/jobs/states", v1.StatesRequest{Jobs: some})
		if err != nil {
			return err
		}
		for _, j := range now.States {
			if j.State.Ended() {
				w.tell(j.JobID.String(), j.State, j.Exit, j.Name)
			} else { // an array whose last tasks have just ended, or a job that was requeued
				w.open[j.JobID] = &awaited{whole: true}
			}
		}
	}
	return nil
}

// list calls take with each job that conditions choose, page by page. asOf is set to the mark as of which the first page is.
func (w *waiter) list(ctx context.Context, where []string, asOf *int64, take func(*v1.JobLine)) error {
	for page := (v1.PageQuery{Limit: v1.MostPage, Fields: "job_id,array_job_id"}); ; {
		p, err := client.ListPage(ctx, w.client, &v1.Jobs, v1.JobQuery{Where: where, Sort: "id"}, page)
		if err != nil {
			return err
		}
		if *asOf == 0 {
			*asOf = p.AsOf
		}
		for i := range p.Items {
			take(&p.Items[i])
		}
		if page.After = p.Next; page.After == "" {
			return nil
		}
	}
}

// event takes up what happens.
func (w *waiter) event(e *v1.Event) error {
	switch {
	case e.Event == "submit" && w.group != "":
		w.open[e.Job] = &awaited{whole: true}
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
