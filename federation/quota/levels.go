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
	running := b.running(now, started)
	b.stand(now, running)
	for _, r := range b.books.Tree().Records() {
		for _, budget := range r.Budgets() {
			since := budget.Start(now)
			percent, text := b.usedOf(r, &budget, running[r.Key], since)
			reach := func(option string, at int64) bool {
				if percent < float64(at) {
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
		d, longest := max(now.Sub(began), 0), h.want.Longest
		if longest == 0 {
			longest = federation.OpenEnd
		}
		for _, k := range h.keys {
			u := out[k]
			if u == nil {
				u = &used{seconds: accounting.TRES{}}
				out[k] = u
			}
			u.cost += federation.Money(float64(h.want.Cost) * min(1, float64(d)/float64(longest)))
			for name, n := range h.want.TRES {
				u.seconds[name] += n * int64(d/time.Second)
			}
		}
	}
	return out
}

// usedOf is how much of a budget is used, in percent, and that as a sentence.
func (b *Book) usedOf(r *accounts.Record, budget *accounts.Budget, running *used, since time.Time) (percent float64, text string) {
	u := b.since(r.Key, dayOf(since))
	if running != nil {
		u.cost += running.cost
		for name, n := range running.seconds {
			u.seconds[name] += n
		}
	}
	of := func(used, limit float64) float64 {
		if limit == 0 {
			return 100
		}
		return 100 * used / limit
	}
	if budget.Money >= 0 {
		percent = of(u.cost.Dollars(), budget.Money.Dollars())
		text = fmt.Sprintf("%s has spent %s of %s this %s", r.Key, u.cost.USD(), budget.Money.USD(), budget.Period)
	}
	for name, limit := range budget.TRESMins {
		if p := of(float64(u.seconds[name]), float64(limit*60)); p >= percent || text == "" {
			percent = p
			text = fmt.Sprintf("%s has used %d of %d minutes of %s this %s", r.Key, u.seconds[name]/60, limit, name, budget.Period)
		}
	}
	return percent, text
}
