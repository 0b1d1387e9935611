package controller

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"fsub/federation"
	"fsub/federation/action"
	"fsub/federation/codes"
	"fsub/federation/decision"
	"fsub/federation/reasons"
	"fsub/sbatch"
)

// asked is a request that a site has a word in: to requeue, suspend or resume a job that runs, or to change one
// that was handed over. It stays in the store until it is carried out or refused, so that a crash does not lose
// it; a job has one of them at a time.
type asked struct {
	action.Request
	spec    *sbatch.Spec // of an update: what the job asks for afterwards
	calling bool         // the site is being asked
	at      time.Time    // do nothing before
	// stop: the site cannot do it. The attempt is cancelled, and when its end is seen the job goes back to the queue.
	stop bool
	// warned: the job was signalled to write its checkpoint; when it ends by itself, and badly, that is the end of its attempt.
	warned bool
	begun  bool // of a move: the job leaves
	hold   bool // what is left of a requeuehold: to hold the job once it waits again
}

// answered is the end of a call about an asked request.
type answered struct {
	job federation.JobID
	seq int64
	err error
}

// asks are the requests that sites have a word in, and are not done yet.
type asks struct {
	now     func() time.Time
	t       Timing
	sites   *roster
	batch   *pendingBatch
	calls   *calls
	refused *refusals
	open    map[federation.JobID]*asked
}

// answer makes an asked request done.
func (ak *asks) answer(a *asked) {
	delete(ak.open, a.Job)
	if a.Seq != 0 {
		ak.batch.done(a.Seq)
	}
}

// refuse makes it done without having been done, and keeps the reason for whoever has asked.
func (ak *asks) refuse(j *job, a *asked, err error) {
	ak.batch.eventf(j, "%s refused: %v", a.Kind, err)
	ak.refused.add(a.Seq, err)
	ak.answer(a)
}

// site asks the job's site for what a wants, or for the end of the attempt.
func (ak *asks) site(j *job, a *asked) {
	if j.in != nil {
		ak.ofPack(j, a)
		return
	}
	s, ref := ak.sites.byName[j.att.Site], j.Ref(j.att)
	a.calling, a.at = true, ak.now().Add(ak.t.CancelEach)
	var do func(context.Context) error
	switch {
	case a.stop:
		do = takeAway(s.driver, ref, a.takesUnstarted())
	case a.Kind == action.Update:
		as := s.user(&j.Job).Name
		if a.Operator {
			as = ""
		}
		do = updateAt(s, ref, as, j, a.spec)
	case suspends(a.Request):
		do = suspendAt(s.can.Suspend, ref, a.Kind)
	case j.Restarts > j.att.Restarts && j.whole == nil:
		// The site would count from one again in SLURM_RESTART_COUNT.
		a.stop = true
		do = takeAway(s.driver, ref, false)
	default:
		do = requeueAt(s.can.Requeue, ref, a.Tasks)
	}
	kind := answered{job: j.ID, seq: a.Seq}
	ak.calls.add(s, kind, func(ctx context.Context) any {
		r := kind
		r.err = do(ctx)
		return r
	})
}

// takesBack reports whether the end of j's attempt was asked for so that it may go back to the queue. After a
// crash nothing is known of that but the request, and that the attempt was cancelled.
func (ak *asks) takesBack(j *job, sj *federation.SiteJob) bool {
	a := ak.open[j.ID]
	switch {
	case a == nil || j.Cancel || suspends(a.Request):
		return false
	case a.Kind == action.Move:
		return sj.State == federation.Cancelled && (sj.Start.IsZero() || a.Move.Running) || sj.State == federation.Failed && a.warned
	}
	return a.stop || sj.State == federation.Cancelled && (a.Kind != action.Update || sj.Start.IsZero())
}

// ask takes up a request to requeue, to suspend, to resume or to change a job.
func (rq *requests) ask(r action.Request) {
	j := rq.jobs.Of(r.Job)
	switch {
	case j == nil && r.Kind != action.Update && r.Kind != action.Move && !suspends(r):
		rq.takeUpAgain(r)
	case j == nil:
		rq.batch.done(r.Seq)
	case rq.asks.open[r.Job] != nil:
		rq.inbox.again(r.Seq) // read again, when the one before it is done
	case j.spreads():
		rq.askSpread(j, r)
	case r.Kind == action.Update && rq.refuseTasks(j, r):
		rq.batch.done(r.Seq)
	default:
		rq.askOne(j, r)
	}
}

// askSpread passes a request about an array whose tasks are bound one by one on to those tasks. What sites have a
// word in becomes a request of its own, written as the array's is done.
func (rq *requests) askSpread(j *job, r action.Request) {
	whole := r
	if r.Kind == action.Update {
		if r.Change = rq.changeLimit(j, r.Change); len(r.Change) == 0 && r.Tasks.Len() > 0 {
			rq.batch.done(r.Seq)
			return
		}
	}
	rest := func() {
		if r.Kind != action.Update {
			return
		}
		if spec, err := federation.ChangedSpec(&j.Job, whole.Change, r.At); err == nil {
			rq.changeHere(j, spec)
		}
		j.asWaiting(func() { rq.changePriority(j, whole) })
	}
	rq.doneIf(rq.tasks.each(j, &r, rest, func(p *job) {
		one := r
		one.Job, one.Tasks, one.Seq, one.Restarts = p.ID, federation.TaskSet{}, 0, p.Restarts
		switch {
		case len(one.Change) == 0 && r.Kind == action.Update:
		case p.live() || rq.asks.open[p.ID] != nil: // of an attempt that has just ended, one before this is still to be done
			rq.batch.request(one)
		default:
			rq.askOne(p, one)
		}
	}), r.Seq)
}

func (rq *requests) askOne(j *job, r action.Request) {
	switch {
	case r.Kind == action.Move:
		rq.moves.ask(j, r)
	case r.Kind == action.Update:
		rq.update(j, r)
	case suspends(r):
		rq.suspendAsked(j, r)
	default:
		rq.requeueAsked(j, r)
	}
	if a := rq.asks.open[j.ID]; a != nil && !a.waitsToLeave() {
		rq.repairAsked()
	}
}

// takeAnswered takes in what a site said.
func (rq *requests) takeAnswered(s *site, r answered) {
	a := rq.asks.open[r.job]
	j := rq.jobs.Of(r.job)
	if a == nil || a.Seq != r.seq || j == nil {
		return
	}
	a.calling = false
	switch {
	case errors.Is(r.err, federation.ErrUnavailable):
		a.at = rq.now().Add(rq.t.CancelEach)
	case a.stop: // a poll tells whether it has ended
		if r.err != nil && a.takesUnstarted() {
			rq.asks.refuse(j, a, r.err)
		}
	case a.Kind == action.Update:
		rq.updated(j, a, r.err)
	case suspends(a.Request):
		rq.suspendedThere(s, j, a, r.err)
	default:
		rq.requeuedThere(s, j, a, r.err)
	}
}

// repairAsked goes on with the requests that wait.
func (rq *requests) repairAsked() {
	now := rq.now()
	for _, id := range slices.Sorted(maps.Keys(rq.asks.open)) {
		a, j := rq.asks.open[id], rq.jobs.Of(id)
		switch {
		case j == nil || j.Cancel:
			rq.asks.answer(a)
		case !j.live(): // it went back to the queue by itself
			if a.spec != nil {
				rq.changeHere(j, *a.spec)
			}
			if a.Kind == action.Move {
				rq.moves.place(j, a.Move, a.Move.From)
			}
			rq.asks.answer(a)
		case a.Kind == action.Move && j.inFlight():
		case a.waitsToLeave():
			rq.moves.leaveFor(j, a)
			if a.begun && !a.warned {
				rq.asks.site(j, a)
			}
		case a.hold:
			if j.State == federation.Pending {
				rq.asks.answer(a)
				rq.hold(j, a.Request, nil)
			}
		case a.Kind != action.Update && a.Kind != action.Move && j.Restarts > a.Restarts:
			rq.asks.answer(a)
		case !a.calling && !now.Before(a.at) && rq.sites.byName[j.att.Site] != nil && !rq.sites.byName[j.att.Site].breaker.open:
			rq.asks.site(j, a)
		}
	}
}

// putBack returns a job to the queue after its attempt was stopped for that. Its site is left alone with it for a
// while: it remembers the number, and refuses to take it a second time, until MinJobAge has passed.
func (rq *requests) putBack(j *job) {
	a := rq.asks.open[j.ID]
	if a.Kind == action.Move {
		rq.moves.putElsewhere(j, a)
		return
	}
	if a.spec != nil {
		rq.changeHere(j, *a.spec)
	} else {
		j.Restarts++
		rq.batch.eventf(j, "requeued by %s", a.Who())
	}
	if holds(a.Request) {
		j.holdFor(a.Request, nil, rq.now())
	}
	j.ExitStatus = 0
	j.avoid(j.att, rq.now().Add(rq.t.MinJobAge), rq.now())
	rq.asks.answer(a)
	rq.life.requeue(j, reasons.BeginTime)
}

// avoid leaves the site of an attempt that has ended alone with its job until then.
func (j *job) avoid(a *federation.Attempt, until, now time.Time) {
	if now.Before(until) {
		j.waitForSite(a.Site, a.Class == federation.ClassPreempt, until)
	}
}

// timeOfDay is a time of a day in UTC, which it says.
const timeOfDay = "15:04:05Z"

// waitForSite leaves out until then a site that remembers the run before of j under the same number. madeRoom: that run was preempted.
func (j *job) waitForSite(site federation.SiteName, madeRoom bool, until time.Time) {
	why := codes.RunBefore
	if madeRoom {
		why = codes.MadeRoom
	}
	j.leaveOut(decision.Rejection{Site: site, Reason: reasons.BeginTime, Why: codes.Because(why, until.UTC().Format(timeOfDay))}, until)
}

// holds reports whether r is to requeue a job and to hold it then.
func holds(r action.Request) bool {
	return r.Kind == action.ReqHold || r.Kind == action.Special
}

func holdOf(r action.Request) federation.Hold {
	switch {
	case r.Kind == action.Special:
		return federation.HeldSpecial
	case r.Operator:
		return federation.HeldAdmin
	}
	return federation.HeldUser
}
