package lifecycle

import (
	"fsub/federation"

	"fsub/federation/reasons"
)

// HoldAction is what is done about a job that its site holds though nobody holds it here.
type HoldAction int

const (
	Release   HoldAction = iota // it is released there
	LeaveHeld                   // it stays as it is: its nodes have failed it too often
	Elsewhere                   // it is sent to another site
)

// HeldBySite reports whether a site holds a job that it has queued again because a node could not start it: its prolog failed, or it remembers a job of which its
// controller has lost the start. What was not queued again is held by an operator of the site.
func HeldBySite(j *federation.Job, a *federation.Attempt, sj *federation.SiteJob) bool {
	return sj.State == federation.Pending && j.Held == federation.NotHeld && a.Restarts > 0 &&
		(sj.Reason == reasons.HeldUser || sj.Reason == reasons.LaunchHeld)
}

// AfterHold says what to do about a job that its site holds, which is a failure of a node. Others reports whether another site could run the job; it is called only
// where that matters.
func (r Rules) AfterHold(j *federation.Job, a *federation.Attempt, sj *federation.SiteJob, others func() bool) HoldAction {
	switch {
	case j.Restarts > r.MaxRequeue:
		return LeaveHeld
	case sj.Reason == reasons.LaunchHeld && a.Restarts > 1 && others():
		return Elsewhere
	}
	return Release
}
