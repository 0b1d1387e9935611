package controller

import (
	"fmt"

	"fsub/federation"
	"fsub/federation/health"
	"fsub/federation/lifecycle"
	"fsub/federation/reasons"
)

// A controller that was killed hard may still have a job and have forgotten that it had started: it shows it as
// pending and starts it again, without counting that as a requeue. The job may have run to its end meanwhile.

// begun notes that a job has started of which a site tells no more yet: if its controller forgets that, it counts.
func (rp *reports) begun(s *site, id federation.JobID) {
	j := rp.jobs.Of(id)
	if j != nil && j.spreads() { // it has the number of the last of its tasks
		j = j.lastTask()
	}
	if j != nil && j.pack == nil && j.live() && j.att.Site == s.Name && j.att.State == federation.AttemptSubmitted && !j.att.Acked.IsZero() && !j.busy {
		rp.batch.advance(j, federation.AttemptStarted)
	}
}

// loseStart follows the requeue rules for such an attempt. One that may run again does so where it is.
func (rp *reports) loseStart(s *site, j *job, sj federation.SiteJob) {
	if j.pack != nil {
		rp.life.losePack(j, health.CodeForgotten, fmt.Sprintf("the controller of %s lost the start of the job", s.Name))
		return
	}
	if sj.State == federation.Pending {
		rp.batch.eventf(j, "the controller of %s lost the start: it shows the job as pending again", s.Name)
		if rp.life.rules.MayRunAgain(&j.Job) {
			j.Restarts++
			rp.charges.lost(j)
			rp.batch.advance(j, federation.AttemptSubmitted)
			rp.report(s, j, sj)
			return
		}
	}
	j.att.Class, j.att.Code = federation.ClassSite, health.CodeForgotten
	rp.life.finishAttempt(j, federation.AttemptForgotten, fmt.Sprintf("the controller of %s lost the start of the job", s.Name))
	rp.life.siteFailure(j, federation.NodeFail, reasons.Forgotten)
	rp.orphans.check(s, sj) // at best before it starts again
}

// noteHeld sees whether the site holds a job that nobody holds here, and what is to be done about that.
func (rp *reports) noteHeld(s *site, j *job, sj federation.SiteJob) {
	held, moving := lifecycle.HeldBySite(&j.Job, j.att, &sj), rp.moves.moving(j)
	if held && !j.heldThere && !moving {
		failed := sj.Reason == reasons.LaunchHeld
		switch rp.life.rules.AfterHold(&j.Job, j.att, &sj, func() bool { return rp.moves.elsewhere(j) != "" }) {
		case lifecycle.LeaveHeld:
			held = false
			if failed && !j.leftHeld {
				rp.batch.eventf(j, "left held: its nodes at %s could not start it, and it was requeued %d times", s.Name, j.Restarts)
			}
			j.try().leftHeld = true
		case lifecycle.Elsewhere:
			j.att.Class = federation.ClassNode
			rp.moves.start(j, "its nodes there could not start it")
		default:
			j.try().releaseAt = rp.now()
			if failed {
				rp.batch.eventf(j, "a node of %s could not start it: released there, to run on another one", s.Name)
			} else {
				rp.batch.eventf(j, "%s holds it after the requeue: released", s.Name)
			}
		}
	}
	j.try().heldThere = held && !moving
}
