package agent

import (
	"context"
	"slices"
	"time"

	"fsub/cloud/agentapi"
)

// poll asks for orders and carries them out, until the machine ends.
func (a *Agent) poll(ctx context.Context) {
	wait := newBackoff()
	for ctx.Err() == nil {
		var o agentapi.Orders
		began := time.Now()
		err := a.server.call(ctx, a.welcome.PollWait+min(callTime, a.lease.third()), agentapi.PathPoll, a.server.session, a.standing(), &o)
		if err == nil {
			err = a.server.follow(o.Epoch)
		}
		switch {
		case err == nil:
			a.mu.Lock()
			a.missed = nil // only obey adds to it, and has not been called since
			a.mu.Unlock()
			if !a.ends() {
				wait.reset()
			}
			a.lease.renew(began, o.Lease)
			if err := a.server.know(o.Servers); err != nil {
				a.log.Warn("the addresses of the daemons stay as they are", "err", err)
			}
			if a.obey(o); !a.ends() {
				continue
			}
			// What is ordered of a machine that ends is not carried out, and is answered at once for that.
		case denied(err):
			a.endMachine("the daemon has no such machine any more: "+err.Error(), agentapi.WhyNode)
			return
		case ctx.Err() == nil:
			a.log.Warn("no orders", "err", err, "lease", a.lease.left().Round(time.Second))
		}
		if wait.sleep(ctx) != nil {
			return
		}
	}
}

// ends reports whether the machine is on its way out.
func (a *Agent) ends() bool {
	select {
	case <-a.end:
		return true
	default:
		return false
	}
}

// standing is where the agent stands.
func (a *Agent) standing() agentapi.Poll {
	a.mu.Lock()
	defer a.mu.Unlock()
	p := agentapi.Poll{Version: a.version, Signals: a.signals, Missed: a.missed, Known: []string{}, Problems: a.problems}
	for id := range a.runs {
		p.Known = append(p.Known, id)
	}
	slices.Sort(p.Known)
	return p
}

// obey carries out orders. Nothing here waits.
func (a *Agent) obey(o agentapi.Orders) {
	a.mu.Lock()
	anew := a.daemon != o.Daemon && a.daemon != ""
	a.daemon = o.Daemon
	named := map[string]bool{}
	for _, order := range o.Runs {
		named[order.Run] = true
		a.obeyRun(order)
	}
	for id, r := range a.runs {
		if anew && named[id] {
			r.inbox.tellAgain()
		}
		switch {
		case named[id]:
		case r.hasEnded():
			a.forget(id)
		default:
			r.inbox.stop(agentapi.Stop{Why: agentapi.WhyCancel, Grace: r.l.KillWait})
		}
	}
	a.obeySignals(o)
	a.obeyStreams(o.Streams)
	a.version = o.Version
	a.mu.Unlock()
	if o.End != "" {
		a.endMachine(o.End, agentapi.WhyNode)
	}
}

// obeySignals has signals sent that were not yet. a.mu is held.
func (a *Agent) obeySignals(o agentapi.Orders) {
	last := a.signals
	for _, s := range slices.Concat(o.Signals, o.StepSignals) {
		r := a.runs[s.Run]
		switch {
		case s.Seq <= last:
			continue
		case s.Step != "" && (r == nil || !r.head || !r.steps.has(s.Step)):
			a.missed = append(a.missed, s.Seq)
		case r != nil:
			r.inbox.signal(s)
		}
		a.signals = max(a.signals, s.Seq)
	}
}

// obeyRun carries out what is ordered of one run. a.mu is held.
func (a *Agent) obeyRun(o agentapi.Order) {
	r := a.runs[o.Run]
	if r != nil && o.TimeLimit != 0 && o.TimeLimit != r.limit {
		r.limit = o.TimeLimit
		r.inbox.limitTo(o.TimeLimit)
	}
	if r != nil && o.Suspend != r.inbox.suspend.Load() {
		r.inbox.suspendTo(o.Suspend)
	}
	if r != nil && r.head && len(o.Gone) > r.gone {
		r.gone = len(o.Gone)
		a.log.Info("the job goes on without nodes", "nodes", o.Gone)
		go r.steps.lose(o.Gone)
	}
	switch {
	case r == nil && (o.Launch == nil || o.Ended || a.ending != ""):
		return // not ours to start
	case r == nil:
		a.lease.allow(o.Launch.KillWait)
		r = a.newRun(o.Launch)
		a.runs[o.Run] = r
		if o.Stop != nil {
			r.ordered = *o.Stop
			r.inbox.stop(*o.Stop) // before it begins
		} else if a.notice != nil && a.notice.Kind == agentapi.NoticePreempt {
			r.inbox.preempt(a.notice.At)
		}
		go r.live()
	case o.Ended && r.hasEnded():
		a.forget(o.Run)
	case o.Stop != nil && *o.Stop != r.ordered: // orders are repeated whole
		r.ordered = *o.Stop
		r.inbox.stop(*o.Stop)
	}
}

// forget drops a run whose end the daemon has recorded. a.mu is held.
func (a *Agent) forget(id string) {
	delete(a.runs, id)
	a.news.drop(id)
}
