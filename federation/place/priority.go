package place

import (
	"fsub/federation"

	"fsub/federation/decision"
)

// Priority is where a job stands in the queue: a higher one comes first, of equal ones the job with the lower ID. It is a function of the job and of what
// placement knows beside it, and nobody stores it, so that the order of all jobs can change without one being written. Today it is what an operator has set, or
// minus --nice, and what scontrol top has added. A job that is held has none: it is not in the queue.
func Priority(j *federation.Job) int64 {
	if j.Priority != 0 {
		return int64(j.Priority) + int64(j.Top)
	}
	return int64(j.Top) - int64(j.Spec.Nice)
}

// Order is where jobs stand in the queue. A job counts what it counts by itself and what all jobs of its group do: the one that counts most comes first, of equal ones as by
// [Priority]. What a group counts may change for all its jobs at little cost, however many they are.
type Order interface {
	// Of is the group of a job of which so long a run is expected, nil if that is not known, and what it counts by itself. Groups count from 0. It
	// is the same until [World.Reorder] or [World.Predict] is called.
	Of(*federation.Job, *decision.Expected) (group int, counts int64)
	// Group is what each job of a group counts beside that. It is the same until [World.Regroup] or one of those is called.
	Group(group int) int64
}

// priorities is an Order without groups.
type priorities func(*federation.Job, *decision.Expected) int64

func (f priorities) Of(j *federation.Job, e *decision.Expected) (int, int64) { return 0, f(j, e) }
func (priorities) Group(int) int64                                           { return 0 }

// ofJob is Priority whatever is expected of the job.
func ofJob(j *federation.Job, _ *decision.Expected) int64 { return Priority(j) }

// groups are those of a queue's jobs, and what they count.
type groups struct {
	order  Order
	counts []int64
}

// of is a job's group, and what it counts by itself.
func (g *groups) of(j *federation.Job, e *decision.Expected) (int32, int64) {
	group, n := g.order.Of(j, e)
	for i := len(g.counts); i <= group; i++ {
		g.counts = append(g.counts, g.order.Group(i))
	}
	return int32(group), n
}

// again takes in what the groups count now, and reports whether that is something else.
func (g *groups) again() (changed bool) {
	for i, was := range g.counts {
		g.counts[i] = g.order.Group(i)
		changed = changed || g.counts[i] != was
	}
	return changed
}

// SetPriority orders jobs by another function than [Priority]: of the job, and of how long it is expected to run, nil if that is not known. It gives a job the same
// number until Reorder or Predict is called. It is set before there are jobs.
func (w *World) SetPriority(f func(*federation.Job, *decision.Expected) int64) {
	w.SetOrder(priorities(f))
}

// SetOrder orders jobs by more than a number. It is set before there are jobs.
func (w *World) SetOrder(o Order) { w.groups.order = o }

// Reorder computes the order of the queue again, because something that priorities depend on beside the jobs has changed.
func (w *World) Reorder() {
	w.groups.again()
	w.queue.reorder(func(q *queued) {
		q.turn = q.turn.own()
		q.group, q.turn.priority = w.groups.of(q.job, q.expected)
	})
	w.guarantees.reorder()
	w.progress.reorder()
}

// Regroup takes in that groups of jobs count something else, and nothing else has changed of their order.
func (w *World) Regroup() {
	if w.groups.again() {
		w.progress.reorder()
	}
}

// Rerank takes in that some jobs of the queue stand elsewhere in their group.
func (w *World) Rerank(ids []federation.JobID) {
	for _, id := range ids {
		q := w.index.of(id)
		if q == nil {
			continue
		}
		j := Waiting{Job: q.job, Refused: w.refusedBy(q), Spent: q.spent, Expected: q.expected}
		if q.turn.place != id {
			j.Place = q.turn.place
		}
		w.SetJob(j)
	}
}

// mostPredicted is how many forecasts one call of Predict asks for.
const mostPredicted = 500

// Predict takes in how long jobs of the queue are expected to run by now, and computes the order of the queue again. Jobs of which the same value was expected are alike: they are asked for
// together. Where there are many kinds of jobs, each call takes up some of them, until all have had their turn.
func (w *World) Predict(expected func(*federation.Job) *decision.Expected) {
	told := map[*decision.Expected]*decision.Expected{}
	for q := range w.queue.some() {
		old := q.expected
		if w.predicted[old] {
			continue // in this turn of all
		}
		e, known := told[old]
		if !known {
			if len(told) == mostPredicted {
				continue
			}
			if e = expected(q.job); old != nil || e == nil { // where nothing was known, jobs may be of any kind
				told[old] = e
			}
		}
		if (e == nil) != (old == nil) || e != nil && steps(e) != steps(old) {
			q.userGroup = stranger
		}
		q.expected = e
	}
	if len(told) < mostPredicted {
		w.predicted = nil
	} else {
		if w.predicted == nil {
			w.predicted = map[*decision.Expected]bool{}
		}
		for _, e := range told {
			w.predicted[e] = true
		}
	}
	w.Reorder()
}
