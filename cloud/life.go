package cloud

import (
	"cmp"
	"strings"
	"time"

	"fsub/cloud/provider"
)

// endMachine ends a machine on which nothing runs, with the slice that it is of: when the others have no jobs either.
func (f *fleet) endMachine(m *machine, why string) {
	if m.State != machineBooting && m.State != machineUp {
		return
	}
	if m.group.hosts() > 1 {
		for _, one := range m.slice() {
			one.drain = cmp.Or(one.drain, why)
		}
		if !m.sliceFree() {
			return // see tend
		}
		for _, one := range m.slice() {
			if one != m && (one.State == machineBooting || one.State == machineUp) {
				f.endOne(one, why)
			}
		}
	}
	f.endOne(m, why)
}

func (f *fleet) endOne(m *machine, why string) {
	f.log.Info("machine to be ended", "machine", m.id, "pool", m.Pool, "why", why)
	m.State, m.Why, m.drain = machineEnding, why, why
	f.put(m)
	f.runs.registered(m.gang)
	f.after(func() {
		m.deleteAt = f.now()
		m.bump()
		f.sweeps.endSoon()
	})
	f.news.nodes()
}

// gone takes in that a machine runs nothing any more, by the cloud's own word: what it had is over, and so is it.
func (f *fleet) gone(m *machine, why string) { f.goneAt(m, why, time.Time{}) }

// goneAt is the same where the cloud tells when it was, which is what it charges for.
func (f *fleet) goneAt(m *machine, why string, at time.Time) {
	if m.State == machineEnded {
		return
	}
	booting := m.State == machineAsked || m.State == machineBooting
	taken := m.taken(why)
	if taken && m.Market == provider.Spot {
		f.cool.takenBack(&m.gang.Offering)
	}
	why += m.said
	f.runs.failMachine(m, why, taken)
	if booting {
		f.bootFailed(m, why)
	}
	for _, r := range values(m.runs) { // whose other machines have not ended it yet
		if r.End != nil {
			m.give(r, r.memberOf(m), r.job.charged(r.End.At), f.now())
		}
	}
	m.settle(at, f.now())
	m.countDrained(m.Ended)
	f.cool.machineEnded(m, taken)
	if m.Why == "" {
		m.Why = why
	}
	f.put(m)
	f.orphans.settled[m.Instance] = true
	m.pool.spent.machineEnded(m)
	f.metrics.machineEnded(m)
	f.log.Info("machine ended", "machine", m.id, "pool", m.Pool, "why", m.Why, "dollars", m.Cost.Dollars())
	f.remove(m)
	m.bump()
	for _, one := range m.slice() { // the cloud ends them too
		if one.State != machineEnded && one != m {
			one.drain = cmp.Or(one.drain, m.Why)
		}
	}
	f.runs.registered(m.gang)
	f.closeGang(m.gang)
	m.pool.wake()
	f.news.nodes()
}

// failed ends a machine that is not to be trusted with anything any more, and what it had: nothing of that lives, which the caller knows.
func (f *fleet) failed(m *machine, why string) {
	if m.State == machineEnded || m.State == machineEnding {
		return
	}
	f.runs.failMachine(m, why, m.announced())
	f.endMachine(m, why)
}

// lateMachine ends a machine that did not come up in time, or is silent for so long that its agent has ended what it had.
func (f *fleet) lateMachine(m *machine, now time.Time) {
	switch m.State {
	case machineBooting:
		if now.After(m.gang.Expires) || m.gang.Offering.Queue > 0 && now.Sub(m.Created) > f.t.bootWithin(&m.gang.Offering) {
			f.lastWords(m, func() {
				if m.State == machineBooting {
					f.neverUp(m, "it did not say hello in time"+f.unmet()+m.said)
				}
			})
		}
	case machineUp:
		if now.After(m.lapse) {
			f.failed(m, "its agent was not heard for "+f.t.Lease.String())
		}
	}
}

// unmet is what is likely where no machine of the site has ever come up: a wall before the agent server.
func (f *fleet) unmet() string {
	if f.met || !strings.HasPrefix(f.cfg.Boot.URL, "https://") {
		return ""
	}
	return "; no machine of this site has reached the daemon yet: is " + f.cfg.Boot.URL + " open to them?"
}

// neverUp ends a machine that did not come up.
func (f *fleet) neverUp(m *machine, why string) {
	f.failed(m, why)
	f.bootFailed(m, why)
}

// bootFailed lets the offering of a machine that did not come up alone for a while, or all of what the cloud says cannot come up.
func (f *fleet) bootFailed(m *machine, why string) {
	if e := m.refused; e != nil {
		f.cool.begin(coolKeys(&m.gang.Offering)[e.Scope], &m.gang.Offering, e)
		return
	}
	f.cool.begin(coolKeys(&m.gang.Offering)[provider.ScopeOffering], &m.gang.Offering, &provider.Error{Kind: kindBoot, Text: m.Name + " did not come up: " + why})
}

// heard notes that a machine has been given an answer: its lease runs anew.
func (f *fleet) heard(m *machine) {
	if silence := f.t.Lease + f.t.KillWait; silence > m.Silence {
		m.Silence = silence
		f.recorded(m)
	}
	m.lapse = f.now().Add(m.Silence + f.t.Margin)
}

// silent reports whether a machine that is up was not heard for half of the time after which it counts as lost.
func (m *machine) silent(now time.Time, margin time.Duration) bool {
	return now.After(m.lapse.Add(-margin - m.Silence/2))
}

func values[K comparable, V any](m map[K]V) []V {
	out := make([]V, 0, len(m))
	for _, v := range m {
		out = append(out, v)
	}
	return out
}
