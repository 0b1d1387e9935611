package health

import (
	"context"
	"time"

	"fsub/federation"
)

// Store keeps what package health remembers, and what came of it. A journal.Batch writes both.
type Store interface {
	// HealthRecords returns all records, in order of kind and name.
	HealthRecords(ctx context.Context) ([]Record, error)
	// HealthFindings returns the findings that q selects, oldest first.
	HealthFindings(ctx context.Context, q FindingQuery) ([]KeptFinding, error)
}

// FindingQuery selects findings. The zero value selects all.
type FindingQuery struct {
	After  int64 // with a higher Seq
	Before int64 // with a lower one; 0: no bound
	Limit  int   // maximum number of findings; 0: no limit
	Oldest bool  // of more than Limit the oldest, else the newest
}

// KeptFinding is a finding as a store has it.
type KeptFinding struct {
	Seq int64 // increases
	PastFinding
}

// Record is something that the daemon must not forget of the health of nodes and jobs.
type Record struct {
	Kind RecordKind
	Name string // SITE/NODE, a job's ID, a breaker; unique within its kind
	Data []byte // JSON; nil: there is nothing to remember any more
}

// RecordKind says what a [Record] is of.
type RecordKind string

const (
	RecordNode    RecordKind = "node"    // what has failed there
	RecordJob     RecordKind = "job"     // where it has failed
	RecordBreaker RecordKind = "breaker" // what was drained automatically, and whether that is to go on
	// What the controller is told by others, and deletes when it has taken it in.
	RecordReset RecordKind = "reset" // an operator closes a breaker
	RecordCheck RecordKind = "check" // what a node's health check has found
)

// PastFinding is what a rule has said of a node or a job, or that a breaker has opened or was reset.
type PastFinding struct {
	At   time.Time
	Rule string
	Act  string
	Node federation.NodeID
	Job  federation.JobID
	Why  string
	// Denied: why nothing was done, although the rule says so.
	Denied string
}
