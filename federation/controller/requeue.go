package controller

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"fsub/federation"
	"fsub/federation/action"
	"fsub/federation/driver"
	"fsub/federation/reasons"
)

// requeueAsked is scontrol requeue of a job that has not ended. One that waits already is as good as requeued.
// Where the site cannot do it the attempt is stopped, and the job queued here again under its ID.
func (rq *requests) requeueAsked(j *job, r action.Request) {
	a := &asked{Request: r}
	if !j.live() || j.att.State != federation.AttemptStarted || j.Restarts > r.Restarts {
		rq.asks.answer(a)
		if holds(r) {
			rq.hold(j, r, nil)
		}
		return
	}
	rq.asks.open[j.ID] = a
	rq.batch.eventf(j, "%s asked for by %s", r.Kind, r.Who())
}

func requeueAt(q driver.Requeuer, ref federation.JobRef, tasks federation.TaskSet) func(context.Context) error {
	return func(ctx context.Context) error {
		if q == nil {
			return fmt.Errorf("%w: its driver cannot requeue", federation.ErrInvalid)
		}
		return q.Requeue(ctx, ref, slices.Collect(tasks.All()))
	}
}

// requeuedThere takes in what the site said to a requeue. That the job waits again, a poll tells.
func (rq *requests) requeuedThere(s *site, j *job, a *asked, err error) {
	switch {
	case err == nil:
		if a.hold = holds(a.Request); !a.hold {
			rq.asks.answer(a)
		}
		s.pollSoon(rq.now().Add(rq.t.Poll))
	case errors.Is(err, federation.ErrConflict): // it waits, or is ending
		rq.asks.answer(a)
	case errors.Is(err, federation.ErrInvalid) && j.whole == nil:
		a.stop, a.at = true, rq.now()
		rq.repairAsked()
	default:
		rq.asks.refuse(j, a, err)
	}
}

// takeUpAgain is scontrol requeue of a job that has ended: it gets back into the queue under its ID.
func (rq *requests) takeUpAgain(r action.Request) {
	again := func() { rq.inbox.again(r.Seq) } // read again
	if rq.jobs.ended[r.Job] != nil {
		again()
		return
	}
	ctx := context.Background()
	stored, err := rq.store.Job(ctx, r.Job)
	if errors.Is(err, federation.ErrNotFound) || err == nil && (!stored.State.Ended() || stored.Restarts > r.Restarts || stored.Whole != nil) {
		rq.batch.done(r.Seq)
		return
	}
	if err == nil && stored.Part != nil {
		if rq.jobs.ended[stored.Part.Array] != nil {
			again()
			return
		}
		err = rq.takeUpArray(ctx, stored.Part.Array)
	}
	var attempts []federation.Attempt
	if err == nil {
		attempts, err = rq.store.Attempts(ctx, r.Job)
	}
	var j *job
	if err == nil {
		j, err = rq.life.addJob(ctx, stored)
	}
	if err != nil {
		rq.log.Error("take up an ended job again", "job", r.Job, "err", err)
		again()
		return
	}
	if n := len(attempts); n > 0 {
		j.try().att = &attempts[n-1]
		for i := range attempts {
			if a := &attempts[i]; a.Site == j.att.Site && !a.SiteSubmit.IsZero() {
				j.try().older = append(j.older, a.SiteSubmit)
			}
		}
		j.avoid(j.att, stored.End.Add(rq.t.MinJobAge), rq.now())
	}
	j.Cancel, j.CancelBy, j.ExitStatus, j.Held, j.Holder = false, 0, 0, federation.NotHeld, nil
	j.Restarts++
	if holds(r) {
		j.holdFor(r, nil, rq.now())
	}
	rq.batch.eventf(j, "requeued by %s after it had ended", r.Who())
	rq.batch.done(r.Seq)
	if j.Part != nil {
		rq.arrays.again(j)
	}
	rq.life.requeue(j, reasons.BeginTime)
}

// takeUpArray takes up an array that has ended, because one of its tasks is to run again. Those that were cancelled before they
// started are not.
func (rq *requests) takeUpArray(ctx context.Context, id federation.JobID) error {
	if rq.jobs.Of(id) != nil {
		return nil
	}
	all, err := rq.store.Jobs(ctx, federation.JobQuery{IDs: []federation.JobID{id}})
	if err != nil {
		return err
	}
	tasks, err := rq.store.Tasks(ctx, id)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(all, func(j federation.Job) bool { return j.ID == id })
	if at < 0 || all[at].Whole == nil || !all[at].Whole.Spread {
		return fmt.Errorf("array %d: %w", id, federation.ErrNotFound)
	}
	array := all[at]
	array.State, array.Reason, array.End, array.ExitStatus = federation.Running, reasons.None, time.Time{}, 0
	j, err := rq.life.addJob(ctx, array)
	if err != nil {
		return err
	}
	j.join().rest = federation.TaskSet{}
	for i := range tasks {
		j.tasks[tasks[i].Index] = &tasks[i]
	}
	for i := range all {
		if all[i].Part != nil {
			t := all[i].Task()
			j.tasks[t.Index] = &t
		}
	}
	rq.batch.job(j)
	return nil
}

// top puts a job before all others of its user.
func (rq *requests) top(j *job) {
	is := rq.queue.points(j)
	most := is
	for _, other := range rq.jobs.All() {
		if other.User == j.User && other != j {
			most = max(most, rq.queue.points(other)+1)
		}
	}
	rq.setPriority(j, j.Priority, uint32(min(int64(j.Top)+most-is, math.MaxUint32)))
}

func (rq *requests) setPriority(j *job, n, top uint32) {
	if j.Priority != n || j.Top != top {
		j.Priority, j.Top = n, top
		rq.arrays.offerAnew(j)
		rq.agenda.plan = true
		rq.batch.job(j)
	}
}
