package controller

import (
	"time"

	"fsub/federation"
	"fsub/federation/action"
	"fsub/federation/reasons"
)

// arrayRequests do what users ask of arrays: of their tasks that wait, and of the jobs that others have become.
type arrayRequests struct {
	now        func() time.Time
	batch      *pendingBatch
	arrays     *arrays
	life       *life
	unfinished unfinished // those about many tasks
}

// carryOut does what a user asked for by do with each of the tasks that are meant: all, if none is named. It reports whether all is done.
func (aq *arrayRequests) carryOut(j *job, r action.Request, do func(*job, action.Request)) (done bool) {
	one := r
	one.Tasks = federation.TaskSet{}
	return aq.each(j, &r, func() { aq.carryOutRest(j, one, do) }, func(p *job) { do(p, one) })
}

// asWaiting does something with an array as far as those of its tasks go that wait, if there are any.
func (j *job) asWaiting(do func()) {
	if j.rest.Len() > 0 {
		state := j.State
		j.State = federation.Pending
		do()
		j.State = state
	}
}

// carryOutRest does what was asked for with the tasks that are not jobs yet.
func (aq *arrayRequests) carryOutRest(j *job, r action.Request, do func(*job, action.Request)) {
	switch r.Kind {
	case action.Cancel:
		j.CancelBy, j.Reason = r.UID, reasons.None
		aq.batch.eventf(j, "cancelled by %s", r.Who())
		aq.arrays.dropRest(j)
		aq.life.endIfDone(j, aq.now())
	case action.Hold, action.Release, action.Top:
		j.asWaiting(func() { do(j, r) })
	}
}
