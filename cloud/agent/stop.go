package agent

import (
	"fmt"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"fsub/cloud/agentapi"
)

// ending is how a running script is being ended. Its zero value: it is not.
type ending struct {
	term   <-chan time.Time // when SIGTERM is due
	kill   <-chan time.Time // when SIGKILL is
	killAt time.Time
	spared bool
	turn   int // of terminate: which processes were signalled so far
}

// stop ends the run: SIGCONT and SIGTERM, and SIGKILL after the grace. Asked again it can only become sooner.
func (e *ending) stop(r *run, s agentapi.Stop) {
	e.killBy(time.Now().Add(s.Grace))
	if r.pause.on && s.Grace <= 0 { // it is killed where it stands
		r.endPause()
		r.why = s.Why
		return
	}
	r.goOn()
	switch {
	case r.why == "" && s.Why == agentapi.WhyPreempt: // another machine of the gang is taken
		e.preempt(r, e.killAt)
	case r.why == "":
		r.why = s.Why
		e.say(r)
		e.terminate(r)
	case e.term != nil && s.Why != agentapi.WhyPreempt: // the script was only warned so far
		e.terminate(r)
	}
}

func (e *ending) killBy(at time.Time) {
	if e.killAt.IsZero() || at.Before(e.killAt) {
		e.killAt, e.kill = at, time.After(time.Until(at))
	}
}

// say writes slurmstepd's sentence to the job's standard error.
func (e *ending) say(r *run) {
	because := ""
	switch r.why {
	case agentapi.WhyTimeout:
		because = " DUE TO TIME LIMIT"
	case agentapi.WhyPreempt:
		because = " DUE TO PREEMPTION"
	case agentapi.WhyNode, agentapi.WhyLease:
		because = " DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS"
	case agentapi.WhyRequeue:
		because = " DUE TO JOB REQUEUE"
	}
	r.p.Say(fmt.Sprintf("slurmstepd: error: *** JOB %d ON %s CANCELLED AT %s%s ***", r.l.Job, r.node.Name, time.Now().Format("2006-01-02T15:04:05"), because))
}

// The script is signalled before its steps, so that it does not go on after an srun that was ended;
// and they before their sruns, since an srun that gets SIGTERM without knowing why kills its step.
const (
	stepLead = 20 * time.Millisecond
	srunLead = 50 * time.Millisecond
)

// terminate sends SIGCONT and SIGTERM to all. Where steps run it does so in turns, and is due again
// for the next one.
func (e *ending) terminate(r *run) {
	e.term = nil
	if e.turn == 0 && !r.steps.running() {
		e.turn = 3
		r.steps.stop(r.why, time.Until(e.killAt)) // there shall be none from now on
		r.p.SignalAll(syscall.SIGCONT)
		r.p.SignalAll(syscall.SIGTERM)
		return
	}
	switch e.turn++; e.turn {
	case 1:
		e.term = time.After(stepLead)
		r.p.Note()
		r.p.Signal(syscall.SIGCONT)
		r.p.Signal(syscall.SIGTERM)
	case 2:
		e.term = time.After(srunLead)
		r.steps.stop(r.why, time.Until(e.killAt))
	case 3:
		r.p.SignalNoted(syscall.SIGCONT) // what the script's handler started meanwhile is not for it
		r.p.SignalNoted(syscall.SIGTERM)
	}
}

// preempt tells the script that the machine goes at a time, and lets it use the time up to a
// margin: a job that asks for a signal gets that one first and SIGTERM later.
func (e *ending) preempt(r *run, at time.Time) {
	if r.why != "" {
		return // on its way already
	}
	r.goOn()
	r.why = agentapi.WhyPreempt
	lead := time.Until(at)
	e.killBy(at.Add(-min(max(lead/10, 200*time.Millisecond), 10*time.Second)))
	e.say(r)
	e.tellKeeper(r)
	s := r.spec().Signal
	if s == nil {
		e.terminate(r)
		return
	}
	r.warn()
	e.term = time.After(time.Until(e.killAt) - min(r.l.KillWait, lead/4))
}

// signalNumber reads a signal as sbatch and scancel write it: "USR1" or a number.
func signalNumber(name string) (syscall.Signal, bool) {
	if n, err := strconv.Atoi(name); err == nil {
		return syscall.Signal(n), n > 0 && n < 65
	}
	sig := unix.SignalNum("SIG" + name)
	return sig, sig != 0
}
