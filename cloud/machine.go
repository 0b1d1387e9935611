package cloud

import (
	"strings"
	"time"

	"fsub/cloud/agentapi"
	"fsub/cloud/provider"
	"fsub/federation"
)

// recorded has a machine written, if it is one that has a record.
func (d *Driver) recorded(m *machine) {
	if m.State != machineAsked && m.Instance != "" {
		d.put(m)
	}
}

// endMachine ends a machine on which nothing runs.
func (d *Driver) endMachine(m *machine, why string) {
	if m.State != machineBooting && m.State != machineUp {
		return
	}
	d.log.Info("machine to be ended", "machine", m.id, "pool", m.Pool, "why", why)
	m.State, m.Why, m.drain = machineEnding, why, why
	d.put(m)
	d.after(func() {
		m.deleteAt = d.now()
		m.bump()
		poke(d.ender)
	})
	d.news.nodes()
}

// gone takes in that a machine runs nothing any more, by the cloud's own word: what it had is over, and so is it.
func (d *Driver) gone(m *machine, why string) {
	if m.State == machineEnded {
		return
	}
	booting := m.State == machineAsked || m.State == machineBooting
	d.failMachine(m, why, m.taken(why))
	if booting {
		d.bootFailed(m)
	}
	now := d.now()
	m.settleBusy(now)
	m.State, m.Ended = machineEnded, now
	if m.Why == "" {
		m.Why = why
	}
	m.Cost = m.Price.For(m.Ended.Sub(m.Created))
	m.IdleCost = m.Price.For(m.Ended.Sub(m.Created) - m.Busy)
	d.put(m)
	d.settled[m.Instance] = true
	m.pool.spent.machineEnded(m)
	d.metrics.machineEnded(m)
	d.log.Info("machine ended", "machine", m.id, "pool", m.Pool, "why", m.Why, "dollars", m.Cost.Dollars())
	d.remove(m)
	m.bump()
	d.closeGang(m.gang)
	d.capacity(m.pool)
	d.news.nodes()
}

// failed ends a machine that is not to be trusted with anything any more, and what it had: nothing of that lives, which the caller knows.
func (d *Driver) failed(m *machine, why string) {
	if m.State == machineEnded || m.State == machineEnding {
		return
	}
	d.failMachine(m, why, m.announced())
	d.endMachine(m, why)
}

// failMachine ends the runs of a machine on which nothing lives. A gang that has not come up fails as one.
func (d *Driver) failMachine(m *machine, why string, preempted bool) {
	m.drain = why
	for _, r := range values(m.runs) {
		if r.job.State == federation.Pending { // its machines were not all up: nothing has begun
			m.give(r, r.memberOf(m), d.now())
			d.unbind(r, true, m.Name+": "+why)
			continue
		}
		k := r.memberOf(m)
		lived := k.State != agentapi.RunEnded
		k.State = agentapi.RunEnded
		o := outcome{State: federation.NodeFail, Reason: federation.ReasonNodeDown, Detail: m.Name + ": " + why, At: d.now()}
		if preempted {
			o.State, o.Reason = federation.Preempted, federation.ReasonNone
		}
		o.asStopped(r.Stop)
		d.put(r.job)
		if lived && r.End != nil && r.End.Reason == federation.ReasonNonZeroExit {
			r.End = nil // the script failed because the machine did, and was faster
		}
		d.fail(r, o)
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
	case m.Market == provider.Block && m.lane.ends(m.pool.d.now(), 0):
		return true
	}
	return strings.Contains(strings.ToLower(why), "spot") || m.Market == provider.Spot && (why == endedUnsaid || why == endedUnseen)
}

// lateMachine ends a machine that did not come up in time, or is silent for so long that its agent has ended what it had.
func (d *Driver) lateMachine(m *machine, now time.Time) {
	switch m.State {
	case machineBooting:
		if now.After(m.gang.Expires) {
			d.failed(m, "it did not say hello in time")
			d.bootFailed(m)
		}
	case machineUp:
		if now.After(m.lapse) {
			d.failed(m, "its agent was not heard for "+d.t.Lease.String())
		}
	}
}

// bootFailed lets the offering of a machine that did not come up alone for a while.
func (d *Driver) bootFailed(m *machine) {
	d.coolDown(coolKeys(&m.gang.Offering)[provider.ScopeOffering], &m.gang.Offering, &provider.Error{Kind: kindBoot, Text: m.Name + " did not come up"})
}

// heard notes that a machine has been given an answer: its lease runs anew.
func (d *Driver) heard(m *machine) {
	if silence := d.t.Lease + d.t.KillWait; silence > m.Silence {
		m.Silence = silence
		d.recorded(m)
	}
	m.lapse = d.now().Add(m.Silence + d.t.Margin)
}

func values[K comparable, V any](m map[K]V) []V {
	out := make([]V, 0, len(m))
	for _, v := range m {
		out = append(out, v)
	}
	return out
}
