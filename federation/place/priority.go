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
// number until Reorder is called. It is set before there are jobs.
func (w *World) SetPriority(f func(*federation.Job, *federation.Expected) int64) { w.priority = f }

// ofJob is Priority whatever is expected of the job.
func ofJob(j *federation.Job, _ *federation.Expected) int64 { return Priority(j) }

// Reorder works out the order of the queue anew, because something that priorities depend on beside the jobs has changed.
func (w *World) Reorder() {
	for q := range w.queue.all() {
		q.turn = q.turn.own()
		q.turn.priority = w.priority(q.job, q.expected)
	}
	w.queue.sort()
	w.guarantees.reorder()
	w.stale, w.fresh = true, nil
}
