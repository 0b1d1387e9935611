package cloud

import (
	"time"

	"fsub/sbatch"
)

// Some machines are rented for a time that is asked for, after which the cloud takes them back (Offering.Run). They are asked for until the job that they are for will
// have ended: what is wanted for a shorter time a cloud has sooner. Later jobs have them if they will have ended by then.

// runMargin is for what a job does besides running: its files come and go.
const runMargin = 10 * time.Minute

// runFor is for how long the machines of a new gang are asked for; 0: they stay.
func (g *gang) runFor(j *job) time.Duration {
	most, limit := g.Offering.Run, j.limit(g.pool)
	if most == 0 || limit >= most || limit == sbatch.Unlimited {
		return most
	}
	t := g.pool.fleet.t
	return min(most, (limit + t.bootWithin(&g.Offering) + t.KillWait + runMargin + time.Minute - 1).Truncate(time.Minute))
}

// until is when the cloud takes a machine back; zero: that is not known.
func (m *machine) until() time.Time {
	if m.gang.Run == 0 || m.Created.IsZero() {
		return time.Time{}
	}
	return m.Created.Add(m.gang.Run)
}

// until is when the cloud takes the first of a run's machines back; zero: that is not known of any.
func (r *run) until() (first time.Time) {
	for _, m := range r.machines {
		if at := m.until(); !at.IsZero() && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	return first
}

// lasts reports whether a machine is there for as long as a job may run on it.
func (m *machine) lasts(j *job) bool {
	if m.gang.Run == 0 {
		return true
	}
	limit, from, now := j.limit(m.pool), m.Created, m.pool.fleet.now()
	if from.IsZero() { // it is being asked for: its time has not begun
		from = now
	}
	if m.State != machineUp {
		now = now.Add(m.gang.Offering.Boot)
	}
	return limit < sbatch.Unlimited && !now.Add(limit+m.pool.fleet.t.KillWait).After(from.Add(m.gang.Run))
}
