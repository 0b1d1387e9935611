package cloud

import (
	"fmt"
	"time"

	"fsub/federation"
)

// spent is what the machines of a pool that have ended have cost since the beginning of the day and of the month, by UTC.
type spent struct {
	day, month         time.Time // when they began
	dayCost, monthCost federation.Dollars
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

// within is what a machine has cost between since and until.
func (m *machineRecord) within(since, until time.Time) federation.Dollars {
	if m.Created.IsZero() {
		return 0
	}
	if m.Created.After(since) {
		since = m.Created
	}
	if !m.Ended.IsZero() && m.Ended.Before(until) {
		until = m.Ended
	}
	return m.Price * federation.Dollars(max(until.Sub(since), 0).Hours())
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
func (p *pool) spending(now time.Time) (day, month federation.Dollars) {
	day, month = p.spent.dayCost, p.spent.monthCost
	for _, l := range p.lanes {
		for _, m := range l.machines {
			day += m.within(p.spent.day, now)
			month += m.within(p.spent.month, now)
		}
	}
	return day, month
}

// overBudget says why the pool may start no machine: "" if it may.
func (p *pool) overBudget(now time.Time) string {
	if p.Daily == 0 && p.Monthly == 0 {
		return ""
	}
	day, month := p.spending(now)
	switch {
	case p.Daily > 0 && day >= p.Daily:
		return fmt.Sprintf("pool %s has spent $%.2f of its $%.2f for today", p.Name, day, p.Daily)
	case p.Monthly > 0 && month >= p.Monthly:
		return fmt.Sprintf("pool %s has spent $%.2f of its $%.2f for this month", p.Name, month, p.Monthly)
	}
	return ""
}
