// Package action is what users ask to be done with jobs that there are: a [Request] is about one job and waits in the store until the controller has
// carried it out, an [Operation] is about many jobs and gives each of them a request. Both are stored.
package action

import (
	"context"
	"fmt"
	"time"

	"fsub/federation"
	"fsub/federation/audit"
	"fsub/sbatch"
)

// Kind is what a user may ask of an existing job.
type Kind string

const (
	Cancel  Kind = "cancel"
	Signal  Kind = "signal"
	Hold    Kind = "hold"
	Release Kind = "release"
	Requeue Kind = "requeue" // stop it where it runs, or take up again what has ended, under the same ID
	ReqHold Kind = "requeuehold"
	Special Kind = "requeuespecial" // requeuehold, and it waits in state SPECIAL_EXIT
	Update  Kind = "update"
	Top     Kind = "top" // before the other jobs of its user
	Suspend Kind = "suspend"
	Resume  Kind = "resume"
	Move    Kind = "move" // to another site, as Request.Move says
)

// Done is the word for a job to which k was done.
func (k Kind) Done() string {
	switch k {
	case Hold:
		return "held"
	case Cancel:
		return "cancelled"
	case ReqHold, Special:
		return "requeued"
	case Signal:
		return "signalled"
	case Top:
		return "moved to the top"
	case Suspend:
		return "suspended"
	}
	return string(k) + "d" // released, requeued, updated, resumed, moved
}

// Request is a durable wish of a user, already checked against that user's rights.
type Request struct {
	Seq      int64
	Job      federation.JobID
	Tasks    federation.TaskSet // empty: the whole job
	Kind     Kind
	UID      uint32
	User     string            // the name of UID when it asked; "": the daemon asks
	Operator bool              // the caller acted as operator: a hold is JobHeldAdmin
	Signal   federation.Signal // for Signal
	Change   []sbatch.Change   // for Update
	Move     *Relocation       // for Move
	Restarts int               // what Job.Restarts was: once it is more, a request to requeue, suspend or resume is done
	At       time.Time
}

// Who is who asks, by name.
func (r *Request) Who() string {
	switch {
	case r.User != "":
		return r.User
	case r.UID == 0 && r.Operator:
		return "the daemon"
	}
	return fmt.Sprintf("uid %d", r.UID) // it was asked of an earlier version
}

// Relocation says where a job is to go, under the ID that it has. One that waits in the federation's queue is placed accordingly. One that waits at
// a site is held and cancelled there, and placed anew once the site has shown its end without a start: there are never two copies of it.
type Relocation struct {
	From federation.SiteName   `json:"from,omitempty"` // the site that it is to leave: a job that is not there any more stays where it is. "": wherever it is
	To   []federation.SiteName `json:"to,omitempty"`   // one of these sites; none: any but the one that it leaves
	// Running: a job that runs is moved, too, by a requeue. Otherwise ErrConflict: it has started.
	Running bool `json:"running,omitempty"`
	// Now: a job that runs is cancelled at once. Otherwise one with --signal gets that first, and as much time as it asks for before its time limit.
	Now bool `json:"now,omitempty"`
	// Stay: it may go on at From, on other nodes, when that has forgotten its run.
	Stay bool `json:"stay,omitempty"`
	// For is the gang that gets its nodes: while the site has not been told yet, the job stays if that does not wait for them any more. 0: it leaves in any case.
	For federation.JobID `json:"for,omitempty"`
	Why string           `json:"why,omitempty"` // for the job's history
}

// Store keeps requests until a journal.Batch says that they are done.
type Store interface {
	// AddRequest records what a user asked to be done with a job, for the controller to carry out, and returns its number. With it goes what
	// the audit log is to say of it.
	AddRequest(ctx context.Context, r Request, audit ...audit.Entry) (int64, error)
	// Requests returns the requests that are not done yet and whose numbers are greater than after, oldest first.
	Requests(ctx context.Context, after int64) ([]Request, error)
}
