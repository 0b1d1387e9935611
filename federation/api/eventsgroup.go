package api

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"fsub/federation"
	v1 "fsub/federation/api/v1"
	"fsub/federation/journal"
)

// groupInvalid is the event of a group in which jobs can never start: one for all that a commit tells of, beside the event of each of the jobs.
const groupInvalid = "group-" + string(journal.MoveInvalidDepend)

// neverStarts reports whether a change tells that what a job depends on can never be met.
func neverStarts(c journal.Change) bool {
	return c.Move != nil && c.Move.What == journal.MoveInvalidDepend
}

// groupsStuck are the jobs of one commit that can never start, by user and group.
type groupsStuck map[[2]string]*stuckJobs

type stuckJobs struct {
	jobs      int
	cancelled int
	first     federation.JobID
	at        v1.Event
}

// add takes up an event of a job in a group, if it tells of that.
func (g groupsStuck) add(e *loggedEvent) {
	if e.Event.Event != string(journal.MoveInvalidDepend) || e.Group == "" {
		return
	}
	of := [2]string{e.User, e.Group}
	s := g[of]
	if s == nil {
		s = &stuckJobs{first: e.Job, at: e.Event}
		g[of] = s
	}
	if s.jobs++; e.State.Ended() {
		s.cancelled++
	}
	s.first = min(s.first, e.Job)
}

// events are the events of the groups, in their order, at the place of at.
func (g groupsStuck) events(at *loggedEvent) (all []loggedEvent) {
	order := func(a, b [2]string) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) }
	for n, of := range slices.SortedFunc(maps.Keys(g), order) {
		s := g[of]
		e := v1.Event{Time: s.at.Time, Event: groupInvalid, User: of[0], Group: of[1], Detail: fmt.Sprintf("%s can never start, the first of them %d; run: fed explain %[2]d", jobsText(s.jobs), s.first)}
		if s.cancelled > 0 {
			e.Detail = fmt.Sprintf("cancelled, since they could never start: %s, the first of them %d; run: fed job show %[2]d", jobsText(s.cancelled), s.first)
		}
		all = append(all, loggedEvent{Event: e, mark: at.mark, index: at.index + n})
	}
	return all
}

func jobsText(n int) string {
	if n == 1 {
		return "1 job"
	}
	return fmt.Sprintf("%d jobs", n)
}
