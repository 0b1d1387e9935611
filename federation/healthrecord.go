package federation

import (
	"context"
	"time"
)

// HealthStore keeps what package health remembers, and what came of it. A journal.Batch writes both.
type HealthStore interface {
	// HealthRecords returns all records, in order of kind and name.
	HealthRecords(ctx context.Context) ([]HealthRecord, error)
	// HealthFindings returns the newest findings, at most limit of them, oldest first.
	HealthFindings(ctx context.Context, limit int) ([]HealthFinding, error)
}

// HealthRecord is something that the daemon must not forget of the health of nodes and jobs.
type HealthRecord struct {
	Kind HealthKind
	Name string // SITE/NODE, a job's ID, a breaker; unique within its kind
	Data []byte // JSON; nil: there is nothing to remember any more
}

// HealthKind says what a [HealthRecord] is of.
type HealthKind string

const (
	HealthNode    HealthKind = "node"    // what has failed there
	HealthJob     HealthKind = "job"     // where it has failed
	HealthBreaker HealthKind = "breaker" // what was drained automatically, and whether that is to go on
	// What the controller is told by others, and deletes when it has taken it in.
	HealthReset HealthKind = "reset" // an operator closes a breaker
	HealthCheck HealthKind = "check" // what a node's health check has found
)

// HealthFinding is what a rule has said of a node or a job, or that a breaker has opened or was reset.
type HealthFinding struct {
	At   time.Time
	Rule string
	Act  string
	Node NodeID
	Job  JobID
	Why  string
	// Denied: why nothing was done, although the rule says so.
	Denied string
}
