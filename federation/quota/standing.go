package quota

import (
	"time"

	"fsub/accounting"
	"fsub/federation"
	"fsub/federation/accounts"
)

// Standing is how a budget stands in its present period.
type Standing struct {
	accounts.Key
	Of           string // a TRES, then amounts are minutes of it; "": dollars
	Period       string // one of [accounts.BudgetPeriods]
	Since, Until time.Time
	Limit        float64
	Used         float64 // in the period: by what is booked of it, or by the federation's runs that have ended in it
	Running      float64 // what those that run have come to so far
	Reserved     float64 // what live jobs may come to at most, with what they have come to so far
	Daily        float64 // what a day of the last four weeks came to, on average
}

// Standings are those of all budgets, as they were when [Book.Levels] was asked last. It may be called while the book is in use.
func (b *Book) Standings() []Standing {
	if s := b.standings.Load(); s != nil {
		return s.all
	}
	return nil
}

// Stands reports whether [Book.Standings] are of the account tree as it is now. It may be called while the book is in use.
func (b *Book) Stands() bool {
	s := b.standings.Load()
	return s != nil && s.of == b.books.Tree()
}

// stood are standings, and the tree that they are of.
type stood struct {
	of  *accounts.Tree
	all []Standing
}

const (
	lookBack = 28 // days
	day      = 24 * time.Hour
)

// stand looks how all budgets stand. running is what jobs that run have come to so far.
func (b *Book) stand(now time.Time, running map[accounts.Key]*used) {
	tree, all := b.books.Tree(), []Standing{}
	for _, r := range tree.Records() {
		for budget := range budgets(r) {
			all = append(all, b.standing(now, r.Key, budget, running[r.Key]))
		}
	}
	b.standings.Store(&stood{tree, all})
}

func (b *Book) standing(now time.Time, k accounts.Key, budget *accounts.Bound, running *used) Standing {
	today, lately := dayOf(now), &used{seconds: accounting.TRES{}}
	for d, u := range b.daysFor(k, budget) {
		if d < today && d >= today-lookBack {
			lately.add(u)
		}
	}
	if running == nil {
		running = &used{}
	}
	s := Standing{Key: k, Of: budget.TRES, Period: string(budget.Period), Since: budget.Period.Start(now), Until: budget.Period.End(now)}
	unit := float64(time.Minute / time.Second)
	if budget.Limit.Measure == accounts.Money {
		unit = float64(federation.Dollar)
	}
	s.Limit, s.Used = float64(budget.Most)/unit, float64(sumSince(b.daysFor(k, budget), dayOf(s.Since)).of(budget))/unit
	s.Running, s.Reserved = float64(running.of(budget))/unit, float64(b.heldBy(k).of(budget))/unit
	s.Daily = float64(lately.of(budget)) / unit / lookBack
	return s
}
