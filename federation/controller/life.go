package controller

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"fsub/federation"
)

// life is what becomes of jobs: they are taken up, go back to the queue, and end.
type life struct {
	now        func() time.Time
	t          Timing
	log        *slog.Logger
	store      federation.Store
	metrics    *metrics
	sites      *roster
	jobs       *jobTable
	batch      *pendingBatch
	agenda     *agenda
	limits     *limits
	queue      *queue
	arrays     *arrays
	depends    *dependencies
	components *components
	charges    *charges
	maxRequeue int
}

// addJob takes up a job that the store has. It is in the queue only after queue.add.
func (c *life) addJob(ctx context.Context, stored federation.Job) (*job, error) {
	j := newJob(stored)
	if j.Spec.Array != "" && j.Whole == nil {
		j.Whole = wholeOf(j.Spec.Array)
	}
	if j.Whole != nil {
		c.arrays.add(j)
	}
	if err := c.depends.add(ctx, j); err != nil {
		return nil, fmt.Errorf("job %d: %w", j.ID, err)
	}
	c.jobs.Set(j.ID, j)
	if j.Component != nil {
		c.components.link(j)
	}
	return j, nil
}

// end makes a job's state final.
func (c *life) end(j *job, state federation.State, reason federation.Reason, at time.Time) {
	j.State, j.Reason, j.Held, j.Holder = state, reason, federation.NotHeld, nil
	j.End = at.UTC()
	if j.End.IsZero() {
		j.End = c.now().UTC()
	}
	c.batch.job(j)
	c.jobs.Delete(j.ID)
	c.jobs.ended[j.ID] = j
	c.queue.drop(j)
	c.arrays.ended(j)
	for _, k := range c.components.endWith(j, j.End) {
		c.end(k, j.State, j.Reason, j.End)
	}
	c.depends.changed(j)
	if j.array != nil {
		c.taskChanged(j)
	}
	c.agenda.plan = true
	c.metrics.ended(state)
	c.log.Info("job ended", "job", j.ID, "state", state, "site", j.Site, "cost", j.Cost.Dollars())
}

// requeue puts a job back into the federation's queue after an attempt that did not run it to an end of its own.
func (c *life) requeue(j *job, reason federation.Reason) {
	j.State, j.Reason = federation.Pending, reason
	j.Start, j.End, j.Pause, j.Nodes = time.Time{}, time.Time{}, nil, ""
	j.Site, j.Partition = "", ""
	if j.att != nil {
		j.unsure, j.busy, j.missing, j.fails = false, false, time.Time{}, 0
		j.lostStart, j.heldThere, j.leftHeld, j.stuck = false, false, false, time.Time{}
	}
	c.batch.job(j)
	c.components.follow(j)
	if j.whole != nil {
		c.arrayBack(j)
		return
	}
	c.queue.add(j)
	c.agenda.plan = true
	if j.array != nil {
		c.taskChanged(j)
	}
}

// finishAttempt ends the job's live attempt, whatever happens to the job.
func (c *life) finishAttempt(j *job, to federation.AttemptState, note string) {
	a := j.att
	if to != federation.AttemptEnded {
		c.charges.lost(j)
	}
	if err := a.Move(to); err != nil {
		c.log.Error("attempt", "err", err)
		a.State = to
	}
	a.Note = note
	c.limits.unreserve(j)
	if a.Ended.IsZero() {
		a.Ended = c.now().UTC()
	}
	if s := c.sites.byName[a.Site]; s != nil {
		delete(s.jobs, j.ID)
		c.queue.world.Release(s.Name, j.ID)
		s.observeSoon(c.now().Add(c.t.Observe / 10))
	}
	if !a.SiteSubmit.IsZero() {
		j.older = append(j.older, a.SiteSubmit)
	}
	c.batch.attempt(a)
}

// backToQueue returns a job to the queue, or ends it if it was to be cancelled.
func (c *life) backToQueue(j *job, reason federation.Reason) {
	if j.Cancel {
		c.end(j, federation.Cancelled, federation.ReasonNone, c.now())
		return
	}
	c.requeue(j, reason)
}

// siteFailure follows the requeue rules after a failure that is not the job's own: again if it may be requeued,
// else it ends.
func (c *life) siteFailure(j *job, state federation.State, reason federation.Reason) {
	switch {
	case j.Cancel:
		c.end(j, federation.Cancelled, reason, c.now())
	case j.Spec.Requeue != nil && !*j.Spec.Requeue:
		c.batch.eventf(j, "not requeued: --no-requeue")
		c.end(j, state, reason, c.now())
	case state != federation.Preempted && c.failedTooOften(j):
		why := "max_requeue is 0"
		if n := c.maxRequeue; n > 0 {
			why = fmt.Sprintf("it has failed so %d times already", n)
		}
		c.batch.eventf(j, "not requeued: %s", why)
		c.end(j, state, reason, c.now())
	default:
		j.Restarts++
		c.batch.eventf(j, "requeued")
		c.requeue(j, reason)
	}
}

// failedTooOften reports whether a job has used up its requeues after failures of nodes and sites. Preemptions are
// no failures, nor is what users requeue. The job's history is read only when it may matter.
func (c *life) failedTooOften(j *job) bool {
	if j.Restarts < c.maxRequeue {
		return false
	}
	attempts, err := c.store.Attempts(context.Background(), j.ID)
	if err != nil {
		c.log.Error("read the attempts of a job", "job", j.ID, "err", err)
		return true
	}
	failed := 0
	for _, a := range attempts {
		if a.Number != j.att.Number && (a.Class == federation.ClassNode || a.Class == federation.ClassSite) {
			failed++
		}
	}
	return failed >= c.maxRequeue
}

// mayRequeue reports whether a job may be started again at all.
func (c *life) mayRequeue(j *job) bool { return j.Spec.Requeue == nil || *j.Spec.Requeue }

// mayRunAgain is the requeue rule.
func (c *life) mayRunAgain(j *job) bool {
	return !j.Cancel && c.mayRequeue(j) && j.Restarts < c.maxRequeue
}
