package quota

import (
	"cmp"
	"slices"
	"time"

	"fsub/accounting"
	"fsub/federation/accounts"
)

// Standing is how a budget stands in its present period.
type Standing struct {
	accounts.Key
	Of           string // a TRES, then amounts are minutes of it; "": dollars
	Period       string // one of [accounts.BudgetPeriods]
	Since, Until time.Time
	Limit        float64
	Used         float64 // by runs that have ended in the period
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
		for _, budget := range r.Budgets() {
			all = append(all, b.standing(now, r, &budget, running[r.Key])...)
		}
	}
	b.standings.Store(&stood{tree, all})
}

func (b *Book) standing(now time.Time, r *accounts.Record, budget *accounts.Budget, running *used) (all []Standing) {
	since, until := budget.Start(now), budget.End(now)
	ended, held := b.since(r.Key, dayOf(since)), b.heldBy(r.Key)
	today, lately := dayOf(now), used{seconds: accounting.TRES{}}
	for d, u := range b.days[r.Key] {
		if d < today && d >= today-lookBack {
			lately.cost += u.cost
			for name, n := range u.seconds {
				lately.seconds[name] += n
			}
		}
	}
	if running == nil {
		running = &used{}
	}
	one := Standing{Key: r.Key, Period: budget.Period, Since: since, Until: until}
	if budget.Money >= 0 {
		one.Limit, one.Used, one.Running, one.Reserved, one.Daily = budget.Money.Dollars(), ended.cost.Dollars(), running.cost.Dollars(), held.cost.Dollars(), lately.cost.Dollars()/lookBack
		all = append(all, one)
	}
	for name, limit := range budget.TRESMins {
		minutes := func(seconds int64) float64 { return float64(seconds) / 60 }
		one.Of, one.Limit, one.Used, one.Running = name, float64(limit), minutes(ended.seconds[name]), minutes(running.seconds[name])
		one.Reserved, one.Daily = minutes(held.seconds[name]), minutes(lately.seconds[name])/lookBack
		all = append(all, one)
	}
	slices.SortFunc(all, func(a, b Standing) int { return cmp.Compare(a.Of, b.Of) })
	return all
}
