package controller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"fsub/federation"
	"fsub/federation/action"
	"fsub/federation/codes"
	"fsub/federation/reasons"
)

// requests do what users ask of jobs.
type requests struct {
	now        func() time.Time
	t          Timing
	log        *slog.Logger
	store      Store
	sites      *roster
	jobs       *jobTable
	batch      *pendingBatch
	agenda     *agenda
	calls      *calls
	limits     *limits
	asides     *aside
	refused    *refusals
	inbox      *inbox
	queue      *queue
	arrays     *arrays
	tasks      *arrayRequests
	depends    *dependencies
	components *components
	life       *life
	moves      *moves
	asks       *asks // those that are not done when a round is over
}

// carryOutAll carries out what users asked for.
func (rq *requests) carryOutAll(requests []action.Request) {
	rq.tasks.unfinished.begin()
	for _, r := range requests {
		rq.inbox.taken[r.Seq] = r.Job
		if rq.asides.has(r.Job) {
			rq.inbox.again(r.Seq) // when the job is taken up again
			continue
		}
		subject{job: r.Job}.do(func() { rq.carryOut(r) })
	}
}

// carryOut does what a user asked for, as far as that needs no site; the rest becomes a call. Rights were checked
// when the request was accepted. A request about a job that has ended meanwhile is done.
func (rq *requests) carryOut(r action.Request) {
	j := rq.jobs.Of(r.Job)
	spreads := j != nil && j.spreads()
	if spreads && !rq.tasks.unfinished.mayGoOn(&r) {
		rq.inbox.again(r.Seq)
		return
	}
	switch r.Kind {
	case action.Requeue, action.ReqHold, action.Special, action.Update,
		action.Suspend, action.Resume, action.Move:
		rq.ask(r)
		return
	}
	if spreads {
		rq.doneIf(rq.tasks.carryOut(j, r, rq.carryOutOne), r.Seq)
		return
	}
	rq.batch.done(r.Seq)
	if j == nil {
		delete(rq.tasks.unfinished.of, r.Job)
		return
	}
	if j.leader != nil { // what is done to one is done to all
		j = j.leader
	}
	rq.carryOutOne(j, r)
	rq.components.follow(j)
}

// doneIf makes a request done, or leaves it to the next round.
func (rq *requests) doneIf(done bool, seq int64) {
	if done {
		rq.batch.done(seq)
	} else {
		rq.inbox.again(seq)
	}
}

// carryOutOne is carryOut for what is one job at one site.
func (rq *requests) carryOutOne(j *job, r action.Request) {
	switch r.Kind {
	case action.Cancel:
		if r.Tasks.Len() > 0 {
			rq.calls.act(j, "cancel", func(d federation.Driver, ctx context.Context, ref federation.JobRef) error {
				return d.Cancel(ctx, ref, slices.Collect(r.Tasks.All()))
			})
			return
		}
		rq.cancel(j, r)
	case action.Hold:
		rq.hold(j, r, nil)
	case action.Release:
		rq.release(j, r)
	case action.Signal:
		rq.signal(j, r)
	case action.Top:
		rq.top(j)
	}
}

// cancel ends a job that is at no site at once; otherwise its site is asked until the end is seen. Of a site that
// is no member any more nobody can ask that: the job waits until it is one again, or until an operator cancels it.
func (rq *requests) cancel(j *job, r action.Request) {
	orphan := j.live() && rq.sites.byName[j.att.Site] == nil
	if j.Cancel && !(orphan && r.Operator) {
		return
	}
	j.Cancel, j.CancelBy = true, r.UID
	rq.batch.eventf(j, "cancelled by %s", r.Who())
	if orphan && r.Operator {
		rq.life.finishAttempt(j, federation.AttemptForgotten, fmt.Sprintf("given up: %s is not in the configuration; its running jobs were not stopped", j.att.Site))
		rq.batch.eventf(j, "%s", j.att.Note)
	}
	if !j.live() {
		rq.life.end(j, federation.Cancelled, reasons.None, rq.now())
		return
	}
	rq.batch.job(j)
	j.try().cancelAt = rq.now()
}

// hold holds a job. why says why the daemon does.
func (rq *requests) hold(j *job, r action.Request, why *codes.Why) {
	if rq.refuseTasks(j, r) {
		return
	}
	if j.State.Ended() || j.Held == federation.HeldAdmin && !r.Operator {
		return
	}
	if why == nil {
		rq.batch.eventf(j, "held by %s", r.Who())
	}
	j.holdFor(r, why, rq.now())
	j.Reason = j.heldReason()
	rq.queue.look(j)
	rq.batch.job(j)
	if j.State == federation.Pending { // of one that runs the site hears when it waits again
		rq.calls.act(j, "hold", federation.Driver.Hold)
	}
}

// holdFor notes that a job is held as a request says.
func (j *job) holdFor(r action.Request, why *codes.Why, now time.Time) {
	j.Held, j.Holder = holdOf(r), &federation.Holder{At: now.UTC(), Why: why}
	if why == nil {
		j.Holder.By = r.Who()
	}
}

// heldReason is why a job waits that somebody holds, "" if nobody does. As in Slurm it is shown of one that runs, too.
func (j *job) heldReason() reasons.Reason {
	switch j.Held {
	case federation.NotHeld:
		return reasons.None
	case federation.HeldAdmin:
		return reasons.HeldAdmin
	}
	return reasons.HeldUser
}

// release lets a held job go. What an operator held, only an operator releases.
func (rq *requests) release(j *job, r action.Request) {
	if rq.refuseTasks(j, r) {
		return
	}
	if j.Held == federation.HeldAdmin && !r.Operator {
		return
	}
	if j.Held != federation.NotHeld {
		rq.batch.eventf(j, "released by %s", r.Who())
	}
	j.Held, j.Holder = federation.NotHeld, nil
	j.Reason = reasons.None
	if j.State == federation.Pending {
		j.Reason = reasons.Priority
	}
	rq.queue.look(j)
	rq.batch.job(j)
	rq.agenda.plan = true
	if j.State == federation.Pending {
		rq.calls.act(j, "release", federation.Driver.Release)
	}
}

func (rq *requests) signal(j *job, r action.Request) {
	if !j.live() || j.att.State != federation.AttemptStarted {
		rq.batch.eventf(j, "signal %s dropped: the job does not run", r.Signal.Name)
		return
	}
	if j.in != nil {
		j.signalPacked(r.Signal.Name)
		return
	}
	rq.calls.act(j, "signal", func(d federation.Driver, ctx context.Context, ref federation.JobRef) error {
		return d.Signal(ctx, ref, slices.Collect(r.Tasks.All()), r.Signal)
	})
}

// takeActed notes what a site said to an action. Cancellations are repeated by repair until the end is seen; a
// hold or a release until the site has answered; a signal is not.
func (rq *requests) takeActed(s *site, r acted) {
	j := rq.jobs.Of(r.job)
	if j != nil && r.what == "cancel" {
		j.try().ending = false
	}
	if r.err == nil {
		return
	}
	rq.log.Warn(r.what+" at site failed", "job", r.job, "site", s.Name, "err", r.err)
	switch {
	case j == nil:
	case !errors.Is(r.err, federation.ErrUnavailable):
		rq.batch.eventf(j, "%s refused by %s: %v", r.what, s.Name, r.err)
	case r.what == "hold" || r.what == "release":
		try := j.try()
		try.tellHold, try.tellHoldAt = true, rq.now().Add(rq.t.CancelEach)
	}
}
