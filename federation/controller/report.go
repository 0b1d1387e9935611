package controller

import (
	"slices"
	"strconv"
	"time"

	"fsub/federation"
	"fsub/federation/health"
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
	maxRequeue int
}

func (rp *reports) takeReport(s *site, sj federation.SiteJob) {
	j := rp.jobs.Of(sj.ID)
	if j == nil || !j.live() || j.att.Site != s.Name || !rp.same(j, sj) {
		rp.orphans.check(s, sj)
		return
	}
	if j.busy && j.unsure { // a look-up is under way: it decides
		return
	}
	rp.report(s, j, sj)
}

// same reports whether what the site shows is the job's newest attempt: ID and key, never the ID alone. A record
// without a key (accounting shows it late) is told from older ones of the same ID by its time of submission.
func (rp *reports) same(j *job, sj federation.SiteJob) bool {
	a := j.att
	if sj.Key != "" {
		return sj.Key == a.Key
	}
	if sj.Submit.IsZero() {
		return true
	}
	if !a.SiteSubmit.IsZero() && sj.Restarts == 0 {
		return sj.Submit.Equal(a.SiteSubmit)
	}
	if slices.ContainsFunc(j.older, sj.Submit.Equal) {
		return false
	}
	const skew = 2 * time.Minute // of the site's clock against ours
	return sj.Submit.After(a.Created.Add(-skew))
}

// report brings job and attempt in line with what the site says.
func (rp *reports) report(s *site, j *job, sj federation.SiteJob) {
	a := j.att
	j.unsure, j.missing, j.fails, j.lastKnown = false, time.Time{}, 0, rp.now()
	rp.limits.charged(a.Held.Account, j, &sj)
	if sj.Returned {
		rp.returned(s, j, sj)
		return
	}
	for _, component := range sj.Components { // before their leader, with which they end
		if k := rp.jobs.Of(component.ID); k != nil && k.leader == j {
			if rp.components.report(s, k, component) {
				rp.life.end(k, component.State, component.Reason, component.End)
			}
		}
	}
	if rp.queuedAgain(j, sj) { // it is told again when its nodes are done, and its restart is counted
		return
	}
	if j.lostStart = rp.startLost(j, sj); j.lostStart { // what was asked before it started may come late: look again
		return
	}
	if startedAgain(j, sj) {
		rp.batch.eventf(j, "the controller of %s lost the start at %s: it has started the job again", s.Name, a.Started.UTC().Format(timeOfDay))
		j.Restarts++
		if !sj.State.Ended() && !rp.life.mayRunAgain(j) {
			rp.loseStart(s, j, sj)
			return
		}
		rp.charges.lost(j)
	}
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
	rp.takeRestarts(s, j, &sj)
	if sj.State == federation.Completing && j.whole == nil && requeueCounted(a) {
		sj.Start = a.Started // 22.05 shows here when it expects the next run to start
	}
	a.Nodes = sj.Nodes
	if !sj.Start.IsZero() {
		a.Held = sj.Held()
	}
	rp.takeTasks(j, sj)
	rp.stageOut.requeued(j, sj)
	j.Account, j.Nodes = sj.Account, sj.Nodes
	if sj.Partition != "" {
		j.Partition = sj.Partition
	}
	switch {
	case sj.State.Ended():
		rp.endedAtSite(s, j, sj)
		return
	case sj.State.Started():
		a.Started, j.Start = sj.Start, sj.Start
		began := j.State == federation.Pending
		rp.life.takeSuspension(s, j, &sj)
		j.State, j.Reason = sj.State, j.heldReason()
		rp.batch.advance(j, federation.AttemptStarted)
		if began {
			rp.agenda.plan = true // what is bound and waits there has become less
			rp.depends.changed(j)
			if j.array != nil {
				rp.life.taskChanged(j)
			}
		}
	default:
		if j.State.Started() && j.Held != federation.NotHeld { // held while it ran
			rp.calls.act(j, "hold", federation.Driver.Hold)
		}
		j.State, j.Reason, j.Start, j.Pause = federation.Pending, sj.Reason, time.Time{}, nil
		if j.Held != federation.NotHeld { // the site says who holds it there, which is the federation
			j.Reason = j.heldReason()
		}
		j.said = sj.Detail
		rp.batch.advance(j, federation.AttemptSubmitted)
	}
	rp.noteHeld(s, j, sj)
	rp.batch.job(j)
	rp.batch.attempt(a)
}

// endedAtSite ends the attempt as the site says, and the job with it unless the failure was not its own.
func (rp *reports) endedAtSite(s *site, j *job, sj federation.SiteJob) {
	if rp.stageOut.begin(s, j, sj) {
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
	switch {
	case back:
		rp.requests.putBack(j)
	case j.Cancel && sj.State != federation.Completed && victim && j.CancelBy == 0:
		rp.life.end(j, federation.Preempted, sj.Reason, sj.End)
	case j.Cancel && sj.State != federation.Completed:
		rp.life.end(j, federation.Cancelled, sj.Reason, sj.End)
	case sj.State == federation.Cancelled:
		rp.batch.eventf(j, "cancelled at %s, not through the federation", s.Name)
		rp.life.end(j, sj.State, sj.Reason, sj.End)
	case a.Class == federation.ClassNode || a.Class == federation.ClassSite || a.Class == federation.ClassPreempt:
		rp.batch.eventf(j, "%s at %s%s", sj.State, s.Name, whoseFailure(verdict))
		if sj.State == federation.Failed && s.Seen != nil && s.Seen.Mode == federation.Pinned && !s.Seen.NoSlurm { // which remembers the job of this ID, and takes no other
			j.avoid(a, rp.now().Add(rp.t.MinJobAge), rp.now())
		}
		if a.Class == federation.ClassPreempt {
			j.leaveZone(rp.now())
			j.keepOne(rp.moves.judge(j))
		}
		rp.life.siteFailure(j, sj.State, sj.Reason)
		rp.holdBy(j, said)
	default:
		if verdict.Why != "" {
			rp.batch.eventf(j, "%s", verdict.Why)
		}
		rp.life.end(j, sj.State, sj.Reason, sj.End)
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
	rp.requests.hold(j, federation.Request{Job: j.ID, Kind: federation.RequestHold, Operator: said.Rule != "poison"}, federation.Because(federation.WaitRule, said.Rule, said.Why))
}

func failureClass(s federation.State) federation.FailureClass {
	switch s {
	case federation.NodeFail, federation.BootFail:
		return federation.ClassNode
	case federation.Preempted:
		return federation.ClassPreempt
	case federation.Completed, federation.Cancelled:
		return federation.ClassNone
	}
	return federation.ClassUser
}

// returned takes back a job that its site could not start after all. It counts as no attempt, and the site is
// asked again when it has been seen anew: what it lacks shows in its nodes.
func (rp *reports) returned(s *site, j *job, sj federation.SiteJob) {
	why := string(sj.Reason)
	if sj.Detail != "" {
		why += ": " + sj.Detail
	}
	rp.takeRestarts(s, j, &sj) // it may have run there before
	j.att.Class, j.att.Code = federation.ClassCapacity, health.CodeCapacity
	rp.life.finishAttempt(j, federation.AttemptWithdrawn, "given back: "+why)
	rp.batch.eventf(j, "%s gave it back: %s", s.Name, why)
	j.leaveGivenBack(federation.Rejection{Site: s.Name, Reason: sj.Reason, Detail: sj.Detail}, rp.now().Add(rp.t.Observe/5))
	s.nextObserve = rp.now()
	rp.life.backToQueue(j, sj.Reason)
}

// takeRestarts takes in that a site has queued a job again.
func (rp *reports) takeRestarts(s *site, j *job, sj *federation.SiteJob) {
	a := j.att
	before := a.Runs
	takeRuns(a, sj, rp.now())
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
	said, failed := rp.rules.requeuedThere(s, j, j.att.Nodes, sj.Reason == federation.ReasonHeldUser)
	if !failed || sj.State != federation.Pending {
		return
	}
	j.State = federation.Pending
	rp.holdBy(j, said)
	if j.Held == federation.NotHeld && j.Restarts > rp.maxRequeue {
		rp.batch.eventf(j, "held: nodes have failed it %d times", j.Restarts)
		rp.requests.hold(j, federation.Request{Job: j.ID, Kind: federation.RequestHold, Operator: true}, federation.Because(federation.WaitFailures, strconv.Itoa(j.Restarts)))
	}
}

// takeRuns notes the runs that the site of an attempt has ended to queue the job again: by the site's own word, or
// as the last one was seen to run. A cluster sets the time of submission anew when it requeues a job. Of arrays
// that were handed over whole nothing is noted.
func takeRuns(a *federation.Attempt, sj *federation.SiteJob, now time.Time) {
	switch {
	case len(sj.Earlier) >= max(len(a.Runs), 1):
		a.Runs = slices.Clone(sj.Earlier)
	case sj.Restarts > a.Restarts && !a.Started.IsZero() && len(sj.Tasks) == 0 && sj.PendingTasks == "":
		if n := len(a.Runs); n > 0 && a.Runs[n-1].Started.Equal(a.Started) {
			return
		}
		a.Runs = append(slices.Clip(a.Runs), federation.AttemptRun{State: federation.Requeued, Started: a.Started, Ended: requeuedAt(sj, a.Started, now), Nodes: a.Nodes})
	}
}

// requeuedAt is when a run ended that a site has ended to queue the job again.
func requeuedAt(sj *federation.SiteJob, started, now time.Time) time.Time {
	if sj.Submit.After(started) && sj.Submit.Before(now) {
		return sj.Submit
	}
	return now.UTC()
}

// findMissing finds attempts that the site has acknowledged and that its controller does not hold any more.
func (rp *reports) findMissing(s *site, r federation.JobsReport) {
	for _, j := range s.jobs {
		switch {
		case r.Knows(j.ID, j.att.Key), r.Knows(j.Number(), j.att.Key): // the second, until its details are read
			j.lastKnown, j.missing = rp.now(), time.Time{}
		case j.att.State != federation.AttemptIntended && j.missing.IsZero() && r.At.After(j.att.Acked):
			j.missing = rp.now()
			j.retry = time.Time{}
		}
	}
}
