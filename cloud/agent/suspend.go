package agent

import (
	"syscall"
	"time"

	"fsub/cloud/agentapi"
)

// pausing is when a run was suspended. Its zero value: it never was. It is the run's own goroutine
// that looks at it.
type pausing struct {
	on    bool
	spans []span           // the last one has no end while it is on
	due   <-chan time.Time // when SIGSTOP is
}

type span struct{ from, to time.Time }

// A job has some time to make use of SIGTSTP before it is stopped, as under slurmstepd. What it
// starts in the very moment when it is stopped is stopped a little later.
const (
	stopGap = 2 * time.Second
	stopped = time.Second // between one SIGSTOP and the next
)

// obeyPause suspends the run, or lets it go on, as was ordered last. It reports whether that changed anything.
func (r *run) obeyPause() bool {
	on := r.inbox.suspend.Load()
	if on == r.pause.on || r.why != "" { // what is being ended is not suspended any more
		return false
	}
	if !on {
		r.goOn()
		return true
	}
	r.pause.on, r.pause.spans = true, append(r.pause.spans, span{from: time.Now()})
	r.pause.due = time.After(stopGap)
	r.steps.pause()
	r.signalEach(syscall.SIGTSTP)
	r.tellAll()
	return true
}

// freeze stops what runs of a suspended run. Twice: the first time nothing that lives is left out
// but what was forked meanwhile.
func (r *run) freeze() {
	for range 2 {
		r.signalEach(syscall.SIGSTOP)
	}
	r.pause.due = time.After(stopped)
}

// goOn lets a run go on if it is suspended.
func (r *run) goOn() {
	if !r.pause.on {
		return
	}
	r.endPause()
	r.signalEach(syscall.SIGCONT)
	r.tellAll()
}

// endPause restarts the clock of a suspended run. It sends nothing.
func (r *run) endPause() {
	p := &r.pause
	p.on, p.due = false, nil
	p.spans[len(p.spans)-1].to = time.Now()
	r.steps.resume()
}

// signalEach sends a signal to the script, all that descends from it, and all steps.
func (r *run) signalEach(sig syscall.Signal) {
	r.p.SignalAll(sig)
	r.steps.signal(sig)
}

// tellAll reports all steps once more: how long each was suspended.
func (r *run) tellAll() {
	r.told = nil
	r.tell(func(*agentapi.Status) {})
}

// within is for how long the run was suspended between two times, as often as it was resumed.
func (p *pausing) within(from, to time.Time) (d time.Duration) {
	for _, s := range p.spans {
		if s.to.IsZero() {
			continue
		}
		if s.from.Before(from) {
			s.from = from
		}
		if s.to.After(to) {
			s.to = to
		}
		d += max(s.to.Sub(s.from), 0)
	}
	return d
}

// note writes into steps for how long they were suspended.
func (p *pausing) note(steps []agentapi.Step) []agentapi.Step {
	if len(p.spans) == 0 {
		return steps
	}
	now := time.Now()
	for i := range steps {
		s := &steps[i]
		to := s.End
		if to.IsZero() {
			to = now
		}
		s.Suspended = p.within(s.Start, to)
	}
	return steps
}
