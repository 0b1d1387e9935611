package cloud

import (
	"fmt"
	"slices"
	"time"

	"fsub/federation"
	"fsub/federation/reasons"
	"fsub/sbatch"
	"fsub/slurm/wire"
)

// spent is what the machines of a pool that have ended have cost since the beginning of the day and of the month, by UTC.
type spent struct {
	day, month         time.Time // when they began
	dayCost, monthCost federation.Money
	why                string // as of the last look: why no machine may be started
}

// roll begins a new day or month when there is one; it reports whether that happened.
func (s *spent) roll(now time.Time) bool {
	day := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, time.UTC)
	if s.day.Equal(day) {
		return false
	}
	first := s.day.IsZero()
	s.day, s.dayCost = day, 0
	if month := day.AddDate(0, 0, 1-day.Day()); !s.month.Equal(month) {
		s.month, s.monthCost = month, 0
	}
	return !first
}

// settle ends a machine, and says what it has cost. at is when the cloud stopped charging for it, by its own word; where it tells none, or one that cannot be,
// that is now.
func (m *machineRecord) settle(at, now time.Time) {
	if at.IsZero() || at.After(now) || at.Before(m.Created) {
		at = now
	}
	m.State, m.Ended, m.BusyFrom = machineEnded, at.UTC(), time.Time{}
	m.Cost = m.Price.For(max(m.Ended.Sub(m.Created), m.Least))
	m.IdleCost = m.Cost - min(m.Price.For(m.Busy), m.Cost)
}

// within is what a machine has cost between since and until.
func (m *machineRecord) within(since, until time.Time) federation.Money {
	if m.Created.IsZero() {
		return 0
	}
	if m.Created.After(since) {
		since = m.Created
	}
	if !m.Ended.IsZero() && m.Ended.Before(until) {
		until = m.Ended
	}
	return m.Price.For(until.Sub(since))
}

func (s *spent) machineEnded(m *machine) {
	s.roll(m.Ended)
	s.add(&m.machineRecord)
}

func (s *spent) add(m *machineRecord) {
	s.dayCost += m.within(s.day, m.Ended)
	s.monthCost += m.within(s.month, m.Ended)
}

// spending is what the pool has spent in this day and month, with what runs.
func (p *pool) spending(now time.Time) (day, month federation.Money) {
	day, month = p.spent.dayCost, p.spent.monthCost
	for _, ng := range p.groups {
		for _, m := range ng.machines {
			day += m.within(p.spent.day, now)
			month += m.within(p.spent.month, now)
		}
	}
	return day, month
}

// The names of allowances of now.
const (
	today     = "today"
	thisMonth = "this month"
)

// daysAhead is over how many days the daily budget is looked after: today and those that follow. A job that runs for longer has found three days' budgets that bear it.
const daysAhead = 3

// allowances are what the pool may spend: today and in the next days, in this month and the next. nil: as much as it likes.
func (p *pool) allowances(now time.Time) []federation.Allowance {
	if p.Daily == 0 && p.Monthly == 0 {
		return nil
	}
	p.spent.roll(now)
	day, month := p.spending(now)
	var all []federation.Allowance
	if p.Daily > 0 {
		for i := range daysAhead {
			a := federation.Allowance{Name: today, From: p.spent.day.AddDate(0, 0, i), Until: p.spent.day.AddDate(0, 0, i+1), Budget: p.Daily, Spent: day}
			if i > 0 {
				a.Name, a.Spent = "on "+a.From.Format(time.DateOnly), 0
			}
			all = append(all, a)
		}
	}
	if p.Monthly > 0 {
		next, after := p.spent.month.AddDate(0, 1, 0), p.spent.month.AddDate(0, 2, 0)
		all = append(all, federation.Allowance{Name: thisMonth, From: p.spent.month, Until: next, Budget: p.Monthly, Spent: month},
			federation.Allowance{Name: "in " + next.Format("2006-01"), From: next, Until: after, Budget: p.Monthly})
	}
	p.bind(all, now)
	return all
}

// bind adds to allowances what machines with jobs will cost.
func (p *pool) bind(all []federation.Allowance, now time.Time) {
	for _, ng := range p.groups {
		for _, m := range ng.machines {
			until := m.boundUntil(now, nil)
			for i := range all {
				all[i].Bound += all[i].Share(m.Price, now, until)
			}
		}
	}
}

// boundUntil is when the last of a machine's jobs will have ended, but for one; now, if it has no other.
func (m *machine) boundUntil(now time.Time, but *run) time.Time {
	until := now
	for _, r := range m.runs {
		if r == but {
			continue
		}
		if end := r.endsAt(m, now); end.After(until) {
			until = end
		}
	}
	return until
}

// endsAt is when a run leaves a machine at the latest; of one without a time limit, when that is expected.
func (r *run) endsAt(m *machine, now time.Time) time.Time {
	j, start := r.job, r.job.Start
	if start.IsZero() {
		start = now
		if ready := m.gang.Asked.Add(m.gang.Offering.Boot); m.State != machineUp && ready.After(now) {
			start = ready
		}
	}
	limit := j.limit(m.pool)
	start = start.Add(j.Suspension.Suspended(start, now, j.State == federation.Suspended)) // as if it went on now
	return federation.HeldUntil(start, now, limit, j.Expect, m.pool.fleet.t.KillWait)
}

// afford binds what a run will cost, if the budgets of its pools bear that.
func (s *scheduler) afford(r *run) (refusal, bool) {
	now := s.now()
	costs := map[*pool][]federation.Money{}
	seen := map[*machine]bool{}
	for _, m := range r.machines {
		p := m.pool
		if seen[m] || p.Daily == 0 && p.Monthly == 0 {
			continue
		}
		seen[m] = true
		if p.allowed == nil {
			p.allowed = p.allowances(now)
			p.unbind(r, now) // it is given its machines already
		}
		if costs[p] == nil {
			costs[p] = make([]federation.Money, len(p.allowed))
		}
		from, until := m.boundUntil(now, r), m.boundUntil(now, nil)
		for i := range p.allowed {
			costs[p][i] += p.allowed[i].Share(m.Price, from, until)
		}
	}
	for p, list := range costs {
		for i, cost := range list {
			if a := &p.allowed[i]; !a.Bears(cost) {
				return refusal{reason: reasons.Budget, detail: "pool " + p.Name + ": " + a.Refuses(cost).Text(), back: true}, false
			}
		}
	}
	for p, list := range costs {
		for i, cost := range list {
			p.allowed[i].Bound += cost
		}
	}
	return refusal{}, true
}

// mayPay refuses a time limit for a job with machines that the budgets of its pools do not bear.
func (d *Driver) mayPay(j *job, limit time.Duration) error {
	r, now, was := j.run, d.now(), j.Job.Spec
	if r == nil || limit == was.TimeLimit {
		return nil
	}
	until := func(limit time.Duration) (list []time.Time) {
		j.Job.EditSpec(func(spec *sbatch.Spec) { spec.TimeLimit = limit })
		for _, m := range r.machines {
			list = append(list, m.boundUntil(now, nil))
		}
		return list
	}
	from, to := until(was.TimeLimit), until(limit)
	j.Job.Spec = was
	for _, p := range d.pools.all {
		all := p.allowances(now)
		for i := range all {
			cost := federation.Money(0)
			for k, m := range r.machines {
				if m.pool == p && !slices.Contains(r.machines[:k], m) {
					cost += all[i].Share(m.Price, from[k], to[k])
				}
			}
			if !all[i].Bears(cost) {
				return &federation.SlurmError{Kind: federation.ErrInvalid, Number: wire.ErrAccountingPolicy,
					Text: fmt.Sprintf("Job violates accounting/QOS policy (budget of pool %s: with that limit it %s)", p.Name, all[i].Refuses(cost).Text())}
			}
		}
	}
	return nil
}

// unbind takes back what a run that is thought of has added to the allowances of a pool.
func (p *pool) unbind(r *run, now time.Time) {
	for _, ng := range p.groups {
		for _, m := range ng.machines {
			if m.runs[r.ID] != r {
				continue
			}
			from, until := m.boundUntil(now, r), m.boundUntil(now, nil)
			for i := range p.allowed {
				p.allowed[i].Bound -= p.allowed[i].Share(m.Price, from, until)
			}
		}
	}
}

// overBudget says why the pool may start no machine, and has its idle ones ended: "" if it may. What runs goes on.
func (p *pool) overBudget(now time.Time) string {
	for _, a := range p.allowances(now) {
		if a.From.After(now) || a.Left() > 0 {
			continue
		}
		why := fmt.Sprintf("pool %s has spent %s of its %s for %s", p.Name, a.Spent.USD(), a.Budget.USD(), a.Name)
		if a.Bound >= 0.005*federation.Dollar {
			why += fmt.Sprintf(", and running jobs may cost %s more", a.Bound.USD())
		}
		return why
	}
	return ""
}

// bears reports whether the pool can pay a machine of a price by the hour for another hour, that no job binds.
func (p *pool) bears(price federation.Money, now time.Time) bool {
	for _, a := range p.allowances(now) {
		if !a.Bears(a.Share(price, now, now.Add(time.Hour))) {
			return false
		}
	}
	return true
}
