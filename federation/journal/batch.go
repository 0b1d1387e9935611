// Package journal is what the store writes, and what it tells of that: a [Batch] becomes durable together, each [Commit] is an entry of the log of
// changes, and a [Change] of it names a record that is new, has another value or is gone.
package journal

import (
	"context"

	"fsub/federation"
	"fsub/federation/action"
	"fsub/federation/audit"
	"fsub/federation/health"
	"fsub/federation/predict"
)

// Batch is a set of changes that become durable together. Jobs, Attempts and Tasks are written whole, by key, over what
// is there (a job's owner never changes and is not written again, nor is its Spec, but for Spec.Array); Rev is set by the store.
type Batch struct {
	// Create are new jobs without a payload, under IDs of ReserveIDs: parts of arrays, whose payload is the array's. They are
	// stored as they are. ErrConflict: an ID is taken.
	Create   []*federation.Job
	Jobs     []*federation.Job
	Specs    []*federation.Job // jobs whose Spec is written too, because a user has changed it; they are among Jobs as well
	Attempts []*federation.Attempt
	Tasks    []*federation.Task
	Events   []federation.Event
	Charges  []federation.Charge // of runs that have ended. One that is there already stays as it is
	Requests []action.Request    // to be carried out in place of one that is done, by the jobs that it meant; Seq is the store's to give
	Done     []int64             // numbers of requests that were carried out
	Moves    []Move              // what the log of changes is to tell of them

	Nodes      []federation.NodeRecord // written over what is there; of several for one node the last counts
	NodeEvents []federation.NodeEvent
	SiteEvents []federation.SiteEvent

	Audit    []audit.Entry   // appended to the [audit.Log]; Seq is the store's to give
	Health   []health.Record // written over what is there
	Findings []health.PastFinding
	Lengths  []predict.RunLength // of runs that have ended
	Waits    []predict.PastWait  // at sites that others use too
}

// Empty reports whether there is nothing to write.
func (b *Batch) Empty() bool {
	return len(b.Create)+len(b.Jobs)+len(b.Specs)+len(b.Attempts)+len(b.Tasks)+len(b.Events)+len(b.Charges)+len(b.Requests)+len(b.Done)+len(b.Moves)+len(b.Nodes)+len(b.NodeEvents)+len(b.SiteEvents)+len(b.Audit)+len(b.Health)+len(b.Findings)+len(b.Lengths)+len(b.Waits) == 0
}

// Committer writes what belongs together.
type Committer interface {
	// Commit writes all of b or nothing, and its error says which: nil or not. If the answer of a database is lost, the store asks until it knows; only one that is
	// closed meanwhile may leave it open, and says so (store.ErrOpen).
	Commit(ctx context.Context, b *Batch) error
}

// Follower reads the log of changes.
type Follower interface {
	// Changes returns the commits after a mark in their order, at most limit of them, and the mark to go on from. Nothing can
	// appear at or below that mark any more, and what is read from the store later is at least as new as it. After 0 there
	// are no commits but the newest mark: a follower begins there, then reads what it wants to follow, then asks for
	// what came after. The log keeps a bounded number of changes, for a bounded time. ErrTrimmed: it no longer goes back to
	// that mark, or never came so far (the store was replaced): begin anew.
	Changes(ctx context.Context, after Mark, limit int) (Log, error)
}
