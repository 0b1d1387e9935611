package agent

import (
	"errors"
	"sync"
	"time"

	"fsub/cloud/agent/keeper"
	"fsub/cloud/agentapi"
	"fsub/cloud/steps/wire"
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
	steps runSteps

	ordered agentapi.Stop // the last one of the orders; the agent's lock guards it
	gone    int           // how many nodes the orders say are gone; likewise
	limit   time.Duration // the same
	inbox   *inbox
	ended   chan struct{} // nothing of it lives, and the status says so

	mu     sync.Mutex
	status agentapi.Status
	outer  *wire.JobInfo // what others are told of it; nil: the script has not begun

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
	r := &run{a: a, l: l, head: l.Group == 0 && l.Node == 0, ended: make(chan struct{}), inbox: newInbox(l.Run, a.log),
		steps: runSteps{service: a.cfg.Steps, run: l.Run, log: a.log}}
	r.status = agentapi.Status{Run: l.Run}
	r.limit = l.TimeLimit
	if l.Group < len(l.Groups) && l.Node < len(l.Groups[l.Group].Nodes) {
		r.node = l.Groups[l.Group].Nodes[l.Node]
	}
	return r
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
			r.a.uses.add(r)
			r.a.beats.add(r)
			r.awaitStop()
		}
	}
	r.a.uses.drop(r.l.Run)
	r.a.beats.drop(r.l.Run)
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
		case s := <-r.inbox.stops:
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
			if r.steps.local() == 0 {
				return
			}
		case <-r.inbox.notices: // the daemon tells the gang's first machine
		case <-r.inbox.signals:
		case <-r.inbox.pauses: // it stops the steps on all machines
		}
	}
}

// spec is what the job asked for: of a heterogeneous one, the component that this machine is in.
func (r *run) spec() *sbatch.Spec { return &r.l.Groups[r.l.Group].Spec }
