package federation

import (
	"fmt"
	"slices"
)

// State is a job's state in Slurm's words, and no others: programs fail on a state name that they do not know.
type State string

const (
	Pending     State = "PENDING"
	Configuring State = "CONFIGURING"
	Running     State = "RUNNING"
	Suspended   State = "SUSPENDED"
	Completing  State = "COMPLETING"
	Completed   State = "COMPLETED"
	Cancelled   State = "CANCELLED"
	Failed      State = "FAILED"
	Timeout     State = "TIMEOUT"
	NodeFail    State = "NODE_FAIL"
	Preempted   State = "PREEMPTED"
	BootFail    State = "BOOT_FAIL"
	Deadline    State = "DEADLINE"
	OutOfMemory State = "OUT_OF_MEMORY"
	Requeued    State = "REQUEUED" // of a run before a job's last one, never of a job
)

// Ended reports whether s is final: nothing of the job runs any more and nothing will.
func (s State) Ended() bool { return slices.Contains(EndStates, s) }

// EndStates are the states that are final.
var EndStates = []State{Completed, Cancelled, Failed, Timeout, NodeFail, Preempted, BootFail, Deadline, OutOfMemory, Requeued}

// Started reports whether a job in state s holds, or has held, nodes now: it runs, is suspended or is ending.
func (s State) Started() bool {
	switch s {
	case Configuring, Running, Suspended, Completing:
		return true
	}
	return false
}

// AttemptState is how far one submission to one site has come.
//
//	Intended --> Submitted --> Started --> Ended
//	   |             |            |
//	   +-> Refused   +-> Ended    +-> Forgotten
//	   +-> Withdrawn +-> Forgotten, Withdrawn
//
// Intended: the decision is durable; the site may or may not have the job. Submitted: the site has acknowledged it.
// Started: the site says that it has run or runs. The other four are final: Ended (the site says so), Refused (the site
// never took it), Withdrawn (proven never to have reached the site, or given back by it unstarted), Forgotten (the site took it and lost it).
type AttemptState string

const (
	AttemptIntended  AttemptState = "INTENDED"
	AttemptSubmitted AttemptState = "SUBMITTED"
	AttemptStarted   AttemptState = "STARTED"
	AttemptEnded     AttemptState = "ENDED"
	AttemptRefused   AttemptState = "REFUSED"
	AttemptWithdrawn AttemptState = "WITHDRAWN"
	AttemptForgotten AttemptState = "FORGOTTEN"
)

// Final reports whether the attempt is over: nothing of it lives at the site.
func (s AttemptState) Final() bool {
	switch s {
	case AttemptEnded, AttemptRefused, AttemptWithdrawn, AttemptForgotten:
		return true
	}
	return false
}

var attemptMoves = map[AttemptState][]AttemptState{
	AttemptIntended:  {AttemptSubmitted, AttemptStarted, AttemptEnded, AttemptRefused, AttemptWithdrawn, AttemptForgotten},
	AttemptSubmitted: {AttemptStarted, AttemptEnded, AttemptForgotten, AttemptWithdrawn},
	// A site may requeue a job by itself: Started goes back to Submitted, under the same ID.
	AttemptStarted: {AttemptSubmitted, AttemptEnded, AttemptForgotten},
}

// Move changes a's state or reports that the change is not allowed; moving to the same state is.
func (a *Attempt) Move(to AttemptState) error {
	if a.State == to {
		return nil
	}
	for _, s := range attemptMoves[a.State] {
		if s == to {
			a.State = to
			return nil
		}
	}
	return fmt.Errorf("job %d attempt %d: no way from %s to %s", a.Job, a.Number, a.State, to)
}
