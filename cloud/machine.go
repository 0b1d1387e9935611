package cloud

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"fsub/cloud/agentapi"
	"fsub/cloud/provider"
	"fsub/federation"
)

// recorded has a machine written, if it is one that has a record.
func (f *fleet) recorded(m *machine) {
	if m.State != machineAsked && m.Instance != "" {
		f.put(m)
	}
}

// slice is the machines that go when one goes, itself among them.
func (m *machine) slice() []*machine {
	h := m.group.hosts()
	from := m.Index / h * h
	return m.gang.machines[from:min(from+h, len(m.gang.machines))]
}

// sliceFree reports whether no machine of the slice has a job.
func (m *machine) sliceFree() bool {
	return !slices.ContainsFunc(m.slice(), func(m *machine) bool { return len(m.runs) > 0 })
}

// sliceIdle is since when no machine of the slice has a job, where that is so.
func (m *machine) sliceIdle() (since time.Time) {
	for _, one := range m.slice() {
		if one.idle.After(since) {
			since = one.idle
		}
	}
	return since
}

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
	f.after(func() {
		m.deleteAt = f.now()
		m.bump()
		poke(f.sweep.ender)
	})
	f.news.nodes()
}

// gone takes in that a machine runs nothing any more, by the cloud's own word: what it had is over, and so is it.
func (f *fleet) gone(m *machine, why string) {
	if m.State == machineEnded {
		return
	}
	booting := m.State == machineAsked || m.State == machineBooting
	f.runs.failMachine(m, why, m.taken(why))
	if booting {
		f.bootFailed(m)
	}
	now := f.now()
	m.settleBusy(now)
	m.State, m.Ended = machineEnded, now
	if m.Why == "" {
		m.Why = why
	}
	m.Cost = m.Price.For(m.Ended.Sub(m.Created))
	m.IdleCost = m.Price.For(m.Ended.Sub(m.Created) - m.Busy)
	f.put(m)
	f.strays.settled[m.Instance] = true
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
	f.closeGang(m.gang)
	f.queue.capacity(m.pool)
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

// failMachine ends the runs of a machine on which nothing lives. A gang that has not come up fails as one.
func (rs *runs) failMachine(m *machine, why string, preempted bool) {
	m.drain = why
	for _, r := range values(m.runs) {
		if r.job.State == federation.Pending { // its machines were not all up: nothing has begun
			m.give(r, r.memberOf(m), rs.now())
			rs.unbind(r, true, m.Name+": "+why)
			continue
		}
		k := r.memberOf(m)
		lived := k.State != agentapi.RunEnded
		k.State = agentapi.RunEnded
		o := outcome{State: federation.NodeFail, Reason: federation.ReasonNodeDown, Detail: m.Name + ": " + why, At: rs.now()}
		if preempted {
			o.State, o.Reason = federation.Preempted, federation.ReasonNone
		}
		o.asStopped(r.Stop)
		rs.put(r.job)
		if lived && r.End != nil && r.End.Reason == federation.ReasonNonZeroExit {
			r.End = nil // the script failed because the machine did, and was faster
		}
		rs.fail(r, o)
	}
}

// asStopped: a job that was cancelled or requeued, or whose time was up, before its machine was lost ends as that: else it might run again, or not.
func (o *outcome) asStopped(s *agentapi.Stop) {
	if s == nil {
		return
	}
	switch s.Why {
	case agentapi.WhyCancel:
		o.State, o.Reason = federation.Cancelled, federation.ReasonNone
	case agentapi.WhyRequeue:
		o.State, o.Reason = federation.Pending, federation.ReasonNone
	case agentapi.WhyTimeout:
		o.State, o.Reason = federation.Timeout, federation.ReasonTimeLimit
	}
}

// announced reports whether the cloud has said that it takes the machine.
func (m *machine) announced() bool { return m.notice != nil && m.notice.Kind == agentapi.NoticePreempt }

// What is said of a machine's end where the cloud gives no reason.
const (
	endedUnsaid = "the cloud has ended it"
	endedUnseen = "the cloud does not know it any more"
)

// taken reports whether a machine that has ended was taken back by the cloud: by its words, or, of one that may be, for want of any.
func (m *machine) taken(why string) bool {
	switch {
	case m.announced():
		return true
	case m.State == machineEnding:
		return false
	case m.Market == provider.Block && m.group.ends(m.pool.fleet.now(), 0):
		return true
	}
	return strings.Contains(strings.ToLower(why), "spot") || m.Market == provider.Spot && (why == endedUnsaid || why == endedUnseen)
}

// lateMachine ends a machine that did not come up in time, or is silent for so long that its agent has ended what it had.
func (f *fleet) lateMachine(m *machine, now time.Time) {
	switch m.State {
	case machineBooting:
		if now.After(m.gang.Expires) || m.gang.Offering.Queue > 0 && now.Sub(m.Created) > f.t.bootWithin(&m.gang.Offering) {
			f.failed(m, "it did not say hello in time")
			f.bootFailed(m)
		}
	case machineUp:
		if now.After(m.lapse) {
			f.failed(m, "its agent was not heard for "+f.t.Lease.String())
		}
	}
}

// bootFailed lets the offering of a machine that did not come up alone for a while.
func (f *fleet) bootFailed(m *machine) {
	f.cool.begin(coolKeys(&m.gang.Offering)[provider.ScopeOffering], &m.gang.Offering, &provider.Error{Kind: kindBoot, Text: m.Name + " did not come up"})
}

// heard notes that a machine has been given an answer: its lease runs anew.
func (f *fleet) heard(m *machine) {
	if silence := f.t.Lease + f.t.KillWait; silence > m.Silence {
		m.Silence = silence
		f.recorded(m)
	}
	m.lapse = f.now().Add(m.Silence + f.t.Margin)
}

func values[K comparable, V any](m map[K]V) []V {
	out := make([]V, 0, len(m))
	for _, v := range m {
		out = append(out, v)
	}
	return out
}
