package controller

import (
	"strconv"
	"time"

	"fsub/federation"
	"fsub/federation/action"
	"fsub/federation/codes"
	"fsub/federation/decision"
	"fsub/federation/health"
	"fsub/federation/lifecycle"
	"fsub/federation/predict"
	"fsub/federation/reasons"
)

// reports bring jobs and attempts in line with what sites say of them.
type reports struct {
	now        func() time.Time
	t          Timing
	jobs       *jobTable
	batch      *pendingBatch
	agenda     *agenda
	calls      *calls
	limits     *limits
	preempts   *preempts
	queue      *queue
	depends    *dependencies
	components *components
	charges    *charges
	life       *life
	requests   *requests
	moves      *moves
	stageOut   *stageOut
	orphans    *orphans
	rules      *healthRules
	metrics    *metrics
}

func (rp *reports) takeReport(s *site, sj federation.SiteJob) {
	j := rp.jobs.Of(sj.ID)
	if j == nil || !j.live() || j.att.Site != s.Name {
		rp.orphans.check(s, sj)
		return
	}
	if k := j.known(s); !k.Is(&sj) {
		rp.orphans.check(s, sj)
		return
	}
	if j.busy && j.unsure { // a look-up is under way: it decides
		return
	}
	rp.report(s, j, sj)
}

// report brings job and attempt in line with what the site says.
func (rp *reports) report(s *site, j *job, sj federation.SiteJob) {
	if j.pack != nil {
		rp.reportPack(s, j, &sj)
		return
	}
	j.try().seen(rp.now())
	rp.limits.charged(j.att.Held.Account, j, &sj)
	k := j.known(s)
	meaning := k.Read(&sj)
	if meaning == lifecycle.GivenBack {
		rp.returned(s, j, sj)
		return
	}
	for _, component := range sj.Components { // before their leader, with which they end
		rp.reportComponent(s, j, component)
	}
	if meaning == lifecycle.QueuedAgain { // it is reported again when its nodes are done, and its restart is counted
		return
	}
	j.try().lostStart = meaning == lifecycle.StartLost
	switch meaning {
	case lifecycle.StartLost: // the report may be from before it started: look again
		return
	case lifecycle.StartedAgain:
		if !rp.startedAgain(s, j, sj) {
			return
		}
	}
	rp.learn(s, j, &sj)
	switch {
	case sj.State.Ended():
		rp.endedAtSite(s, j, sj)
		return
	case sj.State.Started():
		rp.runs(s, j, &sj)
	default:
		rp.waits(j, &sj)
	}
	rp.noteHeld(s, j, sj)
	rp.batch.job(j)
	rp.batch.attempt(j.att)
}

// reportComponent takes in what the site says of a component of a job.
func (rp *reports) reportComponent(s *site, leader *job, sj federation.SiteJob) {
	if k := rp.jobs.Of(sj.ID); k != nil && k.leader == leader && rp.components.report(s, k, sj) {
		rp.life.end(k, sj.State, sj.Reason, sj.End)
	}
}

// startedAgain takes in that a site has started a job twice. It reports whether the second run goes on.
func (rp *reports) startedAgain(s *site, j *job, sj federation.SiteJob) bool {
	rp.batch.eventf(j, "the controller of %s lost the start at %s: it has started the job again", s.Name, j.att.Started.UTC().Format(timeOfDay))
	j.Restarts++
	if !sj.State.Ended() && !rp.life.rules.MayRunAgain(&j.Job) {
		rp.loseStart(s, j, sj)
		return false
	}
	rp.charges.lost(j)
	return true
}

// learn takes over what a report tells of an attempt, whatever its state.
func (rp *reports) learn(s *site, j *job, sj *federation.SiteJob) {
	a := j.att
	if a.Acked.IsZero() {
		a.Acked = rp.now().UTC()
		rp.batch.eventf(j, "found at %s", s.Name)
	}
	if a.SiteSubmit.IsZero() {
		a.SiteSubmit = sj.Submit
	}
	if sj.SiteJobID != 0 {
		a.SiteJobID = sj.SiteJobID
	}
	rp.takeLosses(j, sj)
	rp.takeShrunk(s, j, sj)
	rp.takeRestarts(s, j, sj)
	if sj.State == federation.Completing && j.whole == nil && lifecycle.RequeueCounted(a) {
		sj.Start = a.Started // 22.05 shows here when it expects the next run to start
	}
	a.Nodes = sj.Nodes
	if !sj.Start.IsZero() {
		a.Held = sj.Held()
	}
	rp.takeTasks(j, *sj)
	rp.stageOut.requeued(j, *sj)
	j.Account, j.Nodes = sj.Account, sj.Nodes
	if sj.Partition != "" {
		j.Partition = sj.Partition
	}
}

// runs takes in that a job runs.
func (rp *reports) runs(s *site, j *job, sj *federation.SiteJob) {
	j.att.Started, j.Start = sj.Start, sj.Start
	began := j.State == federation.Pending
	rp.life.takeSuspension(s, j, sj)
	j.State, j.Reason = sj.State, j.heldReason()
	rp.batch.advance(j, federation.AttemptStarted)
	if began {
		rp.startsFirst(j, j.att)
		rp.agenda.plan = true // what is bound and waits there has become less
		rp.depends.changed(j)
		if j.array != nil {
			rp.life.taskChanged(j)
		}
	}
}

// startsFirst takes in that an attempt has started, if it has.
func (rp *reports) startsFirst(j *job, a *federation.Attempt) {
	rp.metrics.waits.started(&j.Job, a)
	if a.Started.IsZero() {
		return
	}
	if held := rp.queue.told.Started(j.ID, a.Started); held != nil {
		rp.batch.waits([]predict.PastWait{*held})
	}
}

// waits takes in that a job waits at its site.
func (rp *reports) waits(j *job, sj *federation.SiteJob) {
	if j.State.Started() && j.Held != federation.NotHeld { // held while it ran
		rp.calls.act(j, "hold", federation.Driver.Hold)
	}
	j.State, j.Reason, j.Start, j.Pause = federation.Pending, sj.Reason, time.Time{}, nil
	if j.Held != federation.NotHeld { // the site says who holds it there, which is the federation
		j.Reason = j.heldReason()
	}
	j.try().said = sj.Detail
	rp.batch.advance(j, federation.AttemptSubmitted)
}

// endedAtSite ends the attempt as the site says, and the job with it unless the failure was not its own.
func (rp *reports) endedAtSite(s *site, j *job, sj federation.SiteJob) {
	waits, lost := rp.stageOut.begin(s, j, sj)
	if waits {
		return
	}
	a, victim := j.att, j.isVictim()
	if rp.requests.asks.open[j.ID] == nil {
		sj.State = rp.preempts.endedAs(j, sj.State)
	}
	a.Final, a.ExitStatus, a.Started, a.Ended = sj.State, sj.ExitStatus, sj.Start, sj.End
	verdict, said := rp.rules.attemptEnded(s, j, &sj)
	a.Class, a.Code = verdict.Class, verdict.Code
	back, booked := rp.requests.asks.takesBack(j, &sj), sj
	if back { // what was done is to be done again, though the site takes it for cancelled
		booked.State = federation.Requeued
		if victim {
			a.Class, a.Code = federation.ClassPreempt, health.CodePreempted
		}
	}
	if j.State == federation.Pending { // it was not seen to run
		rp.startsFirst(j, a)
	}
	rp.charges.ended(s, j, booked)
	j.Start, j.ExitStatus = sj.Start, sj.ExitStatus
	j.SetSuspension(sj.Suspension)
	if !back {
		s.pace.ended(rp.now(), a.Ended.Sub(a.Started))
	}
	rp.life.finishAttempt(j, federation.AttemptEnded, sj.Detail)
	if sj.Detail != "" {
		rp.batch.eventf(j, "%s says: %s", s.Name, sj.Detail)
	}
	end := lifecycle.End{State: sj.State, Class: a.Class, TakeBack: back, Cancel: j.Cancel, Victim: victim && j.CancelBy == 0}
	out := end.Outcome()
	if lost && out.Own && j.whole == nil && j.Component == nil && len(j.Spec.Het) == 0 {
		if s.remembersIDs() {
			j.avoid(j.att, rp.now().Add(rp.t.MinJobAge), rp.now())
		}
		j.ExitStatus = 0
		rp.life.requeue(j, reasons.BeginTime)
		rp.life.holdDamaged(j)
		return
	}
	switch out.Next {
	case lifecycle.PutBack:
		rp.requests.putBack(j)
	case lifecycle.Failed:
		rp.batch.eventf(j, "%s at %s%s", sj.State, s.Name, whoseFailure(verdict))
		rp.avoidAfter(s, j, sj.State)
		rp.life.siteFailure(j, sj.State, sj.Reason)
		rp.holdBy(j, said)
	default:
		if out.Outside {
			rp.batch.eventf(j, "cancelled at %s, not through the federation", s.Name)
		} else if out.Own && verdict.Why != "" {
			rp.batch.eventf(j, "%s", verdict.Why)
		}
		if out.Own && rp.life.retry(j, out.State) {
			return
		}
		rp.life.end(j, out.State, sj.Reason, sj.End)
	}
}

// avoidAfter keeps a job, after a failure that was not its own, from where it would only fail again.
func (rp *reports) avoidAfter(s *site, j *job, state federation.State) {
	if state == federation.Failed && s.remembersIDs() {
		j.avoid(j.att, rp.now().Add(rp.t.MinJobAge), rp.now())
	}
	if j.att.Class == federation.ClassPreempt {
		j.leaveZone(rp.now())
		j.keepOne(rp.moves.judge(j))
	}
}

// whoseFailure says why a failure is not the job's own, where its state does not tell.
func whoseFailure(v health.Verdict) string {
	if v.Code == health.CodeNodeFail || v.Code == health.CodePreempted {
		return ""
	}
	text := ": " + health.What(v.Code)
	if v.Why != "" {
		text += " (" + v.Why + ")"
	}
	return text
}

// holdBy holds a job that waits again and should not run again, as a rule says. Its user may release one that nodes refuse; of one that takes nodes down
// operators decide.
func (rp *reports) holdBy(j *job, said *health.Finding) {
	if said == nil || said.Act != health.ActHold || j.State != federation.Pending {
		return
	}
	rp.batch.eventf(j, "held by rule %s: %s", said.Rule, said.Why)
	rp.requests.hold(j, action.Request{Job: j.ID, Kind: action.Hold, Operator: said.Rule != "poison"}, codes.Because(codes.WaitRule, said.Rule, said.Why))
}

// returned takes back a job that its site could not start after all. It counts as no attempt, and the site is
// asked again when it has been seen again: what it lacks shows in its nodes.
func (rp *reports) returned(s *site, j *job, sj federation.SiteJob) {
	why := string(sj.Reason)
	if sj.Detail != "" {
		why += ": " + sj.Detail
	}
	rp.takeLosses(j, &sj)
	rp.takeRestarts(s, j, &sj) // it may have run there before
	j.att.Class, j.att.Code = federation.ClassCapacity, health.CodeCapacity
	rp.life.finishAttempt(j, federation.AttemptWithdrawn, "given back: "+why)
	rp.batch.eventf(j, "%s gave it back: %s", s.Name, why)
	j.leaveGivenBack(decision.Rejection{Site: s.Name, Reason: sj.Reason, Detail: sj.Detail}, rp.now().Add(rp.t.Observe/5))
	s.nextObserve = rp.now()
	rp.life.backToQueue(j, sj.Reason)
}

// takeRestarts takes in that a site has queued a job again.
func (rp *reports) takeRestarts(s *site, j *job, sj *federation.SiteJob) {
	a := j.att
	before := a.Runs
	a.Runs = lifecycle.Runs(a, sj, rp.now())
	held := a.Held
	if held.TRES == "" {
		held = sj.Held()
	}
	rp.charges.requeued(s, j, before, held)
	if sj.Restarts > a.Restarts {
		j.Restarts += sj.Restarts - a.Restarts
		a.Restarts = sj.Restarts
		if j.isVictim() {
			a.Class, a.Code = federation.ClassNone, ""
		}
		rp.batch.eventf(j, "requeued by %s", s.Name)
		if rp.requests.asks.open[j.ID] == nil && j.whole == nil {
			rp.failedThere(s, j, sj)
		}
	}
}

// failedThere looks whether a site has queued a job again because its nodes failed. slurmctld does so without end; here it is bounded, as it is for jobs
// that are queued again here.
func (rp *reports) failedThere(s *site, j *job, sj *federation.SiteJob) {
	said, failed := rp.rules.requeuedThere(s, j, j.att.Nodes, sj.Reason == reasons.HeldUser)
	if !failed || sj.State != federation.Pending {
		return
	}
	j.State = federation.Pending
	rp.holdBy(j, said)
	if j.Held == federation.NotHeld && j.Restarts > rp.life.rules.MaxRequeue {
		rp.batch.eventf(j, "held: nodes have failed it %d times", j.Restarts)
		rp.requests.hold(j, action.Request{Job: j.ID, Kind: action.Hold, Operator: true}, codes.Because(codes.WaitFailures, strconv.Itoa(j.Restarts)))
	}
}

// late takes in a second copy of an attempt that the site's driver has cancelled.
func (rp *reports) late(s *site, sj federation.SiteJob) { rp.orphans.ended(s, rp.jobs.Of(sj.ID), sj) }

// findMissing finds attempts that the site has acknowledged and that its controller does not hold any more.
func (rp *reports) findMissing(s *site, r federation.JobsReport) {
	for _, j := range s.jobs {
		switch {
		case r.Knows(j.ID, j.att.Key), r.Knows(j.Number(), j.att.Key): // the second, until its details are read
			try := j.try()
			try.lastKnown, try.missing = rp.now(), time.Time{}
		case j.att.State != federation.AttemptIntended && j.missing.IsZero() && r.At.After(j.att.Acked):
			j.try().missing = rp.now()
			j.try().retry = time.Time{}
		}
	}
}
