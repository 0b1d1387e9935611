package agent

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"fsub/cloud/agent/keeper"
	"fsub/cloud/agentapi"
	"fsub/sbatch"
)

// run is a job's run on this machine. Everything about it happens in the goroutine of live; the others only ask.
type run struct {
	a     *Agent
	l     *agentapi.Launch
	node  agentapi.Node
	head  bool // the batch script runs here
	dir   string
	spool string
	env   []string // what processes of the run have on this machine over what they inherit
	sock  *socket
	group *cgroup
	steps bool // the step service knows the run

	ordered agentapi.Stop // the last one of the orders; the agent's lock guards it
	asked   chan agentapi.Stop
	notes   chan time.Time // when the provider takes the machine
	sends   chan agentapi.Signal
	ended   chan struct{} // nothing of it lives, and the status says so

	mu     sync.Mutex
	status agentapi.Status

	p      *keeper.Process
	why    agentapi.Why // of the stop that came first; "": none did
	e      ending
	begin  time.Time
	output []*stream
	used   *meter
}

// newRun makes a run that has not begun.
func (a *Agent) newRun(l *agentapi.Launch) *run {
	r := &run{a: a, l: l, head: l.Group == 0 && l.Node == 0, ended: make(chan struct{}),
		asked: make(chan agentapi.Stop, 16), notes: make(chan time.Time, 4), sends: make(chan agentapi.Signal, 256)}
	r.status = agentapi.Status{Run: l.Run}
	if l.Group < len(l.Groups) && l.Node < len(l.Groups[l.Group].Nodes) {
		r.node = l.Groups[l.Group].Nodes[l.Node]
	}
	return r
}

// stop asks for the run's end. One that is on its way already is hurried, not delayed.
func (r *run) stop(s agentapi.Stop) {
	select {
	case r.asked <- s:
	default: // as many are waiting
	}
}

func (r *run) preempt(at time.Time) {
	select {
	case r.notes <- at:
	default:
	}
}

func (r *run) signal(s agentapi.Signal) {
	select {
	case r.sends <- s:
	default:
		r.a.log.Warn("too many signals at once", "run", r.l.Run, "signal", s.Name)
	}
}

func (r *run) hasEnded() bool {
	select {
	case <-r.ended:
		return true
	default:
		return false
	}
}

// live is the run's whole life.
func (r *run) live() {
	defer close(r.ended)
	err := r.prepare()
	if err == nil {
		r.tell(func(s *agentapi.Status) { s.State = agentapi.RunReady })
		if r.head {
			err = r.batch()
		} else {
			r.awaitStop()
		}
	}
	r.cleanup()
	r.tell(func(s *agentapi.Status) {
		s.State, s.End, s.Why = agentapi.RunEnded, time.Now().UTC(), r.why
		if err != nil {
			s.Why, s.Detail = agentapi.WhyLaunch, err.Error()
			if errors.As(err, new(*keeper.IOError)) {
				s.Exit = ioExit
			}
		}
	})
	r.a.log.Info("run ended", "run", r.l.Run, "job", r.l.Job, "why", r.status.Why, "err", err)
}

// ioExit is how Slurm books a job whose output could not be opened: 0:53.
const ioExit = 53

// tell changes the status and tells the daemon.
func (r *run) tell(change func(*agentapi.Status)) {
	r.mu.Lock()
	change(&r.status)
	if r.head {
		r.status.Steps = r.stepsNow(r.status)
	}
	s := r.status
	r.mu.Unlock()
	r.a.news.tell(s)
}

// awaitStop is all that a further machine of a gang does: its steps are started from the first, which also tells them to end. They have the grace for that.
func (r *run) awaitStop() {
	var until time.Time
	var kill <-chan time.Time
	idle := time.NewTicker(10 * time.Millisecond)
	idle.Stop()
	defer idle.Stop()
	for {
		select {
		case s := <-r.asked:
			if r.why == "" {
				r.why = s.Why
				idle.Reset(10 * time.Millisecond)
			}
			if at := time.Now().Add(s.Grace); until.IsZero() || at.Before(until) {
				until, kill = at, time.After(s.Grace)
			}
		case <-kill:
			return
		case <-idle.C:
			if !r.steps || r.a.cfg.Steps.Local(r.l.Run) == 0 {
				return
			}
		case <-r.notes: // the gang's first machine is told by the daemon
		case <-r.sends:
		}
	}
}

// batch runs the batch script to its end.
func (r *run) batch() error {
	select {
	case s := <-r.asked:
		r.why = s.Why
		return nil
	default:
	}
	config, err := r.script()
	if err != nil {
		return err
	}
	if r.p, err = keeper.Start(config, os.Stderr); err != nil {
		return fmt.Errorf("start the batch script: %w", err)
	}
	<-r.p.Begun
	if r.p.Failed != nil {
		r.p.Kill()
		<-r.p.Done
		return r.p.Failed
	}
	r.begin = time.Now().UTC()
	r.used = newMeter(r)
	r.openStreams()
	r.tell(func(s *agentapi.Status) { s.State, s.Start = agentapi.RunRunning, r.begin })
	r.follow()
	r.afterScript()
	return nil
}

// follow does what is asked of a running script until it ends.
func (r *run) follow() {
	e := &r.e
	limit, warning := r.deadlines()
	steps := time.NewTicker(time.Second)
	defer steps.Stop()
	for {
		select {
		case <-r.p.Exited:
			return
		case s := <-r.asked:
			e.stop(r, s)
		case at := <-r.notes:
			e.preempt(r, at)
		case s := <-r.sends:
			r.send(s)
		case <-warning:
			r.warn()
		case <-limit:
			e.stop(r, agentapi.Stop{Why: agentapi.WhyTimeout, Grace: r.l.KillWait})
		case <-e.term:
			e.terminate(r)
		case <-e.kill:
			r.p.Kill()
			r.killSteps()
		case <-r.used.tick():
			r.used.look()
		case <-steps.C:
			r.tellSteps()
		}
	}
}

// tellSteps tells the daemon of steps that have begun or ended since it was told last.
func (r *run) tellSteps() {
	if !r.steps {
		return
	}
	r.mu.Lock()
	old := r.status.Steps
	r.mu.Unlock()
	same := func(x, y agentapi.Step) bool { return x.ID == y.ID && x.State == y.State }
	if !slices.EqualFunc(old[min(1, len(old)):], r.a.cfg.Steps.Status(r.l.Run), same) {
		r.tell(func(*agentapi.Status) {})
	}
}

// deadlines are when the time limit is over, and when --signal asks to be warned of it.
func (r *run) deadlines() (limit, warning <-chan time.Time) {
	if r.l.TimeLimit <= 0 || r.l.TimeLimit == sbatch.Unlimited {
		return nil, nil
	}
	start := r.l.Start
	if start.IsZero() || start.After(r.begin) {
		start = r.begin
	}
	left := time.Until(start.Add(r.l.TimeLimit))
	if s := r.spec().Signal; s != nil {
		warning = time.After(left - s.Before)
	}
	return time.After(left), warning
}

// spec is what the job asked for: of a heterogeneous one, the component that this machine is in.
func (r *run) spec() *sbatch.Spec { return &r.l.Groups[r.l.Group].Spec }

// afterScript ends what the script has left, here and on the gang, and notes how it ended.
func (r *run) afterScript() {
	if r.endSteps() {
		select { // the last words of srun
		case <-r.p.Done:
		case <-time.After(srunGap):
		}
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
	r.mu.Unlock()
}

// shutdownGap is how much earlier a script may feel the machine's shutdown than its agent.
const shutdownGap = 500 * time.Millisecond

// blameMachine looks whether a script that failed did so because the machine goes: a shutdown signals all processes at once, and the script may be the
// fastest to end.
func (r *run) blameMachine() {
	if r.why != "" || r.p.Status == 0 || r.a.look == nil && !r.a.cfg.Boot.PowerOff {
		return
	}
	if r.a.announced() {
		r.why = agentapi.WhyPreempt
		return
	}
	patience := time.Duration(0)
	if r.p.Status.Signal() == syscall.SIGTERM || r.p.Status.ExitStatus() == 128+int(syscall.SIGTERM) {
		patience = shutdownGap
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

// srunGap is how long an srun may take to end after its step.
const srunGap = 300 * time.Millisecond

// endSteps ends the steps that outlive the script: SIGTERM, and SIGKILL after KillWait. Their sruns, which the script has left behind, carry what they
// write until then. It reports whether there was a step.
func (r *run) endSteps() bool {
	if !r.steps {
		return false
	}
	had := r.stepsRun()
	r.a.cfg.Steps.Stop(r.l.Run, stepsStop(r.why, r.l.KillWait))
	until := time.Now().Add(r.l.KillWait + time.Second)
	if !r.e.killAt.IsZero() {
		until = minTime(until, r.e.killAt)
	}
	for wait := time.Millisecond; r.stepsRun() && time.Now().Before(until); wait = min(2*wait, 100*time.Millisecond) {
		select {
		case s := <-r.asked:
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

// send sends a signal as scancel means it: to the batch script alone, to all, or to the steps alone.
func (r *run) send(s agentapi.Signal) {
	sig, ok := signalNumber(s.Name)
	switch {
	case !ok:
		r.a.log.Warn("no such signal", "run", r.l.Run, "signal", s.Name)
	case s.Batch:
		r.p.Signal(sig)
	case s.Full:
		r.p.SignalAll(sig)
		r.signalSteps(sig)
	default:
		r.signalSteps(sig)
	}
}

// warn sends what --signal asks for: to the batch shell with B:, else to the steps.
func (r *run) warn() {
	s := r.spec().Signal
	sig, ok := signalNumber(s.Name)
	switch {
	case !ok:
	case s.BatchOnly:
		r.p.Signal(sig)
	default:
		r.signalSteps(sig)
	}
}

func (r *run) signalSteps(sig syscall.Signal) {
	if !r.steps {
		return
	}
	if err := r.a.cfg.Steps.Signal(r.l.Run, "", sig); err != nil {
		r.a.log.Warn("signal to steps", "run", r.l.Run, "signal", sig, "err", err)
	}
}
