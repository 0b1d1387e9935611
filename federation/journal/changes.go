package journal

import (
	"time"

	"fsub/federation"
	"fsub/federation/health"
	"fsub/federation/reasons"
)

// Mark is a place in the store's log of changes: the number of a commit. Zero means that nothing has been read yet.
type Mark int64

// OldestMark stands before the oldest commit that the log still has.
const OldestMark Mark = -1

// Log is a part of the log, as [Follower] returns it.
type Log struct {
	Commits []Commit
	Mark    Mark // to go on from; nothing can appear at or below it any more
}

// Commit is what became durable together. Several callers' writes may share one.
type Commit struct {
	Mark    Mark
	At      time.Time // never before that of an earlier commit
	Changes []Change  // in the order in which they were written
}

// Change says that a record is new, has another value or is gone. It names the record, and tells enough for a line about it;
// whoever needs more reads the record, which may have changed again by then.
type Change struct {
	Kind   ChangeKind
	How    ChangeHow
	Job    federation.JobID      // that the record is, or belongs to; 0: none
	Number int64                 // of an attempt or its charge, of an array's task, of a request
	Site   federation.SiteName   // of a job, an attempt or a charge where it is, of a site the site itself
	State  string                // of a job, a task, an attempt, a charge's run or a site; of a request its kind
	Who    string                // of a request the uid, of an operator\'s word about a site the name of whom it is from
	Why    string                // of a word about a site
	Move   *Move                 // of ChangeMove
	Node   *federation.NodeEvent // of ChangeNodeEvent
	// Finding is of ChangeFinding.
	Finding *health.PastFinding
	Of      *federation.SiteEvent // of ChangeSiteEvent
}

// ChangeKind says what kind of record has changed.
type ChangeKind string

const (
	ChangeJob     ChangeKind = "job"
	ChangeAttempt ChangeKind = "attempt"
	ChangeTask    ChangeKind = "task"
	ChangeEvent   ChangeKind = "event"
	ChangeCharge  ChangeKind = "charge"  // new always
	ChangeRequest ChangeKind = "request" // gone: it was carried out. Number tells which, Job is 0 then
	ChangeSite    ChangeKind = "site"
	ChangeUsage   ChangeKind = "usage"
	ChangePool    ChangeKind = "pool" // a record of a rented pool's driver
	ChangeNode    ChangeKind = "node" // what is wanted of a node. Its site is told, not its name
	// ChangeNodeEvent tells a line of a node's history; nothing but Node is set.
	ChangeNodeEvent ChangeKind = "node-event"
	ChangeAudit     ChangeKind = "audit"   // a new entry of the audit log. State is its verb
	ChangeHealth    ChangeKind = "health"  // a [HealthRecord], of the kind that State tells
	ChangeFinding   ChangeKind = "finding" // new always; nothing but Job and Finding is set
	// ChangeSiteEvent tells that a condition of a site has begun or ended; nothing but Of is set.
	ChangeSiteEvent ChangeKind = "site-event"
	// ChangeMaintenance: something was planned at a site, or taken back.
	ChangeMaintenance ChangeKind = "maintenance"
	// ChangeMove is not a record: it tells that a job went from one state to another.
	ChangeMove ChangeKind = "move"
)

// ChangeHow says what has become of a record.
type ChangeHow string

const (
	Changed ChangeHow = "" // or written for the first time, where that is not told apart
	Created ChangeHow = "new"
	Gone    ChangeHow = "gone"
)

// Move is one step of a job's life, or of the life of one task of an array that is not spread.
type Move struct {
	Job    federation.JobID
	Task   int                // index; -1: the job itself, or Tasks
	Tasks  federation.TaskSet // more than one task, of each of which the same is true
	What   MoveKind
	State  federation.State // that it has now
	From   federation.State // that it had
	Reason reasons.Reason
	Site   federation.SiteName // where it is or was; "" in the federation's queue
	Exit   int32               // as wait(2) gives it, of MoveEnd
}

// MoveKind is a step of a job's life. Its beginning is a [ChangeJob] that is [Created].
type MoveKind string

const (
	MoveBind    MoveKind = "bind"    // to a site
	MoveStart   MoveKind = "start"   // it has nodes
	MoveSuspend MoveKind = "suspend" // it keeps its nodes and does not run
	MoveResume  MoveKind = "resume"
	MoveRequeue MoveKind = "requeue" // it waits again
	MoveEnd     MoveKind = "end"
	// MoveInvalidDepend: what the job depends on can never be met any more.
	MoveInvalidDepend MoveKind = "invalid-depend"
)

// MovesOf are the steps that led a job, or a task, from what it was to what it is.
func MovesOf(was, is JobStage) []MoveKind {
	var moves []MoveKind
	add := func(m MoveKind) { moves = append(moves, m) }
	if is.State == federation.Pending && (was.State.Started() || was.State.Ended() || is.Restarts > was.Restarts) {
		add(MoveRequeue)
	}
	if is.Never && !was.Never {
		add(MoveInvalidDepend)
	}
	if is.Attempt > was.Attempt {
		add(MoveBind)
	}
	ends := is.State.Ended() && !was.State.Ended()
	if !was.State.Started() && (is.State.Started() || ends && is.Ran && !was.Ran) {
		add(MoveStart)
	}
	if ends {
		add(MoveEnd)
	}
	switch {
	case is.State == federation.Suspended && was.State != federation.Suspended:
		add(MoveSuspend)
	case was.State == federation.Suspended && is.State == federation.Running:
		add(MoveResume)
	}
	return moves
}

// JobStage is how far a job has come, as far as [MovesOf] looks at it.
type JobStage struct {
	State    federation.State
	Attempt  int
	Restarts int
	Ran      bool // since it last waited
	Never    bool // its dependency is never met
}

// StageOf is how far j has come.
func StageOf(j *federation.Job) JobStage {
	return JobStage{j.State, j.Attempt, j.Restarts, !j.Start.IsZero(), j.Reason == reasons.DependencyNever}
}
