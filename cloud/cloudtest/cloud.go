// Package cloudtest is a cloud without a cloud, for tests of the driver: a [Provider] whose machines are goroutines with an agent that speaks to the driver,
// and a [Store] that outlives drivers. Both have switches for faults. Time is the runtime's, so that all of it works in a testing/synctest bubble.
package cloudtest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"fsub/cloud/provider"
	"fsub/federation"
)

// Provider is a provider.Provider whose machines run fake agents.
type Provider struct {
	Offers      []provider.Offering
	Boot        time.Duration                   // from Create to hello
	Slower      func(name string) time.Duration // how much longer a machine takes for that; nil: none does
	Lag         time.Duration                   // how long a new machine is missing from listings
	AgentServer *AgentServer

	// Before is called before each call, After when it is done and before it is answered: an error is what the caller gets. Nil: no fault.
	Before func(op string, r *provider.Request) error
	After  func(op string, r *provider.Request) error
	// NoBoot: the machines that are created never say a word.
	NoBoot func(r *provider.Request, name string) bool
	// Broken is how many of a machine's GPUs do not answer, and Said what its console ends with. Nil: none, nothing.
	Broken func(r *provider.Request, name string) int
	Said   func(id provider.InstanceID) (string, error)
	// Queued is for how long requests wait before their machines are made.
	Queued time.Duration

	mu       sync.Mutex
	next     int
	machines []*Machine // in the order of creation
	byToken  map[string][]*Machine
	asked    map[string]time.Time // requests that are queued, or were withdrawn: then zero
	calls    []Call
	jobs     map[federation.JobID]*Job
	faults   []string
}

// Call is one call that the cloud was asked.
type Call struct {
	Op string
	At time.Time
}

// Machine is one that was created.
type Machine struct {
	provider.Instance
	Request provider.Request
	agent   *agent
	created time.Time
	ended   time.Time
}

// Job is what the machines have done for a job.
type Job struct {
	Starts  int           // of its script
	Living  int           // scripts that run now; more than one is a fault
	Done    time.Duration // of "work": what its checkpoint holds
	Signals []string
	Nodes   int // of the last start
	// Names are those nodes in the order of their ranks, and Restarts what its launch said.
	Names    []string
	Restarts int
}

var (
	_ provider.Provider = (*Provider)(nil)
	_ provider.Consoler = (*Provider)(nil)
)

// Change changes fields of p while it is in use.
func (p *Provider) Change(change func(p *Provider)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(p)
}

// around is a call with its faults. What do returns is undone by no fault.
func (p *Provider) around(op string, r *provider.Request, do func() error) error {
	p.mu.Lock()
	p.calls = append(p.calls, Call{op, time.Now()})
	before, after := p.Before, p.After
	p.mu.Unlock()
	if before != nil {
		if err := before(op, r); err != nil {
			return err
		}
	}
	p.mu.Lock()
	err := do()
	p.mu.Unlock()
	if err == nil && after != nil {
		err = after(op, r)
	}
	return err
}

// Offerings implements provider.Provider.
func (p *Provider) Offerings(context.Context) (list []provider.Offering, err error) {
	err = p.around("Offerings", nil, func() error { list = slices.Clone(p.Offers); return nil })
	return list, err
}

// Create implements provider.Provider.
func (p *Provider) Create(_ context.Context, r provider.Request) (list []provider.Instance, err error) {
	err = p.around("Create", &r, func() error {
		made, ok := p.byToken[r.Token]
		if ok && fmt.Sprint(made[0].Request) != fmt.Sprint(r) {
			return &provider.Error{Kind: provider.KindConflict, Scope: provider.ScopeOffering, Code: "IdempotentParameterMismatch", Text: "the token was used for another request"}
		}
		if !ok && p.Queued > 0 {
			if err := p.queue(r.Token); err != nil {
				return err
			}
		}
		if !ok {
			made = p.create(r)
		}
		for _, m := range made {
			list = append(list, m.Instance)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

// queue is the answer to a request that is queued; nil: it waits no longer.
func (p *Provider) queue(token string) error {
	if p.asked == nil {
		p.asked = map[string]time.Time{}
	}
	at, ok := p.asked[token]
	switch {
	case !ok:
		at = time.Now()
		p.asked[token] = at
	case at.IsZero():
		return &provider.Error{Kind: provider.KindStockOut, Scope: provider.ScopeOffering, Text: "the request was withdrawn"}
	}
	if time.Since(at) < p.Queued {
		return &provider.Error{Kind: provider.KindPending, Scope: provider.ScopeOffering, Text: "the request is queued", After: time.Minute, Resume: "queued-" + token}
	}
	return nil
}

// Withdraw implements provider.Provider.
func (p *Provider) Withdraw(_ context.Context, token string) error {
	return p.around("Withdraw", nil, func() error {
		if _, ok := p.asked[token]; ok && p.byToken[token] == nil {
			p.asked[token] = time.Time{}
		}
		return nil
	})
}

func (p *Provider) create(r provider.Request) (made []*Machine) {
	for _, name := range r.Names {
		p.next++
		m := &Machine{Request: r, created: time.Now(), Instance: provider.Instance{ID: provider.InstanceID(fmt.Sprintf("i-%04d", p.next)), Token: r.Token, Name: name,
			State: provider.InstanceRunning, Offering: r.Offering.ID, Addr: fmt.Sprintf("10.0.%d.%d", p.next/250, p.next%250+1), Launched: time.Now()}}
		made = append(made, m)
		p.machines = append(p.machines, m)
		if p.NoBoot == nil || !p.NoBoot(&r, name) {
			m.agent = newAgent(p, m)
			go m.agent.live()
		}
	}
	if p.byToken == nil {
		p.byToken = map[string][]*Machine{}
	}
	p.byToken[r.Token] = made
	return made
}

// List implements provider.Provider.
func (p *Provider) List(context.Context) (list []provider.Instance, err error) {
	err = p.around("List", nil, func() error {
		for _, m := range p.machines {
			long := m.State == provider.InstanceEnded && time.Since(m.ended) > time.Hour
			if time.Since(m.created) >= p.Lag && !long {
				list = append(list, m.Instance)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

// Delete implements provider.Provider.
func (p *Provider) Delete(_ context.Context, ids []provider.InstanceID) error {
	return p.around("Delete", nil, func() error {
		for _, m := range p.machines {
			if slices.Contains(ids, m.ID) {
				p.endLocked(m, "User.Terminated")
			}
		}
		return nil
	})
}

// Console implements provider.Consoler.
func (p *Provider) Console(_ context.Context, id provider.InstanceID) (text string, err error) {
	err = p.around("Console", nil, func() (err error) {
		if p.Said != nil {
			text, err = p.Said(id)
		}
		return err
	})
	return text, err
}

func (p *Provider) endLocked(m *Machine, reason string) {
	if m.State == provider.InstanceEnded {
		return
	}
	m.State, m.Reason, m.ended = provider.InstanceEnded, reason, time.Now()
	m.Ended = m.ended
	if m.agent != nil {
		m.agent.killLocked()
	}
}

// Kill ends a machine as if it had failed: whatever runs on it is gone.
func (p *Provider) Kill(id provider.InstanceID, reason string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range p.machines {
		if m.ID == id {
			p.endLocked(m, reason)
		}
	}
}

// Freeze has a machine fall silent: the cloud shows it as before, and nothing lives on it any more.
func (p *Provider) Freeze(id provider.InstanceID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range p.machines {
		if m.ID == id && m.agent != nil {
			m.agent.killLocked()
		}
	}
}

// Refuse ends a machine that boots, for a reason that the cloud finds out only then.
func (p *Provider) Refuse(id provider.InstanceID, e *provider.Error) {
	p.Kill(id, e.Code)
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range p.machines {
		if m.ID == id {
			m.Refused = e
		}
	}
}

// Preempt announces that a machine will be taken, and takes it after lead.
func (p *Provider) Preempt(id provider.InstanceID, lead time.Duration) {
	p.mu.Lock()
	var a *agent
	for _, m := range p.machines {
		if m.ID == id && m.State == provider.InstanceRunning {
			a = m.agent
		}
	}
	p.mu.Unlock()
	if a != nil {
		a.announce(time.Now().Add(lead))
	}
	time.AfterFunc(lead, func() { p.Kill(id, "Server.SpotInstanceTermination") })
}

// Machines are all machines that were ever created.
func (p *Provider) Machines() (list []provider.Instance) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range p.machines {
		list = append(list, m.Instance)
	}
	return list
}

// Living are the machines that have not ended.
func (p *Provider) Living() (list []provider.Instance) {
	return slices.DeleteFunc(p.Machines(), func(m provider.Instance) bool { return m.State == provider.InstanceEnded })
}

// Calls is how often op was asked since a time.
func (p *Provider) Calls(op string, since time.Time) (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.calls {
		if c.Op == op && !c.At.Before(since) {
			n++
		}
	}
	return n
}

// Job is what the machines have done for a job.
func (p *Provider) Job(id federation.JobID) Job {
	p.mu.Lock()
	defer p.mu.Unlock()
	if j := p.jobs[id]; j != nil {
		return *j
	}
	return Job{}
}

func (p *Provider) jobLocked(id federation.JobID) *Job {
	if p.jobs == nil {
		p.jobs = map[federation.JobID]*Job{}
	}
	if p.jobs[id] == nil {
		p.jobs[id] = &Job{}
	}
	return p.jobs[id]
}

// Faults are the promises that were broken: a job that ran twice at once, a script on a machine that was not ready.
func (p *Provider) Faults() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.faults)
}
