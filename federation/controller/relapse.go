package controller

import (
	"fmt"

	"fsub/federation"
)

// A controller that was killed hard may still have a job and have forgotten that it had started: it shows it as
// pending and starts it again, without counting that as a requeue. The job may have run to its end meanwhile.

// startLost reports whether a site shows an attempt as pending that it has shown as started.
func (c *reports) startLost(j *job, sj federation.SiteJob) bool {
	return j.whole == nil && j.att.State == federation.AttemptStarted && sj.Restarts <= j.att.Restarts &&
		!sj.FromAccounting && !sj.State.Started() && !sj.State.Ended()
}

// loseStart follows the requeue rules for such an attempt. One that may run again does so where it is.
func (c *reports) loseStart(s *site, j *job, sj federation.SiteJob) {
	if sj.State == federation.Pending {
		c.event(j, "the controller of %s lost the start: it shows the job as pending again", s.Name)
		if c.mayRunAgain(j) {
			j.Restarts++
			c.charges.lost(j)
			c.move(j, federation.AttemptSubmitted)
			c.report(s, j, sj)
			return
		}
	}
	j.att.Class = federation.ClassSite
	c.finishAttempt(j, federation.AttemptForgotten, fmt.Sprintf("the controller of %s lost the start of the job", s.Name))
	c.siteFailure(j, federation.NodeFail, federation.ReasonForgotten)
	c.strays.check(s, sj) // at best before it starts again
}

// startedAgain reports whether a site shows an attempt as started later than it has shown it before, and no
// requeue between. The time at which a job starts moves also when its nodes are ready: after CONFIGURING it says
// nothing.
func startedAgain(j *job, sj federation.SiteJob) bool {
	a := j.att
	return j.whole == nil && a.State == federation.AttemptStarted && !a.Started.IsZero() && sj.Start.After(a.Started) &&
		j.State.Started() && j.State != federation.Configuring && sj.Restarts <= a.Restarts && !sj.FromAccounting
}

// noteHeld sees whether the site holds a job that nobody holds here. A node that remembers a job of which its
// controller has lost the start refuses to start it a second time; the controller then requeues and holds it, and
// the node forgets. The job is released, within the bound of requeues. What was not requeued, or is held by an
// operator of the site, stays so.
func (c *reports) noteHeld(s *site, j *job, sj federation.SiteJob) {
	held := sj.State == federation.Pending && j.Held == federation.NotHeld && j.att.Restarts > 0 && j.Restarts <= c.cfg.MaxRequeue &&
		sj.Reason == federation.ReasonHeldUser
	if held && !j.heldThere {
		j.releaseAt = c.now()
		c.event(j, "%s holds it after the requeue: released", s.Name)
	}
	j.heldThere = held
}
