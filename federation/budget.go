package federation

import (
	"fmt"
	"time"
)

// Allowance is what a rented pool may spend within a time. What is bound counts as if it were spent: what the machines with jobs will cost until the time limits of
// these. So nothing is started that could pass the budget (Slurm's "safe" limits).
type Allowance struct {
	Name        string // "today", "on 2026-11-23", "this month", "in 2026-12"
	From, Until time.Time
	Budget      Dollars
	Spent       Dollars
	Bound       Dollars
}

// Left is what may be bound still; less than 0 where jobs were suspended, or machines cost more than was expected.
func (a *Allowance) Left() Dollars { return a.Budget - a.Spent - a.Bound }

// Share is what of a price by the hour, from one time until another, falls into the allowance.
func (a *Allowance) Share(perHour Dollars, from, until time.Time) Dollars {
	if from.Before(a.From) {
		from = a.From
	}
	if until.After(a.Until) {
		until = a.Until
	}
	return perHour * Dollars(max(until.Sub(from), 0).Hours())
}

// Bears reports whether a job that may cost so much of it can be started.
func (a *Allowance) Bears(cost Dollars) bool {
	const rounding = 1e-9
	return cost <= rounding || cost <= a.Left()+rounding
}

// Says is why a job that may cost so much is not started.
func (a *Allowance) Says(cost Dollars) string {
	return fmt.Sprintf("may cost $%.2f %s until its time limit, $%.2f left: of $%.2f $%.2f spent, $%.2f bound by what runs", float64(cost), a.Name, float64(max(a.Left(), 0)),
		float64(a.Budget), float64(a.Spent), float64(a.Bound))
}
