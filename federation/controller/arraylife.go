package controller

import (
	"time"

	"fsub/federation"
	"fsub/federation/lifecycle"
	"fsub/federation/reasons"
)

// What becomes of an array follows from what becomes of its tasks.

// taskChanged brings an array in line with the job of a task that has started, ended, or gone back to the queue.
func (l *life) taskChanged(p *job) {
	array := p.array
	array.mirror(p)
	if !p.Start.IsZero() && array.State == federation.Pending {
		array.State, array.Start = federation.Running, p.Start
		l.batch.job(array)
	}
	if p.State.Ended() && array.taskJobs[p.Part.Index] == p {
		delete(array.taskJobs, p.Part.Index)
		array.Cost += p.Cost
		l.batch.job(array)
	}
	l.arrays.moved(array)
	l.depends.changed(array)
	l.endIfDone(array, p.End)
}

// endIfDone ends an array of which nothing waits and nothing runs.
func (l *life) endIfDone(j *job, at time.Time) {
	if j.rest.Len() > 0 || len(j.taskJobs) > 0 || j.State.Ended() {
		return
	}
	state, status := j.summary()
	j.ExitStatus = status
	l.end(j, state, j.endReason(state), at)
}

// endRest ends an array, or if tasks of it live, what of it still waits.
func (l *life) endRest(j *job, state federation.State, reason reasons.Reason, at time.Time) {
	if !j.spreads() || len(j.taskJobs) == 0 {
		l.end(j, state, reason, at)
		return
	}
	j.Reason = reason
	l.arrays.dropRest(j)
}

// arrayBack takes an array whose attempt has not run all of it into the queue, as its tasks: those that came to an end of
// their own do not run again.
func (l *life) arrayBack(j *job) {
	var rest []int
	for _, i := range j.whole {
		t := j.tasks[i]
		if t != nil && t.State.Ended() && lifecycle.ClassOf(t.State) != federation.ClassNode && lifecycle.ClassOf(t.State) != federation.ClassPreempt {
			continue
		}
		if t != nil {
			restarts := t.Restarts
			if !t.Start.IsZero() {
				restarts++
			}
			*t = federation.Task{Job: j.ID, Index: i, State: federation.Pending, Reason: j.Reason, Restarts: restarts, Cost: t.Cost}
			l.batch.task(t)
		}
		rest = append(rest, i)
	}
	array := ""
	if len(rest) > 0 {
		array = federation.FormatArray(rest, j.Whole.Limit)
	}
	j.setArray(array)
	l.arrays.spread(j)
	l.queue.add(j)
	l.agenda.plan = true
	l.endIfDone(j, l.now())
}

// cancelRest cancels tasks that have not been bound, as one: those of them that wait. by is the user who asked for it, nil if nobody has.
func (l *life) cancelRest(j *job, tasks *federation.TaskSet, by *uint32) {
	gone := j.rest.Both(tasks)
	if gone.Len() == 0 {
		return
	}
	now := l.now().UTC()
	j.join().rest = j.rest.Minus(&gone)
	cancelled := federation.CancelledTasks{Tasks: gone, End: now, Cancel: by != nil}
	if by != nil {
		cancelled.CancelBy = *by
	}
	j.Whole = j.Whole.WithCancelled(cancelled)
	l.arrays.shrunk[j] = true
	l.queue.look(j)
	l.batch.tasksCancelled(j.ID, gone)
	l.depends.changed(j)
	l.endIfDone(j, now)
}
