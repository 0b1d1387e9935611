package accounts

import (
	"cmp"
	"strings"
)

// Limit is what an option bounds: of whose jobs it counts what, and Slurm's word for a job that has to wait for it.
type Limit struct {
	Scope   Scope
	Measure Measure
	// Replaces is an option of associations that does not count for jobs of a QOS that sets this one.
	Replaces string
	word     word
}

func limit(s Scope, m Measure, words ...string) *Limit {
	return &Limit{Scope: s, Measure: m, word: words}
}

// Scope is whose jobs count against a limit.
type Scope uint8

const (
	// PerJob: one job by itself. The limit counts where it is first set: in the QOS, the association, the accounts from below.
	PerJob Scope = iota
	// PerGroup: all jobs of the record. One of an association does not count where the QOS sets the same limit.
	PerGroup
	// PerUser and PerAccount: the jobs of one user, or of one account, in a QOS.
	PerUser
	PerAccount
	// PerAssociation: the jobs of one user in one account. What the association does not set is as in the nearest account above it.
	PerAssociation
)

// Measure is what a limit counts of jobs.
type Measure uint8

const (
	Jobs       Measure = iota // jobs that are bound
	Submitted                 // jobs that have not ended
	Amount                    // TRES that are held at once
	Minutes                   // minutes of TRES, used and reserved: what was used decays
	RunMinutes                // minutes of TRES that are reserved
	Money                     // dollars in a period, spent and reserved
	// PeriodMinutes are minutes of TRES in a period, used and reserved.
	PeriodMinutes
)

// Wall is a TRES of which every job holds one: limits of time are limits of its minutes.
const Wall = "wall"

// Bound is one amount of a limit that a record sets.
type Bound struct {
	*Option
	TRES string // "": the limit counts jobs or money
	// Most is in jobs, units of the TRES (MiB of memory), seconds of it, or millionths of a dollar.
	Most   int64
	Period BudgetPeriod // of a budget; "": of none
}

// word is Slurm's reason why a job waits for a limit: one for all TRES, then those of some kinds, as "cpu=@GrpCpuLimit", or of some kinds in a QOS,
// as "QOS mem=QOSMaxMemoryPerJob". @ is Assoc or QOS, * the kind of TRES.
type word []string

var kindWords = map[string]string{"cpu": "Cpu", "mem": "Mem", "node": "Node", "gres": "GRES", "billing": "Billing", "license": "Lic", "energy": "Energy"}

// Reason is Slurm's word for a job that waits for the bound, which a record of some kind sets.
func (b *Bound) Reason(set Kind) string {
	by := "Assoc"
	if set == QOS {
		by = "QOS"
	}
	kind, _, _ := strings.Cut(b.TRES, "/")
	text := b.Limit.word[0]
	for _, w := range b.Limit.word[1:] {
		if of, own, _ := strings.Cut(w, "="); of == kind || of == by+" "+kind {
			text = own
		}
	}
	return strings.NewReplacer("@", by, "*", cmp.Or(kindWords[kind], "Unknown")).Replace(text)
}
