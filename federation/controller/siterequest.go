package controller

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"fsub/federation"
	"fsub/sbatch"
)

// asked is a request that a site has a word in: to requeue, suspend or resume a job that runs, or to change one
// that was handed over. It stays in the store until it is carried out or refused, so that a crash does not lose
// it; a job has one of them at a time.
type asked struct {
	federation.Request
	spec    *sbatch.Spec // of an update: what the job asks for afterwards
	calling bool         // the site is being asked
	at      time.Time    // do nothing before
	// stop: the site cannot do it. The attempt is cancelled, and when its end is seen the job goes back to the queue.
	stop bool
	hold bool // what is left of a requeuehold: to hold the job once it waits again
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
func (c *asks) answer(a *asked) {
	delete(c.open, a.Job)
	if a.Seq != 0 {
		c.batch.done(a.Seq)
	}
}

// refuse makes it done without having been done, and keeps the reason for whoever has asked.
func (c *asks) refuse(j *job, a *asked, err error) {
	c.batch.eventf(j, "%s refused: %v", a.Kind, err)
	c.refused.add(a.Seq, err)
	c.answer(a)
}

// site asks the job's site for what a wants, or for the end of the attempt.
func (c *asks) site(j *job, a *asked) {
	s, ref := c.sites.byName[j.att.Site], j.Ref(j.att)
	a.calling, a.at = true, c.now().Add(c.t.CancelEach)
	var do func(context.Context) error
	switch {
	case a.stop:
		do = takeAway(s.driver, ref, a.takesUnstarted())
	case a.Kind == federation.RequestUpdate:
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
	c.calls.add(s, kind, func(ctx context.Context) any {
		r := kind
		r.err = do(ctx)
		return r
	})
}

// takesBack reports whether the end of j's attempt was asked for so that it may go back to the queue. After a
// crash nothing is known of that but the request, and that the attempt was cancelled.
func (c *asks) takesBack(j *job, sj *federation.SiteJob) bool {
	a := c.open[j.ID]
	switch {
	case a == nil || j.Cancel || suspends(a.Request):
		return false
	case a.Kind == federation.RequestMove:
		return sj.State == federation.Cancelled && (sj.Start.IsZero() || a.Move.Running)
	}
	return a.stop || sj.State == federation.Cancelled && (a.Kind != federation.RequestUpdate || sj.Start.IsZero())
}

// ask takes up a request to requeue, to suspend, to resume or to change a job.
func (c *requests) ask(r federation.Request) {
	j := c.jobs.Of(r.Job)
	switch {
	case j == nil && r.Kind != federation.RequestUpdate && r.Kind != federation.RequestMove && !suspends(r):
		c.takeUpAgain(r)
	case j == nil:
		c.batch.done(r.Seq)
	case c.asks.open[r.Job] != nil:
		c.inbox.again(r.Seq) // read again, when the one before it is done
	case j.spreads():
		c.askSpread(j, r)
	case r.Kind == federation.RequestUpdate && c.refuseTasks(j, r):
		c.batch.done(r.Seq)
	default:
		c.askOne(j, r)
	}
}

// askSpread passes a request about an array whose tasks are bound one by one on to those tasks. What sites have a
// word in becomes a request of its own, written as the array's is done.
func (c *requests) askSpread(j *job, r federation.Request) {
	whole := r
	if r.Kind == federation.RequestUpdate {
		if r.Change = c.changeLimit(j, r.Change); len(r.Change) == 0 && r.Tasks.Len() > 0 {
			c.batch.done(r.Seq)
			return
		}
	}
	rest := func() {
		if r.Kind != federation.RequestUpdate {
			return
		}
		if spec, err := federation.ChangedSpec(&j.Job, whole.Change, r.At); err == nil {
			c.changeHere(j, spec)
		}
		j.asWaiting(func() { c.changePriority(j, whole) })
	}
	c.doneIf(c.tasks.each(j, &r, rest, func(p *job) {
		one := r
		one.Job, one.Tasks, one.Seq, one.Restarts = p.ID, federation.TaskSet{}, 0, p.Restarts
		switch {
		case len(one.Change) == 0 && r.Kind == federation.RequestUpdate:
		case p.live() || c.asks.open[p.ID] != nil: // of an attempt that has just ended, one before this is still to be done
			c.batch.request(one)
		default:
			c.askOne(p, one)
		}
	}), r.Seq)
}

func (c *requests) askOne(j *job, r federation.Request) {
	switch {
	case r.Kind == federation.RequestMove:
		c.moves.ask(j, r)
	case r.Kind == federation.RequestUpdate:
		c.update(j, r)
	case suspends(r):
		c.suspendAsked(j, r)
	default:
		c.requeueAsked(j, r)
	}
	if c.asks.open[j.ID] != nil {
		c.repairAsked()
	}
}

// takeAnswered takes in what a site said.
func (c *requests) takeAnswered(s *site, r answered) {
	a := c.asks.open[r.job]
	j := c.jobs.Of(r.job)
	if a == nil || a.Seq != r.seq || j == nil {
		return
	}
	a.calling = false
	switch {
	case errors.Is(r.err, federation.ErrUnavailable):
		a.at = c.now().Add(c.t.CancelEach)
	case a.stop: // a poll tells whether it has ended
		if r.err != nil && a.takesUnstarted() {
			c.asks.refuse(j, a, r.err)
		}
	case a.Kind == federation.RequestUpdate:
		c.updated(j, a, r.err)
	case suspends(a.Request):
		c.suspendedThere(s, j, a, r.err)
	default:
		c.requeuedThere(s, j, a, r.err)
	}
}

// repairAsked goes on with the requests that wait.
func (c *requests) repairAsked() {
	now := c.now()
	for _, id := range slices.Sorted(maps.Keys(c.asks.open)) {
		a, j := c.asks.open[id], c.jobs.Of(id)
		switch {
		case j == nil || j.Cancel:
			c.asks.answer(a)
		case !j.live(): // it went back to the queue by itself
			if a.spec != nil {
				c.changeHere(j, *a.spec)
			}
			if a.Kind == federation.RequestMove {
				c.moves.place(j, a.Move, a.Move.From)
			}
			c.asks.answer(a)
		case a.Kind == federation.RequestMove && j.inFlight():
		case a.hold:
			if j.State == federation.Pending {
				c.asks.answer(a)
				c.hold(j, a.Request, nil)
			}
		case a.Kind != federation.RequestUpdate && a.Kind != federation.RequestMove && j.Restarts > a.Restarts:
			c.asks.answer(a)
		case !a.calling && !now.Before(a.at) && c.sites.byName[j.att.Site] != nil && !c.sites.byName[j.att.Site].breaker.open:
			c.asks.site(j, a)
		}
	}
}

// putBack returns a job to the queue after its attempt was stopped for that. Its site is left alone with it for a
// while: it remembers the number, and refuses to take it a second time, until MinJobAge has passed.
func (c *requests) putBack(j *job) {
	a := c.asks.open[j.ID]
	if a.Kind == federation.RequestMove {
		c.moves.putElsewhere(j, a)
		return
	}
	if a.spec != nil {
		c.changeHere(j, *a.spec)
	} else {
		j.Restarts++
		c.batch.eventf(j, "requeued by %s", a.Who())
	}
	if holds(a.Request) {
		j.holdFor(a.Request, nil, c.now())
	}
	j.ExitStatus = 0
	j.avoid(j.att, c.now().Add(c.t.MinJobAge), c.now())
	c.asks.answer(a)
	c.life.requeue(j, federation.ReasonBeginTime)
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
	why := federation.WhyRunBefore
	if madeRoom {
		why = federation.WhyMadeRoom
	}
	j.leaveOut(federation.Rejection{Site: site, Reason: federation.ReasonBeginTime, Why: federation.Because(why, until.UTC().Format(timeOfDay))}, until)
}

// holds reports whether r is to requeue a job and to hold it then.
func holds(r federation.Request) bool {
	return r.Kind == federation.RequestReqHold || r.Kind == federation.RequestSpecial
}

func holdOf(r federation.Request) federation.Hold {
	switch {
	case r.Kind == federation.RequestSpecial:
		return federation.HeldSpecial
	case r.Operator:
		return federation.HeldAdmin
	}
	return federation.HeldUser
}
