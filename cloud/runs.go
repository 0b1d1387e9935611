package cloud

import (
	"time"

	"fsub/cloud/agentapi"
	"fsub/federation"
	"fsub/federation/reasons"
)

// runs starts, stops and ends jobs on their machines.
type runs struct {
	*base
	queue *queue
	jobs  *jobTable
}

// advance does what is next for a run that has no end yet.
func (rs *runs) advance(r *run) {
	j := r.job
	if j.run != r || r.End != nil || !r.up() {
		return
	}
	if j.State == federation.Pending {
		j.State, j.Reason, j.Detail, j.Start = federation.Configuring, reasons.None, "", rs.now()
		j.replaced(r)
		rs.release(j)
		rs.put(j)
		for i, m := range r.machines {
			if m.waited(r, &r.Members[i], j.Start) {
				rs.recorded(m)
			}
		}
		rs.after(func() {
			r.visible = true
			r.bump()
		})
	}
	if r.visible {
		r.bump()
	}
}

// registered starts what waited for a gang's last machine to register, or to be given up.
func (rs *runs) registered(g *gang) {
	if g.registers() {
		return
	}
	for _, m := range g.machines {
		for _, r := range values(m.runs) {
			rs.advance(r)
		}
	}
}

// fail decides how a run ends, unless that is decided.
func (rs *runs) fail(r *run, o outcome) {
	if r.End == nil {
		r.End = &o
		r.job.unsuspend(rs.now())
		r.job.State = federation.Completing
		rs.put(r.job)
	}
	rs.settle(r)
}

// settle stops what lives of a run whose end is decided, and completes it when nothing does.
func (rs *runs) settle(r *run) {
	if r.End == nil || r.job.run != r {
		return
	}
	living := false
	for i := range r.Members {
		k := &r.Members[i]
		if k.State != agentapi.RunEnded && !r.sent[i] && k.State == "" {
			k.State = agentapi.RunEnded // its agent was never told of it
		}
		living = living || k.State != agentapi.RunEnded
	}
	if !living {
		rs.complete(r)
		return
	}
	if r.Stop == nil {
		r.Stop = &agentapi.Stop{Why: whyOf(r.End.State), Grace: rs.t.KillWait}
	}
	rs.put(r.job)
	rs.bumpAfter(r)
}

// bumpAfter shows the run's machines their orders once what was put is durable: an agent that forgets a run, or stops it, must not know more than the records.
func (rs *runs) bumpAfter(r *run) {
	rs.after(func() {
		r.told = r.Stop
		for _, m := range r.machines {
			if _, ok := m.over[r.ID]; ok {
				m.over[r.ID] = true
			}
			m.bump()
		}
	})
}

// whyOf is what the further machines of a gang are told when it ends.
func whyOf(s federation.State) agentapi.Why {
	switch s {
	case federation.Completed, federation.Failed:
		return agentapi.WhyExit
	case federation.Cancelled:
		return agentapi.WhyCancel
	case federation.Pending:
		return agentapi.WhyRequeue
	case federation.Timeout:
		return agentapi.WhyTimeout
	case federation.OutOfMemory:
		return agentapi.WhyMemory
	case federation.Preempted:
		return agentapi.WhyPreempt
	}
	return agentapi.WhyNode
}

// complete ends a run of which nothing lives: its machines are free, and the job has ended or waits again.
func (rs *runs) complete(r *run) {
	j, now := r.job, rs.now()
	for i, m := range r.machines {
		m.give(r, &r.Members[i], j.charged(r.End.At), now)
		m.over[r.ID] = false
		m.dropSignals(r.ID)
		rs.recorded(m)
		m.pool.wake()
	}
	j.run, j.Steps = nil, r.stepsAtEnd()
	if replaces := r.replaces(); replaces || r.End.State == federation.Pending {
		j.keepRun(r)
		j.State, j.Reason, j.Detail, j.Start, j.Suspension = federation.Pending, r.End.Reason, r.End.Detail, time.Time{}, federation.Suspension{}
		j.Restarts++
		if j.NotBefore = now.Add(rs.t.Again); replaces {
			_, within := j.Job.Spec.NodeLoss()
			rs.keep(j, r, within, true)
			j.NotBefore = time.Time{}
		}
		rs.put(j)
		rs.queue.enqueue(j)
	} else {
		rs.finish(j, *r.End)
	}
	rs.bumpAfter(r)
	rs.news.nodes()
}

// finish ends a job.
func (rs *runs) finish(j *job, o outcome) {
	rs.queue.dequeue(j)
	rs.release(j)
	j.unsuspend(o.At)
	j.State, j.Reason, j.Detail, j.Exit, j.End = o.State, o.Reason, o.Detail, o.Exit, o.At
	if j.End.Before(j.Start) {
		j.End = j.Start
	}
	rs.jobs.end(j)
}

// unbind takes a job's machines away before it has started on any: it waits again, unless its machines failed to boot too often.
func (rs *runs) unbind(r *run, boot bool, why string) {
	j, now := r.job, rs.now()
	for i, m := range r.machines {
		m.give(r, &r.Members[i], 0, now)
		rs.recorded(m)
		m.pool.wake()
	}
	j.run, j.Run = nil, nil
	if boot {
		if j.Boots++; j.Boots >= rs.t.Boots {
			rs.finish(j, outcome{State: federation.BootFail, Reason: reasons.Boot, Detail: why, At: now})
			return
		}
	}
	if r.keepable() && (boot || j.Kept != nil) {
		rs.keep(j, r, rs.t.bootWithin(&r.machines[0].gang.Offering), false)
	}
	j.State, j.Reason, j.Start = federation.Pending, reasons.Resources, time.Time{}
	rs.put(j)
	rs.queue.enqueue(j)
}

// failMachine ends the runs of a machine on which nothing lives. A gang that has not come up fails as one.
func (rs *runs) failMachine(m *machine, why string, preempted bool) {
	m.drain = why
	if j := m.keeper; j != nil && len(m.runs) == 0 {
		j.lose(m, why, rs.now())
		rs.put(j)
	}
	for _, r := range values(m.runs) {
		if r.job.State == federation.Pending { // its machines were not all up: nothing has begun
			m.give(r, r.memberOf(m), 0, rs.now())
			rs.unbind(r, true, m.Name+": "+why)
			continue
		}
		if rs.shrink(r, m, why) {
			continue
		}
		k := r.memberOf(m)
		lived := k.State != agentapi.RunEnded
		k.State = agentapi.RunEnded
		o := outcome{State: federation.NodeFail, Reason: reasons.NodeDown, Detail: m.Name + ": " + why, At: rs.now()}
		if preempted {
			o.State, o.Reason = federation.Preempted, reasons.None
		}
		o.asStopped(r.Stop)
		rs.put(r.job)
		if lived && r.End != nil && r.End.Reason == reasons.NonZeroExit {
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
		o.State, o.Reason = federation.Cancelled, reasons.None
	case agentapi.WhyRequeue:
		o.State, o.Reason = federation.Pending, reasons.None
	case agentapi.WhyTimeout:
		o.State, o.Reason = federation.Timeout, reasons.TimeLimit
	}
}

// lostRun ends a job one of whose machines is not in the records any more: it had ended, and the batch with the job's end was not written.
func (rs *runs) lostRun(j *job, k *member) {
	rs.log.Warn("a machine of a job is not recorded", "job", j.id(), "machine", k.Machine)
	rs.finish(j, outcome{State: federation.NodeFail, Reason: reasons.NodeDown, Detail: k.Name + " is gone", At: rs.now()})
}
