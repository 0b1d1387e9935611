package federation

import (
	"time"

	"fsub/federation/decision"
)

// Preempting is who may take whose place: the preemption rules of the QOS. It is not changed after it was made.
type Preempting struct {
	QOS map[string]PreemptQOS // by name, in lower case
	// Of is the QOS that a job runs under, in lower case; nil: what it asks for.
	Of func(*Job) string
}

// PreemptQOS are the rules of one QOS, with sacctmgr's names.
type PreemptQOS struct {
	Over   map[string]bool      // Preempt: the QOS whose jobs may have to make room for jobs of this one
	Mode   decision.PreemptMode // what becomes of its own jobs when they have to
	Exempt time.Duration        // PreemptExemptTime: for so long after its start a job of it is left alone
	Grace  time.Duration        // GraceTime: so long after its signal a job is ended
	// Returns: a job of it may be ended to give back what it has borrowed beyond the guarantee of its account.
	Returns bool
}
