package agent

import (
	"syscall"
	"time"

	"fsub/cloud/agentapi"
)

// tellKeeper has the script that carries a job's files know that the job is told to end, so that it saves what the job keeps (#FSUB --keep): the signals that the job asks
// for may go to its steps alone. Any other process ignores SIGURG.
func (*ending) tellKeeper(r *run) {
	if r.l.SavesItself() {
		r.p.Signal(syscall.SIGURG)
	}
}

// spare kills all processes of a job that saves what it keeps but the first one, which does so, and gives that its time. It reports false for any other job, for one that had
// its time, and for one whose machine goes.
func (e *ending) spare(r *run) bool {
	if e.spared || !r.l.SavesItself() || r.why == agentapi.WhyPreempt || r.why == agentapi.WhyLease || r.why == agentapi.WhyNode {
		return false
	}
	e.spared = true
	r.steps.stop(r.why, 0)
	r.p.SignalRest(syscall.SIGKILL)
	e.killAt = time.Now().Add(agentapi.SaveTime)
	e.kill = time.After(agentapi.SaveTime)
	return true
}
