package place

import "fsub/federation"

// Priority is where a job stands in the queue: a higher one comes first, of equal ones the job with the lower ID. It is a function of the job and of what
// placement knows beside it, and nobody stores it, so that the order of all jobs can change without one being written. Today it is what an operator has set, or
// minus --nice, and what scontrol top has added. A job that is held has none: it is not in the queue.
func Priority(j *federation.Job) int64 {
	if j.Priority != 0 {
		return int64(j.Priority) + int64(j.Top)
	}
	return int64(j.Top) - int64(j.Spec.Nice)
}

// SetPriority has jobs ordered by another function than [Priority]: of the job, and of how long it is expected to run, nil if that is not known. It gives a job the same
// number until Reorder or Foretell is called. It is set before there are jobs.
func (w *World) SetPriority(f func(*federation.Job, *federation.Expected) int64) { w.priority = f }

// ofJob is Priority whatever is expected of the job.
func ofJob(j *federation.Job, _ *federation.Expected) int64 { return Priority(j) }

// Reorder works out the order of the queue anew, because something that priorities depend on beside the jobs has changed.
func (w *World) Reorder() {
	w.queue.reorder(func(q *queued) {
		q.turn = q.turn.own()
		q.turn.priority = w.priority(q.job, q.expected)
	})
	w.guarantees.reorder()
	w.stale, w.fresh = true, nil
}

// mostForetold is how many forecasts one call of Foretell asks for.
const mostForetold = 500

// Foretell takes in how long jobs of the queue are expected to run by now, and works out the order of the queue anew. Jobs of which the same value was expected are alike: they are asked for
// together. Where there are many kinds of jobs, each call takes up some of them, until all have had their turn.
func (w *World) Foretell(expected func(*federation.Job) *federation.Expected) {
	told := map[*federation.Expected]*federation.Expected{}
	for q := range w.queue.all() {
		old := q.expected
		if w.foretold[old] {
			continue // in this turn of all
		}
		e, known := told[old]
		if !known {
			if len(told) == mostForetold {
				continue
			}
			if e = expected(q.job); old != nil || e == nil { // where nothing was known, jobs may be of any kind
				told[old] = e
			}
		}
		if (e == nil) != (old == nil) || e != nil && steps(e) != steps(old) {
			q.kin = stranger
		}
		q.expected = e
	}
	if len(told) < mostForetold {
		w.foretold = nil
	} else {
		if w.foretold == nil {
			w.foretold = map[*federation.Expected]bool{}
		}
		for _, e := range told {
			w.foretold[e] = true
		}
	}
	w.Reorder()
}
