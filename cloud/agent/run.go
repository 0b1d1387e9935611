package agent

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"fsub/cloud/agent/keeper"
	"fsub/cloud/agentapi"
	"fsub/sbatch"
)

// run is a job's run on this machine. Everything about it happens in the goroutine of live; the
// others only ask.
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
	limit   time.Duration // the last that was ordered; the agent's lock guards it
	limits  chan time.Duration
	suspend atomic.Bool   // what was ordered
	pauses  chan struct{} // suspend has changed
	again   chan struct{} // tell of all steps once more
	ended   chan struct{} // nothing of it lives, and the status says so

	mu     sync.Mutex
	status agentapi.Status

	told   map[string]string // states of steps that were reported to the daemon, or are about to be
	p      *keeper.Process
	why    agentapi.Why // of the stop that came first; "": none did
	e      ending
	pause  pausing
	begin  time.Time
	output []*stream
	used   *meter
}

// newRun makes a run that has not begun.
func (a *Agent) newRun(l *agentapi.Launch) *run {
	r := &run{a: a, l: l, head: l.Group == 0 && l.Node == 0, ended: make(chan struct{}),
		asked: make(chan agentapi.Stop, 16), notes: make(chan time.Time, 4), sends: make(chan agentapi.Signal, 256),
		limits: make(chan time.Duration, 16), again: make(chan struct{}, 1), pauses: make(chan struct{}, 1)}
	r.status = agentapi.Status{Run: l.Run}
	r.limit = l.TimeLimit
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

// ioExit is the exit code that Slurm records for a job whose output could not be opened: 0:53.
const ioExit = 53

// tell changes the status and tells the daemon.
func (r *run) tell(change func(*agentapi.Status)) {
	r.mu.Lock()
	change(&r.status)
	if r.head {
		r.status.Steps = r.stepsNow(r.status)
	}
	s := r.status
	if s.State != agentapi.RunEnded {
		s.Steps = r.untold(s.Steps)
	}
	r.mu.Unlock()
	r.a.news.tell(s)
}

// awaitStop is all that a further machine of a gang does: its steps are started from the first,
// which also tells them to end. They have the grace for that.
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
		case <-r.notes: // the daemon tells the gang's first machine
		case <-r.sends:
		case <-r.pauses: // it stops the steps on all machines
		}
	}
}

// spec is what the job asked for: of a heterogeneous one, the component that this machine is in.
func (r *run) spec() *sbatch.Spec { return &r.l.Groups[r.l.Group].Spec }
