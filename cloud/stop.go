package cloud

import (
	"fmt"
	"time"

	"fsub/cloud/agentapi"
	"fsub/federation"
	"fsub/federation/reasons"
)

// stop has a run ended by its agents. What of it no agent was told ends at once, as o says.
func (rs *runs) stop(r *run, why agentapi.Why, o outcome) {
	if r.Stop != nil && (why != agentapi.WhyCancel || r.Stop.Why == agentapi.WhyCancel) {
		return
	}
	r.Stop = &agentapi.Stop{Why: why, Grace: rs.t.KillWait}
	if r.job.State == federation.Suspended {
		r.Stop.Grace = 0 // slurmctld too kills at once what is suspended
	}
	rs.put(r.job)
	if !r.sent[0] && r.Members[0].State == "" { // the script cannot have begun
		o.At = rs.now()
		rs.fail(r, o)
		return
	}
	if r.End != nil && (r.End.State == federation.Pending || r.replaces()) && why == agentapi.WhyCancel {
		r.End.State, r.End.Reason = federation.Cancelled, reasons.None // it does not run again
	}
	r.job.unsuspend(rs.now())
	r.job.State = federation.Completing
	rs.tellStop(r)
}

// goOn resumes a run if it is suspended.
func (rs *runs) goOn(r *run) {
	if r.job.State != federation.Suspended {
		return
	}
	r.job.unsuspend(rs.now())
	rs.put(r.job)
	rs.after(func() { r.suspended = false })
	rs.bumpAfter(r)
}

// warn tells the further machines of a run that one of them will be taken: the head's agent signals the job, which may use the time to save its work. The machine
// itself has told its own agent.
func (rs *runs) warn(r *run, at time.Time) {
	if len(r.machines) == 1 || r.Stop != nil || r.End != nil || r.job.State == federation.Pending {
		return
	}
	const margin = 5 * time.Second
	r.Stop = &agentapi.Stop{Why: agentapi.WhyPreempt, Grace: max(at.Sub(rs.now())-margin, time.Second)}
	rs.put(r.job)
	rs.bumpAfter(r)
}

// overdue stops a run whose agent should have ended it for its time limit. It returns the machines to be ended since their agents do not end a run.
func (rs *runs) overdue(j *job, now time.Time) (stuck []*machine) {
	r := j.run
	if r == nil || j.Start.IsZero() {
		return nil
	}
	if r.Stop != nil {
		return rs.stuck(r, now)
	}
	limit := j.limit(r.machines[0].pool)
	if late := rs.t.KillWait + rs.t.Margin; limit < 1<<62 && j.elapsed(now) > limit+late {
		rs.log.Warn("an agent has let a job's time limit pass", "job", j.id(), "limit", limit)
		rs.stop(r, agentapi.WhyTimeout, outcome{State: federation.Timeout, Reason: reasons.TimeLimit})
	}
	return nil
}

// unkillable is how long a run that is being ended may take, beyond all graces, before its machine is given up: its processes hang in the kernel, or its agent
// does (Slurm: UnkillableStepTimeout).
const unkillable = 3 * time.Minute

// stuck returns the machines whose agents live and do not end a run that they were told to end. They are to be ended, and the run is over when the cloud says
// that they are.
func (rs *runs) stuck(r *run, now time.Time) (stuck []*machine) {
	if r.told == nil {
		return nil
	}
	limit := r.told.Grace + rs.t.KillWait + rs.t.Margin + unkillable
	if len(r.job.Job.Spec.Keeps()) > 0 {
		limit += agentapi.SaveTime
	}
	for i, m := range r.machines {
		if r.Members[i].State == agentapi.RunEnded || m.State != machineUp {
			continue
		}
		if m.stops[r.ID].IsZero() {
			m.stops[r.ID] = now
		}
		if now.Sub(m.stops[r.ID]) < limit {
			continue
		}
		m.drain = fmt.Sprintf("its agent does not end job %d", r.job.id())
		if len(m.stops) == len(m.runs) { // others go on until they have ended
			stuck = append(stuck, m)
		}
	}
	return stuck
}
