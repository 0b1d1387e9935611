package agent

import (
	"fmt"
	"os"
	"slices"
	"time"

	"fsub/cloud/agent/keeper"
	"fsub/cloud/agentapi"
	"fsub/sbatch"
)

// batch runs the batch script to its end.
func (r *run) batch() error {
	select {
	case s := <-r.inbox.stops:
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
	if !r.begun() {
		return nil
	}
	if r.p.Failed != nil {
		r.p.Kill()
		<-r.p.Done
		if r.p.Status.Signaled() {
			r.blameMachine()
		}
		if r.why != "" {
			return nil
		}
		return r.p.Failed
	}
	r.begin = time.Now().UTC()
	r.used = newMeter(r)
	r.openStreams()
	r.a.uses.add(r)
	r.a.beats.add(r)
	r.tell(func(s *agentapi.Status) { s.State, s.Start = agentapi.RunRunning, r.begin })
	r.follow()
	r.afterScript()
	return nil
}

// beginGap is how much later than the script begins the agent may know it.
const beginGap = 5 * time.Second

// begun waits until the script begins; false: it was ended before. Opening its files can block
// forever, on a FIFO that nobody reads or a file server that is away.
func (r *run) begun() bool {
	select {
	case <-r.p.Begun:
		return true
	case s := <-r.inbox.stops:
		select { // it may be at work already, and this news on its way
		case <-r.p.Begun:
			r.inbox.stop(s)
			return true
		case <-time.After(min(s.Grace, beginGap)):
		}
		r.why = s.Why
	}
	r.p.Kill()
	<-r.p.Done
	return false
}

// follow does what is asked of a running script until it ends.
func (r *run) follow() {
	e := &r.e
	l := r.l.TimeLimit
	limit, warning := r.deadlines(l)
	warned := false
	renew := func() {
		if limit, warning = r.deadlines(l); warned {
			warning = nil
		}
	}
	steps := time.NewTicker(time.Second)
	defer steps.Stop()
	var late held
	for {
		stops, signals := r.inbox.stops, r.inbox.signals
		if late.until != nil {
			stops, signals = nil, nil
		}
		select {
		case <-late.until:
			late.release()
		case <-r.p.Exited:
			r.goOn() // somebody has killed it: what it has left is to end, and its sruns are to say so
			return
		case s := <-stops:
			if byUser(s) {
				late.hold(&r.sock.asking, func() { e.stop(r, s) })
			} else {
				e.stop(r, s)
			}
		case at := <-r.inbox.notices:
			e.preempt(r, at)
		case s := <-signals:
			late.hold(&r.sock.asking, func() { r.send(s) })
		case l = <-r.inbox.limits:
			renew()
		case <-r.inbox.pauses:
			if r.obeyPause() {
				renew()
			}
		case <-r.pause.due:
			r.freeze()
		case <-warning:
			warned = true
			r.warn()
		case <-limit:
			e.stop(r, agentapi.Stop{Why: agentapi.WhyTimeout, Grace: r.l.KillWait})
		case <-e.term:
			e.terminate(r)
		case <-e.kill:
			if e.spare(r) {
				continue
			}
			r.p.Kill()
			r.steps.stop(r.why, 0)
		case <-r.used.tick():
			r.used.look()
		case <-steps.C:
			r.tellSteps()
		case <-r.inbox.again:
			r.told = nil
			r.tell(func(*agentapi.Status) {})
		}
	}
}

// tellSteps reports steps that have begun or ended since the last report.
func (r *run) tellSteps() {
	if !r.steps.known {
		return
	}
	r.mu.Lock()
	old := r.status.Steps
	r.mu.Unlock()
	same := func(x, y agentapi.Step) bool { return x.ID == y.ID && x.State == y.State }
	if !slices.EqualFunc(old[min(1, len(old)):], r.steps.list(), same) {
		r.tell(func(*agentapi.Status) {})
	}
}

// untold are those of steps that have changed since they were given to the news.
func (r *run) untold(steps []agentapi.Step) (list []agentapi.Step) {
	if r.told == nil {
		r.told = map[string]string{}
	}
	for _, s := range steps {
		if r.told[s.ID] != s.State {
			r.told[s.ID] = s.State
			list = append(list, s)
		}
	}
	return list
}

// deadlines are when a time limit is over, and when --signal asks to be warned of it.
func (r *run) deadlines(l time.Duration) (limit, warning <-chan time.Time) {
	if l <= 0 || l == sbatch.Unlimited || r.pause.on {
		return nil, nil
	}
	left := r.left(l, time.Now())
	if s := r.spec().Signal; s != nil {
		warning = time.After(left - s.Before)
	}
	return time.After(left), warning
}

// left is how much of a time limit is left of a run that is not suspended.
func (r *run) left(l time.Duration, now time.Time) time.Duration {
	start := r.l.Start
	if start.IsZero() || start.After(r.begin) {
		start = r.begin
	}
	return start.Add(l).Sub(now) + r.pause.within(start, now)
}

// send sends a signal as scancel means it: to the batch script alone, to all, or to the steps alone.
func (r *run) send(s agentapi.Signal) {
	sig, ok := signalNumber(s.Name)
	switch {
	case s.Step != "" && s.Name == "":
		r.steps.cancel(s)
	case !ok:
		r.a.log.Warn("no such signal", "run", r.l.Run, "signal", s.Name)
	case s.Step != "":
		r.steps.signalOne(s, sig)
	case s.Batch:
		r.p.Signal(sig)
	case s.Full:
		r.p.SignalAll(sig)
		r.steps.signal(sig)
	default:
		r.steps.signal(sig)
	}
}

// warn sends what --signal asks for: to the batch shell with B:, else to the steps.
func (r *run) warn() {
	r.e.tellKeeper(r)
	s := r.spec().Signal
	sig, ok := signalNumber(s.Name)
	switch {
	case !ok:
	case s.BatchOnly:
		r.p.Signal(sig)
	default:
		r.steps.signal(sig)
	}
}
