package federation

import (
	"time"

	"fsub/federation/decision"
)

// Snapshot is everything that placement may know. Equal snapshots give equal plans.
type Snapshot struct {
	Now   time.Time
	Seed  uint64
	Sites []*Site // sorted by name
	// Jobs are the candidates in order of priority: pending, not held, not cancelled, dependencies met, begin time reached.
	Jobs []*Job
	// Refused holds, for each job that some site has refused, those sites and why: they are not asked again.
	Refused map[JobID]map[SiteName]decision.Rejection
	// Preempting is who may take whose place; nil: nobody may.
	Preempting *Preempting
	// Guarantees are what accounts are guaranteed; nil: nothing.
	Guarantees *Guarantees
}

// Plan is what placement decided: one Decision for each job of the snapshot that it looked at, in the same order.
// Jobs beyond the last Decision were not looked at; they wait for reason Priority.
type Plan struct {
	Decisions []decision.Decision
}
