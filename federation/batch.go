package federation

import (
	"context"

	"fsub/federation/audit"
)

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

	Audit    []audit.Entry  // appended to the [audit.Log]; Seq is the store's to give
	Health   []HealthRecord // written over what is there
	Findings []HealthFinding
	Lengths  []RunLength // of runs that have ended
	Waits    []PastWait  // at sites that others use too
}

// Empty reports whether there is nothing to write.
func (b *Batch) Empty() bool {
	return len(b.Create)+len(b.Jobs)+len(b.Specs)+len(b.Attempts)+len(b.Tasks)+len(b.Events)+len(b.Charges)+len(b.Requests)+len(b.Done)+len(b.Moves)+len(b.Nodes)+len(b.NodeEvents)+len(b.SiteEvents)+len(b.Audit)+len(b.Health)+len(b.Findings)+len(b.Lengths)+len(b.Waits) == 0
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
