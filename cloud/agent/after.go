package agent

import (
	"fmt"
	"syscall"
	"time"

	"fsub/cloud/agentapi"
)

// afterScript ends what the script has left, here and on the gang, and notes how it ended.
func (r *run) afterScript() {
	if r.endSteps() {
		r.awaitSruns()
	}
	r.p.Kill()
	<-r.p.Done
	oom := r.group.oomKills()
	if oom > 0 {
		events := "event"
		if oom > 1 {
			events = "events"
		}
		r.p.Say(fmt.Sprintf("slurmstepd: error: Detected %d oom_kill %s in StepId=%d.batch. Some of the step tasks have been OOM Killed.", oom, events, r.l.Job))
		if r.why == "" {
			r.why = agentapi.WhyMemory
		}
	}
	r.blameMachine()
	r.used.last(r.p.Usage)
	r.closeStreams()
	r.mu.Lock()
	r.status.Exit = int32(r.p.Status)
	if r.why == agentapi.WhyMemory {
		r.status.Exit = memoryExit
	}
	r.mu.Unlock()
}

// memoryExit is the exit code that Slurm records for a job that met its memory limit, whatever its
// script did: 0:125.
const memoryExit = 125

// shutdownGap is how much earlier a script may feel the machine's shutdown than its agent.
const shutdownGap = 500 * time.Millisecond

// blameMachine looks whether a script that failed, or one that died before it began, did so because
// the machine goes: a shutdown signals all processes at once, and the script may be the fastest to end.
func (r *run) blameMachine() {
	if r.why != "" || r.p.Status == 0 || r.a.look == nil && !r.a.cfg.Boot.PowerOff {
		return
	}
	if r.a.announced() {
		r.why = agentapi.WhyPreempt
		return
	}
	patience := time.Duration(0)
	if r.p.Failed != nil || r.p.Status.Signal() == syscall.SIGTERM || r.p.Status.ExitStatus() == 128+int(syscall.SIGTERM) {
		patience = r.a.gap
	}
	select {
	case <-r.a.told:
	case <-time.After(patience):
	}
	select {
	case <-r.a.told:
		r.why = agentapi.WhyNode
		if r.a.announced() {
			r.why = agentapi.WhyPreempt
		}
	default:
	}
}

// srunGap is how long an srun may take to end after its step: a machine that has much to do may run
// it some time later. hurriedGap is what it has where the job's time is over.
const (
	srunGap    = 10 * time.Second
	hurriedGap = 300 * time.Millisecond
)

// awaitSruns waits for the last words of those that the script has left behind.
func (r *run) awaitSruns() {
	now := time.Now()
	until := now.Add(srunGap)
	if at := r.e.killAt; !at.IsZero() && at.Before(until) {
		until = now.Add(max(at.Sub(now), hurriedGap))
	}
	for wait := time.Millisecond; r.p.Runs("srun") && time.Now().Before(until); wait = min(2*wait, 50*time.Millisecond) {
		select {
		case s := <-r.inbox.stops:
			until = minTime(until, time.Now().Add(max(s.Grace, hurriedGap)))
		case <-r.p.Done:
			return
		case <-time.After(wait):
		}
	}
}

// endSteps ends the steps that outlive the script: SIGTERM, and SIGKILL after KillWait. Their
// sruns, which the script has left behind, carry what they write until then. It reports whether
// there was a step.
func (r *run) endSteps() bool {
	if !r.steps.known {
		return false
	}
	had := r.steps.running()
	r.steps.stop(r.why, r.l.KillWait)
	until := time.Now().Add(r.l.KillWait + time.Second)
	if !r.e.killAt.IsZero() {
		until = minTime(until, r.e.killAt)
	}
	for wait := time.Millisecond; r.steps.running() && time.Now().Before(until); wait = min(2*wait, 100*time.Millisecond) {
		select {
		case s := <-r.inbox.stops:
			until = minTime(until, time.Now().Add(s.Grace))
		case <-time.After(wait):
		}
	}
	return had
}

func minTime(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
