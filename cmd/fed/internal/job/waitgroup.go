package job

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"fsub/federation"
	"fsub/federation/api/client"
	v1 "fsub/federation/api/v1"
)

// mostTold is how many jobs of a group that ended badly are told by name. A group may have hundreds of thousands.
const mostTold = 100

// A count of a large group costs the daemon something: between counts the ends that are told are subtracted, and it is asked again when nothing seems to be left.
const (
	countPause = 200 * time.Millisecond // ends are gathered for so long before that
	countEach  = 15 * time.Second       // it is asked again at the latest after an end: jobs may have joined the group
)

// groupWait is what is known of a group that is waited for: counts, and no jobs.
type groupWait struct {
	where []string
	left  int64 // tasks that had not ended when they were last counted
	over  bool
	ended map[federation.State]int64 // tasks, once it is over
}

// waitGroup waits until the daemon counts no job of the group that has not ended. Ends are told by the log of changes, and each is a reason to count again.
func (w *waiter) waitGroup(ctx context.Context) error {
	if w.user == "" {
		caller, err := client.Get[v1.Caller](ctx, w.client, "/fed/v1/caller")
		if err != nil {
			return err
		}
		w.user = caller.User
	}
	w.of.where = []string{"group=" + w.group}
	if w.user != "*" {
		w.of.where = append(w.of.where, "user="+w.user)
	}
	for first := true; ; first = false {
		if err := w.again(ctx, func() error { return w.look(ctx, first) }); err != nil || w.of.over {
			return err
		}
		err := w.followGroup(ctx)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case w.of.over:
			return nil
		case errors.Is(err, federation.ErrUnavailable):
			if err := pause(ctx); err != nil {
				return err
			}
		case err != nil && !errors.Is(err, federation.ErrTrimmed) && !errors.Is(err, errDone):
			return err
		}
	}
}

// look counts the jobs of the group, and ends the wait if there is nothing more to wait for.
func (w *waiter) look(ctx context.Context, first bool) error {
	now, err := client.Post[v1.StatesResponse](ctx, w.client, "/fed/v1/jobs/states", v1.StatesRequest{Jobs: []federation.JobID{}})
	if err != nil {
		return err
	}
	w.from = client.EventsFrom{After: markOf(now.Mark), Follow: true, Where: append([]string{"event=end"}, w.of.where...)}
	if err := w.countLeft(ctx); err != nil {
		return err
	}
	if w.any {
		if err := w.tellEnded(ctx, "ended", 1); err != nil || w.ended > 0 {
			w.of.over = err == nil
			return err
		}
	}
	if w.of.left > 0 {
		if first {
			return w.tellEnded(ctx, badly(), mostTold)
		}
		return nil
	}
	return w.finish(ctx)
}

// countLeft asks how many tasks of the group have not ended.
func (w *waiter) countLeft(ctx context.Context) error {
	counts, err := client.List(ctx, w.client, &v1.Summary, v1.SummaryQuery{Where: w.of.where})
	if err != nil {
		return err
	}
	w.of.left = 0
	for i := range counts {
		w.of.left += counts[i].Tasks
	}
	return nil
}

// followGroup reads ends until the group may be over.
func (w *waiter) followGroup(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	ends, counted := make(chan int64, 1000), make(chan bool, 1)
	go func() { counted <- w.countDown(ctx, ends); stop() }()
	_, err := w.client.Events(ctx, w.from, func(e *v1.Event) error {
		if e.Event != "end" {
			return nil
		}
		if w.any || e.State != federation.Completed && len(w.told) < mostTold {
			w.tell(eventRef(e), e.State, e.Exit, e.Name)
		}
		if w.any {
			w.of.over = true
			return errDone
		}
		select {
		case ends <- tasksEnded(e):
		case <-ctx.Done():
		}
		return nil
	})
	stop()
	if <-counted {
		return errDone
	}
	return err
}

// tasksEnded is how many tasks an event tells of.
func tasksEnded(e *v1.Event) int64 {
	if set, err := federation.ReadTasks(e.Tasks); e.Tasks != "" && err == nil {
		return int64(set.Len())
	}
	return 1
}

// countDown subtracts what ends, and reports whether the daemon counts nothing any more.
func (w *waiter) countDown(ctx context.Context, ends <-chan int64) bool {
	var due <-chan time.Time
	for {
		select {
		case n := <-ends:
			if w.of.left -= n; w.of.left > 0 {
				if due == nil {
					due = time.After(countEach)
				}
				continue
			}
		case <-due:
		case <-ctx.Done():
			return false
		}
		due = nil
		for pause, asked := countPause, false; !asked; pause = min(2*pause, countEach) { // the reader of events notices a daemon that has gone away
			select {
			case <-time.After(pause):
			case <-ctx.Done():
				return false
			}
			for more := true; more; { // the count has them
				select {
				case <-ends:
				default:
					more = false
				}
			}
			asked = w.countLeft(ctx) == nil
		}
		if w.of.left == 0 {
			return true
		}
	}
}

// finish counts how the jobs of the group have ended, and tells that.
func (w *waiter) finish(ctx context.Context) error {
	counts, err := client.List(ctx, w.client, &v1.Summary, v1.SummaryQuery{Where: append([]string{"state=ended"}, w.of.where...), All: true})
	if err != nil {
		return err
	}
	all := int64(0)
	w.of.ended = map[federation.State]int64{}
	for i := range counts {
		w.of.ended[counts[i].State] += counts[i].Tasks
		all += counts[i].Tasks
	}
	if all == 0 {
		return fmt.Errorf("no job of %s is in the group %s; see: fed job list --by group", w.user, w.group)
	}
	w.of.over = true
	bad := all - w.of.ended[federation.Completed]
	if bad > 0 {
		if err := w.tellEnded(ctx, badly(), mostTold); err != nil {
			return err
		}
	}
	w.wrong, w.ended = int(bad), int(all)
	if w.quiet {
		return nil
	}
	if w.JSON {
		return json.NewEncoder(w.out).Encode(struct {
			Group  string                     `json:"group"`
			Tasks  int64                      `json:"tasks"`
			States map[federation.State]int64 `json:"states"`
		}{w.group, all, w.of.ended})
	}
	var states []string
	for _, s := range slices.SortedFunc(maps.Keys(w.of.ended), func(a, b federation.State) int {
		return cmp.Or(cmp.Compare(w.of.ended[b], w.of.ended[a]), cmp.Compare(a, b))
	}) {
		states = append(states, fmt.Sprintf("%d %s", w.of.ended[s], s))
	}
	fmt.Fprintf(w.out, "group %s\t%d ended\t%s\n", w.group, all, strings.Join(states, ", "))
	if bad > int64(len(w.told)) {
		fmt.Fprintf(w.errOut, "fed: %d of them are named; all: fed job list --where group=%s --where state=%s\n", len(w.told), w.group, badly())
	}
	return nil
}

// badly are the states of jobs that have ended otherwise than COMPLETED, in a condition.
func badly() string {
	var states []string
	for _, s := range federation.EndStates {
		if s != federation.Completed {
			states = append(states, strings.ToLower(string(s)))
		}
	}
	return strings.Join(states, ",")
}

// tellEnded tells of jobs of the group that have ended in some states, until some are told.
func (w *waiter) tellEnded(ctx context.Context, states string, most int) error {
	p, err := client.ListPage(ctx, w.client, &v1.Jobs, v1.JobQuery{Where: append([]string{"state=" + states}, w.of.where...), Sort: "id"}, v1.PageQuery{Limit: most})
	if err != nil || len(p.Items) == 0 {
		return err
	}
	ids := make([]federation.JobID, len(p.Items))
	for i := range p.Items {
		ids[i] = p.Items[i].ID
	}
	now, err := client.Post[v1.StatesResponse](ctx, w.client, "/fed/v1/jobs/states", v1.StatesRequest{Jobs: ids})
	if err != nil {
		return err
	}
	exits := map[federation.JobID]*int32{}
	for i := range now.States {
		exits[now.States[i].JobID] = now.States[i].Exit
	}
	for i := range p.Items {
		if l := &p.Items[i]; len(w.told) < most {
			w.tell(l.Ref(), l.State, exits[l.ID], l.Name)
		}
	}
	return nil
}

// eventRef names the job or the tasks of an event as lists do.
func eventRef(e *v1.Event) string {
	switch {
	case e.Task != nil:
		return fmt.Sprintf("%d_%d", e.Array, *e.Task)
	case e.Tasks != "":
		return fmt.Sprintf("%d_[%s]", e.Array, e.Tasks)
	}
	return e.Job.String()
}
