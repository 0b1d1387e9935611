package quota

import (
	"fmt"
	"slices"
	"time"

	"fsub/accounting"
	"fsub/federation"
	"fsub/federation/accounts"
)

// Reached is a level that a budget has come to in its period.
type Reached struct {
	accounts.Key
	Option string    // BudgetWarn or BudgetSoft; Budget: it is used up
	Since  time.Time // when the period began
	Text   string
}

// Ending is what is to become of a job that runs on a budget which is used up.
type Ending struct {
	Grace time.Duration
	Text  string
}

// Levels tells which budgets have come to which levels, and which jobs run on one that is used up although they are to be ended then. started are the jobs that run, and since when: what they have come to so far counts as used.
func (b *Book) Levels(now time.Time, started map[federation.JobID]time.Time) (all []Reached, over map[federation.JobID]Ending) {
	over = map[federation.JobID]Ending{}
	b.Booked.renew(b.books.Tree())
	running := b.running(now, started)
	b.stand(now, running)
	for _, r := range b.books.Tree().Records() {
		for _, l := range b.levelsOf(now, r, running[r.Key]) {
			since, text := l.budget.Period.Start(now), l.text(r)
			reach := func(option string, at int64) bool {
				if l.percent < float64(at) {
					return false
				}
				all = append(all, Reached{r.Key, option, since, text})
				return true
			}
			for _, option := range []string{"BudgetWarn", "BudgetSoft"} {
				if at, ok := r.Count(option); ok {
					reach(option, at)
				}
			}
			grace, ends := r.Count("BudgetEnd")
			if !reach("Budget", 100) || !ends {
				continue
			}
			for id, h := range b.holds {
				if _, runs := started[id]; runs && slices.Contains(h.keys, r.Key) {
					over[id] = Ending{time.Duration(grace) * time.Second, text}
				}
			}
		}
	}
	return all, over
}

// running is what jobs that run have come to so far.
func (b *Book) running(now time.Time, started map[federation.JobID]time.Time) map[accounts.Key]*used {
	out := map[accounts.Key]*used{}
	for id, began := range started {
		h, ok := b.holds[id]
		if !ok {
			continue
		}
		d := max(now.Sub(began), 0)
		for _, k := range h.keys {
			u := out[k]
			if u == nil {
				u = &used{seconds: accounting.TRES{}}
				out[k] = u
			}
			u.cost += min(h.want.Cost, h.want.costAfter(d))
			for name, n := range h.want.TRES {
				u.seconds[name] += n * int64(d/time.Second)
			}
		}
	}
	return out
}

// level is how much of a budget is used.
type level struct {
	budget  *accounts.Bound
	used    int64
	percent float64
}

// levelsOf are those of a record's budgets. One of several TRES is used as far as the one of which the most is used.
func (b *Book) levelsOf(now time.Time, r *accounts.Record, running *used) (all []level) {
	for budget := range budgets(r) {
		u := sumSince(b.daysFor(r.Key, budget), dayOf(budget.Period.Start(now)))
		if running != nil {
			u.add(running)
		}
		l := level{budget, u.of(budget), 100}
		if budget.Most > 0 {
			l.percent = 100 * float64(l.used) / float64(budget.Most)
		}
		n := len(all)
		switch {
		case n == 0 || all[n-1].budget.Option != budget.Option:
			all = append(all, l)
		case l.percent >= all[n-1].percent:
			all[n-1] = l
		}
	}
	return all
}

func (l *level) text(r *accounts.Record) string {
	b := l.budget
	if b.Limit.Measure == accounts.Money {
		return fmt.Sprintf("%s has spent %s of %s this %s", r.Key, federation.Money(l.used).USD(), federation.Money(b.Most).USD(), b.Period)
	}
	return fmt.Sprintf("%s has used %d of %d minutes of %s this %s", r.Key, l.used/60, b.Most/60, b.TRES, b.Period)
}
