package controller

import "fsub/federation"

// carryOut does what a user asked for with each of the tasks that are meant: all, if none is named. It reports whether all is done.
func (c *arrays) carryOut(j *job, r federation.Request) (done bool) {
	one := r
	one.Tasks = federation.TaskSet{}
	return c.each(j, &r, func() { c.carryOutRest(j, one) }, func(p *job) { c.tasks.carryOutOne(p, one) })
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
func (c *arrays) carryOutRest(j *job, r federation.Request) {
	switch r.Kind {
	case federation.RequestCancel:
		j.CancelBy, j.Reason = r.UID, federation.ReasonNone
		c.event(j, "cancelled by %s", r.Who())
		c.dropRest(j)
		c.endIfDone(j, c.now())
	case federation.RequestHold, federation.RequestRelease, federation.RequestTop:
		j.asWaiting(func() { c.tasks.carryOutOne(j, r) })
	}
}

// cancelRest cancels tasks that have not been bound, as one: those of them that wait. by is the user who asked for it, nil if nobody has.
func (c *arrays) cancelRest(j *job, tasks *federation.TaskSet, by *uint32) {
	gone := j.rest.Both(tasks)
	if gone.Len() == 0 {
		return
	}
	now := c.now().UTC()
	j.rest = j.rest.Minus(&gone)
	cancelled := federation.CancelledTasks{Tasks: gone, End: now, Cancel: by != nil}
	if by != nil {
		cancelled.CancelBy = *by
	}
	j.Whole = j.Whole.WithCancelled(cancelled)
	c.shrunk[j] = true
	c.queue.look(j)
	c.batch.tasksCancelled(j.ID, gone)
	c.depends.changed(j)
	c.endIfDone(j, now)
}
