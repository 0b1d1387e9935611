package agent

import (
	"log/slog"
	"sync/atomic"
	"time"

	"fsub/cloud/agentapi"
)

// inbox is what others ask of a run. Its methods never wait; the run takes what is there when it can.
type inbox struct {
	run string
	log *slog.Logger

	stops   chan agentapi.Stop
	notices chan time.Time // when the provider takes the machine
	signals chan agentapi.Signal
	limits  chan time.Duration
	suspend atomic.Bool   // what was ordered
	pauses  chan struct{} // suspend has changed
	again   chan struct{} // report all steps once more
}

func newInbox(run string, log *slog.Logger) *inbox {
	return &inbox{run: run, log: log, stops: make(chan agentapi.Stop, 16), notices: make(chan time.Time, 4), signals: make(chan agentapi.Signal, 256),
		limits: make(chan time.Duration, 16), again: make(chan struct{}, 1), pauses: make(chan struct{}, 1)}
}

// stop asks for the run's end. One that is on its way already is hurried, not delayed.
func (in *inbox) stop(s agentapi.Stop) {
	select {
	case in.stops <- s:
	default: // as many are waiting
	}
}

// preempt says when the provider takes the machine.
func (in *inbox) preempt(at time.Time) {
	select {
	case in.notices <- at:
	default:
	}
}

func (in *inbox) signal(s agentapi.Signal) {
	select {
	case in.signals <- s:
	default:
		in.log.Warn("too many signals at once", "run", in.run, "signal", s.Name)
	}
}

// limitTo gives the run another time limit, if it still runs.
func (in *inbox) limitTo(l time.Duration) {
	select {
	case in.limits <- l:
	default:
		in.log.Warn("too many time limits at once", "run", in.run, "limit", l)
	}
}

// suspendTo suspends or resumes the run.
func (in *inbox) suspendTo(on bool) {
	in.suspend.Store(on)
	select {
	case in.pauses <- struct{}{}:
	default:
	}
}

// tellAgain asks for a report of all steps: the daemon has forgotten those of running jobs.
func (in *inbox) tellAgain() {
	select {
	case in.again <- struct{}{}:
	default:
	}
}
