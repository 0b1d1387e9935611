package lifecycle

import (
	"fmt"

	"fsub/federation"
)

// End is the end of an attempt, as its site says.
type End struct {
	State    federation.State
	Class    federation.FailureClass // whose failure it was
	TakeBack bool                    // it was asked for so that the job goes back to the queue
	Cancel   bool                    // the job is to be cancelled
	Victim   bool                    // of a cancelled job: it had to make room, and no user cancelled it
}

// Next is what becomes of a job.
type Next int

const (
	Over    Next = iota // it has ended
	PutBack             // it goes back to the queue, as was asked for
	Failed              // the failure was not its own: the requeue rules decide
	Again               // it goes back to the queue by these rules
)

// Outcome is what becomes of a job, and why.
type Outcome struct {
	Next    Next
	State   federation.State // of a job that is over, or that has failed
	Outside bool             // it was cancelled at its site, not through the federation
	Own     bool             // of a job that is over: the end was its own
	Why     string           // what its history is to say; "": nothing
}

// Outcome says what follows from the end of an attempt.
func (e End) Outcome() Outcome {
	switch {
	case e.TakeBack:
		return Outcome{Next: PutBack}
	case e.Cancel && e.State != federation.Completed && e.Victim:
		return Outcome{State: federation.Preempted}
	case e.Cancel && e.State != federation.Completed:
		return Outcome{State: federation.Cancelled}
	case e.State == federation.Cancelled:
		return Outcome{State: e.State, Outside: true}
	case e.Class == federation.ClassNode, e.Class == federation.ClassSite, e.Class == federation.ClassPreempt:
		return Outcome{Next: Failed, State: e.State}
	}
	return Outcome{State: e.State, Own: true}
}

// Rules say how often a job is requeued after failures that are not its own.
type Rules struct {
	MaxRequeue int // negative: never
}

// MayRequeue reports whether a job may be started again at all.
func MayRequeue(j *federation.Job) bool { return j.Spec.Requeue == nil || *j.Spec.Requeue }

// MayRunAgain reports whether a job may be started again after another failure.
func (r Rules) MayRunAgain(j *federation.Job) bool {
	return !j.Cancel && MayRequeue(j) && j.Restarts < r.MaxRequeue
}

// AfterFailure says what becomes of a job after a failure that is not its own: again if it may be requeued, else it ends as state. Earlier returns the job's
// attempts; it is called only where they matter, and if it fails the job has failed too often.
func (r Rules) AfterFailure(j *federation.Job, state federation.State, earlier func() ([]federation.Attempt, error)) Outcome {
	switch {
	case j.Cancel:
		return Outcome{State: federation.Cancelled}
	case !MayRequeue(j):
		return Outcome{State: state, Why: "not requeued: --no-requeue"}
	case state != federation.Preempted && r.tooOften(j, earlier):
		why := "not requeued: max_requeue is 0"
		if r.MaxRequeue > 0 {
			why = fmt.Sprintf("not requeued: it has failed so %d times already", r.MaxRequeue)
		}
		return Outcome{State: state, Why: why}
	}
	return Outcome{Next: Again, Why: "requeued"}
}

// tooOften reports whether a job has used up its requeues after failures of nodes and sites. Preemptions are no failures, nor is what users requeue.
func (r Rules) tooOften(j *federation.Job, earlier func() ([]federation.Attempt, error)) bool {
	if j.Restarts < r.MaxRequeue {
		return false
	}
	attempts, err := earlier()
	if err != nil {
		return true
	}
	failed := 0
	for i := range attempts {
		a := &attempts[i]
		if a.Number != j.Attempt && (a.Class == federation.ClassNode || a.Class == federation.ClassSite) {
			failed++
		}
	}
	return failed >= r.MaxRequeue
}

// ClassOf is whose failure an end is by its state alone.
func ClassOf(s federation.State) federation.FailureClass {
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
