package federation

import (
	"context"
	"fmt"
	"time"

	"fsub/sbatch"
)

// The state of the federation is kept by a store, and each of its users asks for those of the interfaces below that it needs. What a method returned
// without error is durable: it survives kill -9 and loss of power. Methods may be called from several goroutines; concurrent writes share commits.

// JobStore creates and reads jobs. A [Batch] changes them.
type JobStore interface {
	// CreateJob gives the job the next free ID and stores it in state PENDING together with its payload. It fills
	// ID, Rev and, if zero, Submit. It fails with ErrConflict if the range of IDs is used up. The components in Spec.Het become jobs too,
	// with the IDs that follow.
	CreateJob(ctx context.Context, j *Job, p *sbatch.Payload) error

	// ReserveIDs returns n free job IDs that CreateJob gives to nobody until it has gone once through the whole range: for jobs
	// that a Batch creates. It fails with ErrConflict if there are not so many.
	ReserveIDs(ctx context.Context, n int) ([]JobID, error)

	// Job, Payload, Tasks, Attempts and Events read one job; ErrNotFound if there is none of that ID.
	// Attempts are in order of their number, Events and Tasks in order of time and index.
	Job(ctx context.Context, id JobID) (Job, error)
	Payload(ctx context.Context, id JobID) (sbatch.Payload, error)
	Tasks(ctx context.Context, id JobID) ([]Task, error)
	Attempts(ctx context.Context, id JobID) ([]Attempt, error)
	Events(ctx context.Context, id JobID) ([]Event, error)

	// Jobs returns the jobs that match q in order of ID. TasksOf returns the task records of several jobs at once.
	Jobs(ctx context.Context, q JobQuery) ([]Job, error)
	// ListJobs returns the IDs of the jobs that Jobs would return: use it to page through a million jobs.
	ListJobs(ctx context.Context, q JobQuery) ([]ListedJob, error)
	// LiveJobs calls take with all jobs that have not ended, in order of ID, some thousand at a time, while it reads those that follow.
	// There may be a million. It ends with the first error of take.
	LiveJobs(ctx context.Context, take func([]Job) error) error
	TasksOf(ctx context.Context, ids []JobID) (map[JobID][]Task, error)

	// LiveAttempts returns every attempt that is not final.
	LiveAttempts(ctx context.Context) ([]Attempt, error)
}

// RequestStore keeps requests until a [Batch] says that they are done.
type RequestStore interface {
	// AddRequest records what a user asked to be done with a job, for the controller to carry out, and returns its number. With it goes what
	// the audit log is to say of it.
	AddRequest(ctx context.Context, r Request, audit ...AuditEntry) (int64, error)
	// Requests returns the requests that are not done yet and whose numbers are greater than after, oldest first.
	Requests(ctx context.Context, after int64) ([]Request, error)
}

// Committer writes what belongs together.
type Committer interface {
	// Commit writes all of b or nothing.
	Commit(ctx context.Context, b *Batch) error
}

// Follower reads the log of changes.
type Follower interface {
	// Changes returns the commits after a mark in their order, at most limit of them, and the mark to go on from. Nothing can
	// appear at or below that mark any more, and what is read from the store later is at least as new as it. After 0 there
	// are no commits but the newest mark: a follower begins there, then reads what it wants to follow, then asks for
	// what came after. The log keeps a bounded number of changes, for a bounded time. ErrTrimmed: it no longer goes back to
	// that mark, or never came so far (the store was replaced): begin anew.
	Changes(ctx context.Context, after LogMark, limit int) (ChangeLog, error)
}

// JobQuery selects jobs. The zero value selects all; every field that is set narrows the selection.
type JobQuery struct {
	IDs        []JobID // jobs of these IDs, and those that are a part of an array, or a component of a job, of one of them
	Alone      bool    // with IDs: without such parts and components
	User       string
	States     []State
	Live       bool      // only jobs that have not ended
	EndedAfter time.Time // live jobs, and those that ended at or after this time
	Site       SiteName
	Name       string
	AfterID    JobID // only jobs with a higher ID: with Limit, a listing is read page by page
	Limit      int   // at most so many, lowest IDs first; 0: no limit
}

// ListedJob is a job in a list of IDs.
type ListedJob struct {
	ID    JobID
	Array JobID // that it is a task of; 0: none
}

// RequestKind is what a user may ask of an existing job.
type RequestKind string

const (
	RequestCancel  RequestKind = "cancel"
	RequestSignal  RequestKind = "signal"
	RequestHold    RequestKind = "hold"
	RequestRelease RequestKind = "release"
	RequestRequeue RequestKind = "requeue" // stop it where it runs, or take up again what has ended, under the same ID
	RequestReqHold RequestKind = "requeuehold"
	RequestSpecial RequestKind = "requeuespecial" // requeuehold, and it waits in state SPECIAL_EXIT
	RequestUpdate  RequestKind = "update"
	RequestTop     RequestKind = "top" // before the other jobs of its user
	RequestSuspend RequestKind = "suspend"
	RequestResume  RequestKind = "resume"
	RequestMove    RequestKind = "move" // to another site, as Request.Move says
)

// Done is the word for a job to which k was done.
func (k RequestKind) Done() string {
	switch k {
	case RequestHold:
		return "held"
	case RequestCancel:
		return "cancelled"
	case RequestReqHold, RequestSpecial:
		return "requeued"
	case RequestSignal:
		return "signalled"
	case RequestTop:
		return "moved to the top"
	case RequestSuspend:
		return "suspended"
	}
	return string(k) + "d" // released, requeued, updated, resumed, moved
}

// Request is a durable wish of a user, already checked against that user's rights.
type Request struct {
	Seq      int64
	Job      JobID
	Tasks    TaskSet // empty: the whole job
	Kind     RequestKind
	UID      uint32
	User     string          // the name of UID when it asked; "": the daemon asks
	Operator bool            // the caller acted as operator: a hold is JobHeldAdmin
	Signal   Signal          // for RequestSignal
	Change   []sbatch.Change // for RequestUpdate
	Move     *Relocation     // for RequestMove
	Restarts int             // what Job.Restarts was: once it is more, a request to requeue, suspend or resume is done
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
	From SiteName   `json:"from,omitempty"` // the site that it is to leave: a job that is not there any more stays where it is. "": wherever it is
	To   []SiteName `json:"to,omitempty"`   // one of these sites; none: any but the one that it leaves
	// Running: a job that runs is moved, too, by a requeue. Otherwise ErrConflict: it has started.
	Running bool   `json:"running,omitempty"`
	Why     string `json:"why,omitempty"` // for the job's history
}

// Batch is a set of changes that become durable together. Jobs, Attempts and Tasks are written whole, by key, over what
// is there (a job's owner never changes and is not written again, nor is its Spec, but for Spec.Array); Rev is set by the store.
type Batch struct {
	// Create are new jobs without a payload, under IDs of ReserveIDs: parts of arrays, whose payload is the array's. They are
	// stored as they are. ErrConflict: an ID is taken.
	Create   []*Job
	Jobs     []*Job
	Specs    []*Job // jobs whose Spec is written too, because a user has changed it; they are among Jobs as well
	Attempts []*Attempt
	Tasks    []*Task
	Events   []Event
	Charges  []Charge  // of runs that have ended. One that is there already stays as it is
	Requests []Request // to be carried out in place of one that is done, by the jobs that it meant; Seq is the store's to give
	Done     []int64   // numbers of requests that were carried out
	Moves    []Move    // what the log of changes is to tell of them

	Nodes      []NodeRecord // written over what is there; of several for one node the last counts
	NodeEvents []NodeEvent
	SiteEvents []SiteEvent

	Audit    []AuditEntry   // appended to the [AuditLog]; Seq is the store's to give
	Health   []HealthRecord // written over what is there
	Findings []HealthFinding
	Lengths  []RunLength // of runs that have ended
	Waits    []PastWait  // at sites that others use too
}

// Empty reports whether there is nothing to write.
func (b *Batch) Empty() bool {
	return len(b.Create)+len(b.Jobs)+len(b.Specs)+len(b.Attempts)+len(b.Tasks)+len(b.Events)+len(b.Charges)+len(b.Requests)+len(b.Done)+len(b.Moves)+len(b.Nodes)+len(b.NodeEvents)+len(b.SiteEvents)+len(b.Audit)+len(b.Health)+len(b.Findings)+len(b.Lengths)+len(b.Waits) == 0
}
