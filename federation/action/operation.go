package action

import (
	"context"
	"strconv"
	"time"

	"fsub/federation"
	"fsub/federation/audit"
	"fsub/sbatch"
)

// OperationID numbers operations, from 1.
type OperationID int64

func (id OperationID) String() string { return strconv.FormatInt(int64(id), 10) }

// Operation is one thing that somebody wants done to many jobs. Which jobs these are is written down with it, before anything is done to
// any of them; each then gets one request. So it goes on after a crash where it was, and each job gets it once. Of very many jobs only the numbers are written
// down at once, and items of some thousand at a time.
type Operation struct {
	ID       OperationID
	At       time.Time
	By       audit.Actor
	Operator bool // By acts as an operator
	// Coordinates: By may act as a coordinator of accounts.
	Coordinates bool
	Verb        Kind   // cancel, hold, release, requeue, requeuehold, update or move
	Command     string // what was asked for, in a form in which two commands that ask for the same are equal
	Change      []sbatch.Change
	Move        *Relocation
	Why         string
	Ticket      string
	Ended       time.Time // all is settled; zero: it goes on
	Told        time.Time // the caller has read how it ended

	Rest                  []federation.JobID // jobs that have no items yet, in rising order
	Jobs, Settled, Failed int                // how many of its jobs: follows from the items and Rest
}

// OperationItem is one job of an operation.
type OperationItem struct {
	N        int // its place in the operation, from 1
	Job      federation.JobID
	Tasks    federation.TaskSet  // of an array: those that waited when the job was chosen
	Site     federation.SiteName // where it was then
	Restarts int                 // what Job.Restarts was then: one that was started anew meanwhile is not requeued again
	Seq      int64               // of the request that it got; 0: none yet
	Asked    time.Time
	Settled  int    // it was the n-th to be settled; 0: it is not yet
	Failed   bool   // it was not done, and Note says why
	Note     string // what else is to be said
}

// ItemRequest is the request that an item of an operation gets, and what the audit log is to say of it.
type ItemRequest struct {
	N       int
	Request Request
	Audit   []audit.Entry
}

// OperationStore keeps operations.
type OperationStore interface {
	// AddOperation stores an operation with its items and numbers both.
	AddOperation(ctx context.Context, op *Operation, items []OperationItem, audit ...audit.Entry) error
	// Operations returns the newest operations, at most limit of them, oldest first; with open only those that have not ended.
	Operations(ctx context.Context, open bool, limit int) ([]Operation, error)
	// AddItems adds the items of the next jobs of Rest, one for each, which are no longer in Rest then.
	AddItems(ctx context.Context, id OperationID, items []OperationItem) error
	// OperationItems returns the items of an operation in order; ErrNotFound if there is none of that ID.
	OperationItems(ctx context.Context, id OperationID) ([]OperationItem, error)
	// SettledItems returns items that were settled after the n-th, in that order and at most limit of them.
	SettledItems(ctx context.Context, id OperationID, after, limit int) ([]OperationItem, error)
	// AskItems adds the requests of some items, and writes their numbers, which it returns, into the items, in one commit. ErrConflict, and nothing is done,
	// if one of them has got its request before; ErrNotFound if one of the jobs is gone.
	AskItems(ctx context.Context, id OperationID, asks []ItemRequest) ([]int64, error)
	// SettleItems writes Settled, Failed and Note of items that were not settled; with ended the operation has come to its end.
	SettleItems(ctx context.Context, id OperationID, items []OperationItem, ended time.Time) error
	// OperationTold writes down that the caller has read how an operation ended.
	OperationTold(ctx context.Context, id OperationID, at time.Time) error
}
