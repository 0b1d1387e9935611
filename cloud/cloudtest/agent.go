package cloudtest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"fsub/cloud"
	"fsub/cloud/agentapi"
	"fsub/federation"
)

// agent is what the machine says to the driver. It obeys package agentapi; instead of running a script it understands a few words of it (script.go).
type agent struct {
	p    *Provider
	m    *Machine
	ctx  context.Context
	kill context.CancelFunc

	mu       sync.Mutex
	id       cloud.MachineID
	lease    time.Duration
	answered time.Time
	runs     map[string]*agentRun
	signals  uint64
	unsaid   map[string]agentapi.Status // to be reported
	notice   *agentapi.Notice
	sending  chan struct{}
}

// agentRun is a run on this machine.
type agentRun struct {
	launch *agentapi.Launch
	stop   chan agentapi.Stop // closed never; one stop is enough
	sig    chan string
	ended  bool

	suspended bool // as the orders have it
	pauses    chan bool
}

func newAgent(p *Provider, m *Machine) *agent {
	a := &agent{p: p, m: m, runs: map[string]*agentRun{}, unsaid: map[string]agentapi.Status{}, sending: make(chan struct{}, 1)}
	a.ctx, a.kill = context.WithCancel(context.Background())
	return a
}

// killLocked ends the machine with all that is on it. The provider's lock is held.
func (a *agent) killLocked() {
	a.kill()
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, r := range a.runs {
		if !r.ended && r.launch.Group == 0 && r.launch.Node == 0 && r.stop != nil {
			a.p.jobLocked(federation.JobID(r.launch.Job)).Living--
		}
		r.ended = true
	}
}

func (a *agent) site() federation.SiteName { return a.m.Request.Site }

// live is the machine's life.
func (a *agent) live() {
	boot := a.p.Boot
	if a.p.Slower != nil {
		boot += a.p.Slower(a.m.Name)
	}
	if !a.wait(boot) || !a.hello() {
		return
	}
	go a.report()
	go a.watch()
	var p agentapi.Poll
	for a.ctx.Err() == nil {
		ctx, cancel := context.WithTimeout(a.ctx, 20*time.Second)
		p.Known, p.Signals = a.known()
		o, err := a.p.AgentServer.poll(ctx, a.site(), a.id, p)
		cancel()
		switch {
		case errors.Is(err, federation.ErrDenied):
			a.endSelf("denied")
			return
		case err != nil:
			a.wait(500 * time.Millisecond)
			continue
		}
		a.heard()
		p.Version = o.Version
		a.obey(o)
		if o.End != "" {
			a.endSelf(o.End)
			return
		}
	}
}

func (a *agent) wait(d time.Duration) bool {
	select {
	case <-a.ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

func (a *agent) hello() bool {
	gang := strings.TrimPrefix(a.m.Request.Boot.Token, "token-of-")
	o := a.m.Request.Offering
	h := agentapi.Hello{Instance: string(a.m.ID), Nonce: "nonce-" + string(a.m.ID), Version: "fake", Steps: a.m.Addr + ":7000", CPUs: o.CPUs, MemMiB: int64(o.Mem), Suspends: true, GPUs: make([]agentapi.GPU, o.GPUs)}
	if a.p.Broken != nil {
		h.GPUs = h.GPUs[min(a.p.Broken(&a.m.Request, a.m.Name), o.GPUs):]
	}
	for {
		let, err := a.p.AgentServer.hello(a.ctx, a.site(), gang, h)
		switch {
		case err == nil:
			a.id, a.lease = let.Machine, let.Welcome.Lease
			a.heard()
			return true
		case errors.Is(err, federation.ErrDenied):
			a.endSelf("may not register")
			return false
		}
		if !a.wait(200 * time.Millisecond) {
			return false
		}
	}
}

func (a *agent) heard() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.answered = time.Now()
}

// watch ends the machine when its lease has lapsed.
func (a *agent) watch() {
	for left := a.lease; a.wait(left + time.Second); {
		a.mu.Lock()
		left = a.lease - time.Since(a.answered)
		a.mu.Unlock()
		if left < 0 {
			a.endSelf("lease")
			return
		}
	}
}

func (a *agent) endSelf(why string) { a.p.Kill(a.m.ID, "Client.InstanceInitiatedShutdown: "+why) }

func (a *agent) known() (known []string, signals uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for id := range a.runs {
		known = append(known, id)
	}
	return known, a.signals
}

// obey carries orders out.
func (a *agent) obey(o agentapi.Orders) {
	a.mu.Lock()
	defer a.mu.Unlock()
	named := map[string]bool{}
	for _, order := range o.Runs {
		named[order.Run] = true
		r := a.runs[order.Run]
		switch {
		case order.Ended:
			delete(a.runs, order.Run)
		case r == nil && order.Launch != nil && order.Stop == nil:
			a.launch(order.Launch)
		case r == nil && order.Launch != nil: // it is known from then on, or it would be told of again and again
			a.runs[order.Run] = &agentRun{launch: order.Launch, stop: make(chan agentapi.Stop, 1), sig: make(chan string, 8), pauses: make(chan bool, 64), ended: true}
			a.say(agentapi.Status{Run: order.Run, State: agentapi.RunEnded, Why: order.Stop.Why})
		}
		if r = a.runs[order.Run]; r != nil && order.Stop != nil {
			r.end(*order.Stop)
		}
		if r != nil && r.suspended != order.Suspend {
			r.suspended = order.Suspend
			r.pauses <- r.suspended
		}
	}
	for id, r := range a.runs {
		if !named[id] {
			r.end(agentapi.Stop{Why: agentapi.WhyNode})
			if r.ended {
				delete(a.runs, id)
			}
		}
	}
	for _, s := range o.Signals {
		if r := a.runs[s.Run]; r != nil && s.Seq > a.signals {
			select {
			case r.sig <- s.Name:
			default:
			}
		}
		a.signals = max(a.signals, s.Seq)
	}
}

func (r *agentRun) end(s agentapi.Stop) {
	select {
	case r.stop <- s:
	default:
	}
}

// launch begins a run: the head runs the script, the others wait for its end. The lock is held.
func (a *agent) launch(l *agentapi.Launch) {
	r := &agentRun{launch: l, stop: make(chan agentapi.Stop, 1), sig: make(chan string, 8), pauses: make(chan bool, 64)}
	a.runs[l.Run] = r
	if l.Group > 0 || l.Node > 0 {
		a.say(agentapi.Status{Run: l.Run, State: agentapi.RunReady})
		go func() {
			select {
			case s := <-r.stop:
				a.over(r, agentapi.Status{Run: l.Run, State: agentapi.RunEnded, Why: s.Why})
			case <-a.ctx.Done():
			}
		}()
		return
	}
	go a.script(r)
}

// over ends a run on this machine.
func (a *agent) over(r *agentRun, s agentapi.Status) {
	a.p.mu.Lock()
	defer a.p.mu.Unlock()
	a.mu.Lock()
	defer a.mu.Unlock()
	if r.ended {
		return
	}
	r.ended = true
	s.End = time.Now()
	if r.launch.Group == 0 && r.launch.Node == 0 {
		a.p.jobLocked(federation.JobID(r.launch.Job)).Living--
	}
	a.say(s)
}

// say has a status reported. The lock is held.
func (a *agent) say(s agentapi.Status) {
	a.unsaid[s.Run] = s
	select {
	case a.sending <- struct{}{}:
	default:
	}
}

// report tells what has changed until it was answered.
func (a *agent) report() {
	for {
		select {
		case <-a.ctx.Done():
			return
		case <-a.sending:
		}
		a.mu.Lock()
		var r agentapi.Report
		for _, s := range a.unsaid {
			r.Runs = append(r.Runs, s)
		}
		r.Notice = a.notice
		a.mu.Unlock()
		ctx, cancel := context.WithTimeout(a.ctx, 20*time.Second)
		err := a.p.AgentServer.report(ctx, a.site(), a.id, r)
		cancel()
		a.mu.Lock()
		if err == nil {
			a.answered = time.Now()
			a.notice = nil
			for _, s := range r.Runs {
				if fmt.Sprint(a.unsaid[s.Run]) == fmt.Sprint(s) {
					delete(a.unsaid, s.Run)
				}
			}
		}
		more := len(a.unsaid) > 0 || a.notice != nil
		a.mu.Unlock()
		if err != nil {
			a.wait(300 * time.Millisecond)
		}
		if more {
			select {
			case a.sending <- struct{}{}:
			default:
			}
		}
	}
}

// announce is the provider's notice: the runs are stopped, and it is told.
func (a *agent) announce(at time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.notice = &agentapi.Notice{Kind: agentapi.NoticePreempt, At: at}
	for _, r := range a.runs {
		r.end(agentapi.Stop{Why: agentapi.WhyPreempt})
	}
	select {
	case a.sending <- struct{}{}:
	default:
	}
}

// script runs a script of "sleep N", "exit N", "kill -9 $$", "trap 'exit N' SIG", "while" (for ever) and "work N": N seconds of work with a checkpoint each
// second, from which the next start goes on.
func (a *agent) script(r *agentRun) {
	l := r.launch
	id := federation.JobID(l.Job)
	a.p.mu.Lock()
	j := a.p.jobLocked(id)
	if a.ctx.Err() != nil {
		a.p.mu.Unlock()
		return
	}
	j.Starts++
	j.Living++
	j.Nodes, j.Names, j.Restarts = 0, nil, l.Restarts
	for _, g := range l.Groups {
		j.Nodes += len(g.Nodes)
		for _, n := range g.Nodes {
			j.Names = append(j.Names, n.Name)
		}
	}
	if j.Living > 1 {
		a.p.faults = append(a.p.faults, fmt.Sprintf("job %d runs %d times at once", id, j.Living))
	}
	if bad := incomplete(l); bad != "" {
		a.p.faults = append(a.p.faults, fmt.Sprintf("launch of job %d: %s", id, bad))
	}
	a.p.mu.Unlock()
	a.mu.Lock()
	start := time.Now()
	a.say(agentapi.Status{Run: l.Run, State: agentapi.RunRunning, Start: start})
	a.mu.Unlock()
	s := agentapi.Status{Run: l.Run, State: agentapi.RunEnded, Start: start}
	s.Exit, s.Why = a.interpret(r, j)
	s.Steps = []agentapi.Step{{ID: "batch", Name: "batch", State: "COMPLETED", Nodes: a.m.Name, Tasks: 1, Start: start, End: time.Now(), Used: agentapi.Used{User: time.Second, MaxRSS: 1 << 20}}}
	if a.ctx.Err() == nil {
		a.over(r, s)
	}
}

func (a *agent) interpret(r *agentRun, j *Job) (exit int32, why agentapi.Why) {
	trap := map[string]int32{}
	due := time.Now().Add(r.launch.TimeLimit)
	limit := time.After(time.Until(due))
	pause := func(d time.Duration) (exit int32, why agentapi.Why, ended bool) {
		until := time.Now().Add(d)
		t := time.After(d)
		var since time.Time // it is suspended
		for {
			select {
			case on := <-r.pauses: // on and off by turns
				if on {
					since, limit, t = time.Now(), nil, nil
					continue
				}
				late := time.Since(since)
				due, until = due.Add(late), until.Add(late)
				limit, t = time.After(time.Until(due)), time.After(time.Until(until))
			case <-a.ctx.Done():
				return 0, agentapi.WhyNode, true
			case s := <-r.stop:
				return 15, s.Why, true
			case <-limit:
				return 15, agentapi.WhyTimeout, true
			case sig := <-r.sig:
				a.p.mu.Lock()
				j.Signals = append(j.Signals, sig)
				a.p.mu.Unlock()
				if code, ok := trap[sig]; ok {
					return code << 8, "", true
				}
			case <-t:
				return 0, "", false
			}
		}
	}
	for _, line := range strings.FieldsFunc(r.launch.Script, func(c rune) bool { return c == '\n' || c == ';' }) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		n := 0
		if len(words) > 1 {
			n, _ = strconv.Atoi(words[1])
		}
		switch words[0] {
		case "sleep":
			if e, w, ended := pause(time.Duration(n) * time.Second); ended {
				return e, w
			}
		case "while":
			if e, w, ended := pause(1 << 60); ended {
				return e, w
			}
		case "work":
			for {
				a.p.mu.Lock()
				done := j.Done
				a.p.mu.Unlock()
				if done >= time.Duration(n)*time.Second {
					break
				}
				if e, w, ended := pause(time.Second); ended {
					return e, w
				}
				a.p.mu.Lock()
				j.Done += time.Second
				a.p.mu.Unlock()
			}
		case "exit":
			return int32(n) << 8, ""
		case "kill":
			return 9, ""
		case "trap": // trap 'exit 7' USR1
			code, _ := strconv.Atoi(strings.Trim(words[2], "'"))
			trap[words[3]] = int32(code)
		}
	}
	return 0, ""
}

// incomplete says what a launch lacks that a real agent needs.
func incomplete(l *agentapi.Launch) string {
	switch {
	case l.Script == "" || len(l.Key) == 0 || l.Start.IsZero() || l.TimeLimit == 0 || l.User.Name == "" || l.Cluster == "":
		return fmt.Sprintf("%+v", *l)
	}
	for _, g := range l.Groups {
		for _, n := range g.Nodes {
			if n.Name == "" || n.Addr == "" || n.Steps == "" || n.CPUs == 0 || n.Tasks == 0 {
				return fmt.Sprintf("node %+v", n)
			}
		}
	}
	return ""
}
