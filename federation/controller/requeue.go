package controller

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"fsub/federation"
)

// requeueAsked is scontrol requeue of a job that has not ended. One that waits already is as good as requeued.
// Where the site cannot do it the attempt is stopped, and the job queued here again under its ID.
func (c *requests) requeueAsked(j *job, r federation.Request) {
	a := &asked{Request: r}
	if !j.live() || j.att.State != federation.AttemptStarted || j.Restarts > r.Restarts {
		c.asks.answer(a)
		if holds(r) {
			c.hold(j, r, nil)
		}
		return
	}
	c.asks.open[j.ID] = a
	c.batch.eventf(j, "%s asked for by %s", r.Kind, r.Who())
}

func requeueAt(q federation.Requeuer, ref federation.JobRef, tasks federation.TaskSet) func(context.Context) error {
	return func(ctx context.Context) error {
		if q == nil {
			return fmt.Errorf("%w: its driver cannot requeue", federation.ErrInvalid)
		}
		return q.Requeue(ctx, ref, slices.Collect(tasks.All()))
	}
}

// requeuedThere takes in what the site said to a requeue. That the job waits again, a poll tells.
func (c *requests) requeuedThere(s *site, j *job, a *asked, err error) {
	switch {
	case err == nil:
		if a.hold = holds(a.Request); !a.hold {
			c.asks.answer(a)
		}
		s.pollSoon(c.now().Add(c.t.Poll))
	case errors.Is(err, federation.ErrConflict): // it waits, or is ending
		c.asks.answer(a)
	case errors.Is(err, federation.ErrInvalid) && j.whole == nil:
		a.stop, a.at = true, c.now()
		c.repairAsked()
	default:
		c.asks.refuse(j, a, err)
	}
}

// takeUpAgain is scontrol requeue of a job that has ended: it gets back into the queue under its ID.
func (c *requests) takeUpAgain(r federation.Request) {
	again := func() { c.inbox.again(r.Seq) } // read again
	if c.jobs.ended[r.Job] != nil {
		again()
		return
	}
	ctx := context.Background()
	stored, err := c.store.Job(ctx, r.Job)
	if errors.Is(err, federation.ErrNotFound) || err == nil && (!stored.State.Ended() || stored.Restarts > r.Restarts || stored.Whole != nil) {
		c.batch.done(r.Seq)
		return
	}
	if err == nil && stored.Part != nil {
		if c.jobs.ended[stored.Part.Array] != nil {
			again()
			return
		}
		err = c.takeUpArray(ctx, stored.Part.Array)
	}
	var attempts []federation.Attempt
	if err == nil {
		attempts, err = c.store.Attempts(ctx, r.Job)
	}
	var j *job
	if err == nil {
		j, err = c.life.addJob(ctx, stored)
	}
	if err != nil {
		c.log.Error("take up an ended job again", "job", r.Job, "err", err)
		again()
		return
	}
	if n := len(attempts); n > 0 {
		j.try().att = &attempts[n-1]
		for i := range attempts {
			if a := &attempts[i]; a.Site == j.att.Site && !a.SiteSubmit.IsZero() {
				j.older = append(j.older, a.SiteSubmit)
			}
		}
		j.avoid(j.att, stored.End.Add(c.t.MinJobAge), c.now())
	}
	j.Cancel, j.CancelBy, j.ExitStatus, j.Held, j.Holder = false, 0, 0, federation.NotHeld, nil
	j.Restarts++
	if holds(r) {
		j.holdFor(r, nil, c.now())
	}
	c.batch.eventf(j, "requeued by %s after it had ended", r.Who())
	c.batch.done(r.Seq)
	if j.Part != nil {
		c.arrays.again(j)
	}
	c.life.requeue(j, federation.ReasonBeginTime)
}

// takeUpArray takes up an array that has ended, because one of its tasks is to run again. Those that were cancelled before they
// started are not.
func (c *requests) takeUpArray(ctx context.Context, id federation.JobID) error {
	if c.jobs.Of(id) != nil {
		return nil
	}
	all, err := c.store.Jobs(ctx, federation.JobQuery{IDs: []federation.JobID{id}})
	if err != nil {
		return err
	}
	tasks, err := c.store.Tasks(ctx, id)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(all, func(j federation.Job) bool { return j.ID == id })
	if at < 0 || all[at].Whole == nil || !all[at].Whole.Spread {
		return fmt.Errorf("array %d: %w", id, federation.ErrNotFound)
	}
	array := all[at]
	array.State, array.Reason, array.End, array.ExitStatus = federation.Running, federation.ReasonNone, time.Time{}, 0
	j, err := c.life.addJob(ctx, array)
	if err != nil {
		return err
	}
	j.rest = federation.TaskSet{}
	for i := range tasks {
		j.tasks[tasks[i].Index] = &tasks[i]
	}
	for i := range all {
		if all[i].Part != nil {
			t := all[i].Task()
			j.tasks[t.Index] = &t
		}
	}
	c.batch.job(j)
	return nil
}

// top puts a job before all others of its user.
func (c *requests) top(j *job) {
	is := c.queue.points(j)
	most := is
	for _, other := range c.jobs.All() {
		if other.User == j.User && other != j {
			most = max(most, c.queue.points(other)+1)
		}
	}
	c.setPriority(j, j.Priority, uint32(min(int64(j.Top)+most-is, math.MaxUint32)))
}

func (c *requests) setPriority(j *job, n, top uint32) {
	if j.Priority != n || j.Top != top {
		j.Priority, j.Top = n, top
		c.arrays.offerAnew(j)
		c.agenda.plan = true
		c.batch.job(j)
	}
}
