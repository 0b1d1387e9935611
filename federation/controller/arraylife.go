package controller

import (
	"time"

	"fsub/federation"
)

// What becomes of an array follows from what becomes of its tasks.

// taskChanged brings an array in line with the job of a task that has started, ended, or gone back to the queue.
func (c *life) taskChanged(p *job) {
	array := p.array
	array.mirror(p)
	if !p.Start.IsZero() && array.State == federation.Pending {
		array.State, array.Start = federation.Running, p.Start
		c.batch.job(array)
	}
	if p.State.Ended() && array.taskJobs[p.Part.Index] == p {
		delete(array.taskJobs, p.Part.Index)
		array.Cost += p.Cost
		c.batch.job(array)
	}
	c.arrays.moved(array)
	c.depends.changed(array)
	c.endIfDone(array, p.End)
}

// endIfDone ends an array of which nothing waits and nothing runs.
func (c *life) endIfDone(j *job, at time.Time) {
	if j.rest.Len() > 0 || len(j.taskJobs) > 0 || j.State.Ended() {
		return
	}
	state, status := j.summary()
	j.ExitStatus = status
	c.end(j, state, j.endReason(state), at)
}

// endRest ends an array, or if tasks of it live, what of it still waits.
func (c *life) endRest(j *job, state federation.State, reason federation.Reason, at time.Time) {
	if !j.spreads() || len(j.taskJobs) == 0 {
		c.end(j, state, reason, at)
		return
	}
	j.Reason = reason
	c.arrays.dropRest(j)
}

// arrayBack takes an array whose attempt has not run all of it into the queue, as its tasks: those that came to an end of
// their own do not run again.
func (c *life) arrayBack(j *job) {
	var rest []int
	for _, i := range j.whole {
		t := j.tasks[i]
		if t != nil && t.State.Ended() && failureClass(t.State) != federation.ClassNode && failureClass(t.State) != federation.ClassPreempt {
			continue
		}
		if t != nil {
			restarts := t.Restarts
			if !t.Start.IsZero() {
				restarts++
			}
			*t = federation.Task{Job: j.ID, Index: i, State: federation.Pending, Reason: j.Reason, Restarts: restarts, Cost: t.Cost}
			c.batch.task(t)
		}
		rest = append(rest, i)
	}
	array := ""
	if len(rest) > 0 {
		array = federation.FormatArray(rest, j.Whole.Limit)
	}
	j.setArray(array)
	c.arrays.spread(j)
	c.queue.add(j)
	c.agenda.plan = true
	c.endIfDone(j, c.now())
}

// cancelRest cancels tasks that have not been bound, as one: those of them that wait. by is the user who asked for it, nil if nobody has.
func (c *life) cancelRest(j *job, tasks *federation.TaskSet, by *uint32) {
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
	c.arrays.shrunk[j] = true
	c.queue.look(j)
	c.batch.tasksCancelled(j.ID, gone)
	c.depends.changed(j)
	c.endIfDone(j, now)
}
