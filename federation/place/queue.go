package place

import (
	"cmp"
	"slices"

	"fsub/federation"
)

// queued is a job in the queue.
type queued struct {
	job     *federation.Job
	turn    turn
	refused map[federation.SiteName]federation.Rejection
	shape   *shape // nil: not known yet
	fate    *fate  // nil: not looked at
	told    federation.Reason
}

// turn is a job's place in the queue.
type turn struct {
	priority int64
	place    federation.JobID
	index    int
}

func (a turn) compare(b turn) int {
	return cmp.Or(cmp.Compare(b.priority, a.priority), cmp.Compare(a.place, b.place), cmp.Compare(a.index, b.index))
}

// Waiting is a job of the federation's queue that may be bound now.
type Waiting struct {
	Job *federation.Job // it is not changed without SetJob being called again
	// Refused are the sites that have refused it, and why: they are not asked again.
	Refused map[federation.SiteName]federation.Rejection
	// Place is the job in whose place it stands among those of its priority, as a task of an array stands in the array's; 0: its own.
	Place federation.JobID
}

// SetJob tells of a job in the queue that is new or has changed.
func (w *World) SetJob(j Waiting) {
	w.index()
	q := &queued{job: j.Job, turn: w.rankOf(&j), refused: j.Refused}
	old := w.byID[j.Job.ID]
	w.at.job = j.Job.ID
	if old != nil && !w.others && old.turn == q.turn && len(old.refused)+len(q.refused) == 0 && old.shape != nil && (old.job.Spec.Array == "") == (j.Job.Spec.Array == "") &&
		(old.job.Part == nil) == (j.Job.Part == nil) && old.job.User == j.Job.User && old.job.Spec.Account == j.Job.Spec.Account && w.likeness(j.Job, nil) == old.shape {
		old.job, old.told = j.Job, "" // nothing that the plan depends on
		w.news = append(w.news, old)
		return
	}
	w.DropJob(j.Job.ID)
	w.byID[j.Job.ID] = q
	i := w.find(q)
	w.queue = slices.Insert(w.queue, i, q)
	if !w.stale {
		w.fresh = append(w.fresh, q)
	}
}

// DropJob tells that a job is not in the queue any more, whether it was bound, cancelled or held.
func (w *World) DropJob(id federation.JobID) {
	w.index()
	q := w.byID[id]
	if q == nil {
		return
	}
	delete(w.byID, id)
	i := w.find(q)
	w.queue = slices.Delete(w.queue, i, i+1)
	switch {
	case w.stale:
	case q.fate == nil:
		w.fresh = slices.DeleteFunc(w.fresh, func(f *queued) bool { return f == q })
	case w.looked-1 < len(w.queue)-len(w.fresh) || w.took != nil && q.turn.compare(w.took.turn) <= 0:
		w.stale = true // another job is looked at now, or those behind it may find something else
	default:
		w.looked--
	}
	q.fate, q.told = nil, ""
}

// find is a job's place in the queue, or where it belongs.
func (w *World) find(q *queued) int {
	if n := len(w.queue); n > 0 && w.queue[n-1].turn.compare(q.turn) < 0 {
		return n
	}
	i, _ := slices.BinarySearchFunc(w.queue, q, func(a, b *queued) int { return a.turn.compare(b.turn) })
	return i
}

func (w *World) sort() {
	slices.SortFunc(w.queue, func(a, b *queued) int { return a.turn.compare(b.turn) })
}

// index makes byID.
func (w *World) index() {
	if w.byID != nil {
		return
	}
	w.byID = make(map[federation.JobID]*queued, len(w.queue))
	for _, q := range w.queue {
		w.byID[q.job.ID] = q
	}
}

func (w *World) rankOf(j *Waiting) turn {
	r := turn{priority: w.priority(j.Job), place: cmp.Or(j.Place, j.Job.ID)}
	if j.Place != 0 && j.Job.Part != nil {
		r.index = j.Job.Part.Index
	}
	return r
}
