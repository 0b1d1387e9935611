package federation

import (
	"time"

	"fsub/accounting"
	"fsub/sbatch"

	"fsub/federation/codes"
)

// Allowance is what a rented pool may spend within a time. What is bound counts as if it were spent: what the machines with jobs will cost until the time limits of
// these. So nothing is started that could pass the budget (Slurm's "safe" limits).
type Allowance struct {
	Name        string // "today", "on 2026-11-23", "this month", "in 2026-12"
	From, Until time.Time
	Budget      Money
	Spent       Money
	Bound       Money
}

// Left is what may be bound still; less than 0 where jobs were suspended, or machines cost more than was expected.
func (a *Allowance) Left() Money { return a.Budget - a.Spent - a.Bound }

// Share is what of a price by the hour, from one time until another, falls into the allowance.
func (a *Allowance) Share(perHour Money, from, until time.Time) Money {
	if from.Before(a.From) {
		from = a.From
	}
	if until.After(a.Until) {
		until = a.Until
	}
	return perHour.For(until.Sub(from))
}

// Bears reports whether a job that may cost so much of it can be started.
func (a *Allowance) Bears(cost Money) bool {
	return cost <= 0 || cost <= a.Left()
}

// OpenEnd is for how long at least a job without a time limit is reckoned with.
const OpenEnd = time.Hour

// KillTime is allowed for a job to end after its time limit. It is longer than drivers wait, so that none refuses in the end what placement and quota
// granted.
const KillTime = time.Minute

// HeldUntil is when a job that starts at some time, or has started then, gives its nodes back at the latest: it may take so long to be killed after its limit. Of one
// without a limit it is when its end is expected.
func HeldUntil(start, now time.Time, limit, expected, kill time.Duration) time.Time {
	if limit < sbatch.Unlimited {
		return start.Add(limit + kill)
	}
	end, least := start.Add(expected), now.Add(OpenEnd)
	if end.Before(least) {
		return least
	}
	return end
}

// Refuses is why a job that may cost so much is not started.
func (a *Allowance) Refuses(cost Money) *codes.Why {
	return codes.Because(codes.Budget, accounting.Bare(cost.Rate()), a.Name, max(a.Left(), 0).Text(2), a.Budget.Text(2), a.Spent.Text(2), a.Bound.Text(2))
}
