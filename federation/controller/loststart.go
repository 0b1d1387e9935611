package controller

import (
	"fmt"

	"fsub/federation"
	"fsub/federation/health"
)

// A controller that was killed hard may still have a job and have forgotten that it had started: it shows it as
// pending and starts it again, without counting that as a requeue. The job may have run to its end meanwhile.

// startLost reports whether a site shows an attempt as pending that it has shown as started. At 22.05 a restart counts already while the run before it comes to its
// end: that start is not lost.
func (rp *reports) startLost(j *job, sj federation.SiteJob) bool {
	return j.whole == nil && !requeueCounted(j.att) && j.att.State == federation.AttemptStarted && sj.Restarts <= j.att.Restarts &&
		!sj.FromAccounting && !sj.State.Started() && !sj.State.Ended() && !sj.Completing
}

// requeueCounted reports whether the run of an attempt that was seen last is one that its site has ended to queue the job again, and has counted as that.
func requeueCounted(a *federation.Attempt) bool {
	n := len(a.Runs)
	return n > 0 && a.Runs[n-1].Started.Equal(a.Started)
}

// queuedAgain reports whether a site has queued a job again that it has not counted a restart of yet.
func (rp *reports) queuedAgain(j *job, sj federation.SiteJob) bool {
	return sj.Completing && j.whole == nil && j.att.State == federation.AttemptStarted && sj.Restarts <= j.att.Restarts
}

// begun notes that a job has started of which a site tells no more yet: if its controller forgets that, it counts.
func (rp *reports) begun(s *site, id federation.JobID) {
	j := rp.jobs.Of(id)
	if j != nil && j.spreads() { // it has the number of the last of its tasks
		j = j.lastTask()
	}
	if j != nil && j.live() && j.att.Site == s.Name && j.att.State == federation.AttemptSubmitted && !j.att.Acked.IsZero() && !j.busy {
		rp.batch.advance(j, federation.AttemptStarted)
	}
}

// loseStart follows the requeue rules for such an attempt. One that may run again does so where it is.
func (rp *reports) loseStart(s *site, j *job, sj federation.SiteJob) {
	if sj.State == federation.Pending {
		rp.batch.eventf(j, "the controller of %s lost the start: it shows the job as pending again", s.Name)
		if rp.life.mayRunAgain(j) {
			j.Restarts++
			rp.charges.lost(j)
			rp.batch.advance(j, federation.AttemptSubmitted)
			rp.report(s, j, sj)
			return
		}
	}
	j.att.Class, j.att.Code = federation.ClassSite, health.CodeForgotten
	rp.life.finishAttempt(j, federation.AttemptForgotten, fmt.Sprintf("the controller of %s lost the start of the job", s.Name))
	rp.life.siteFailure(j, federation.NodeFail, federation.ReasonForgotten)
	rp.orphans.check(s, sj) // at best before it starts again
}

// startedAgain reports whether a site shows an attempt as started later than it has shown it before, and no
// requeue between. The time at which a job starts moves also when its nodes are ready: after CONFIGURING it says
// nothing.
func startedAgain(j *job, sj federation.SiteJob) bool {
	a := j.att
	return j.whole == nil && a.State == federation.AttemptStarted && !a.Started.IsZero() && sj.Start.After(a.Started) && !requeueCounted(a) &&
		j.State.Started() && j.State != federation.Configuring && sj.Restarts <= a.Restarts && !sj.FromAccounting
}

// noteHeld sees whether the site holds a job that nobody holds here, because a node could not start it: its prolog has failed, or it
// remembers a job of which its controller has lost the start. The controller has requeued it then, and holds it. That is a failure of the node:
// the job is released, and sent elsewhere when it fails there again, within the bound of requeues. Beyond that it stays as it is, and so does
// what was not requeued, or is held by an operator of the site.
func (rp *reports) noteHeld(s *site, j *job, sj federation.SiteJob) {
	held := sj.State == federation.Pending && j.Held == federation.NotHeld && j.att.Restarts > 0 &&
		(sj.Reason == federation.ReasonHeldUser || sj.Reason == federation.ReasonLaunchHeld)
	switch failed := sj.Reason == federation.ReasonLaunchHeld; {
	case !held || j.heldThere || rp.moves.moving(j):
	case j.Restarts > rp.maxRequeue:
		held = false
		if failed && !j.leftHeld {
			rp.batch.eventf(j, "left held: its nodes at %s could not start it, and it was requeued %d times", s.Name, j.Restarts)
		}
		j.leftHeld = true
	case failed && j.att.Restarts > 1 && rp.moves.elsewhere(j) != "":
		j.att.Class = federation.ClassNode
		rp.moves.start(j, "its nodes there could not start it")
	default:
		j.releaseAt = rp.now()
		if failed {
			rp.batch.eventf(j, "a node of %s could not start it: released there, to run on another one", s.Name)
		} else {
			rp.batch.eventf(j, "%s holds it after the requeue: released", s.Name)
		}
	}
	j.heldThere = held && !rp.moves.moving(j)
}
