package cloud

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net"
	"runtime/debug"
	"slices"

	"fsub/cloud/agentapi"
	"fsub/cloud/output"
	"fsub/cloud/provider"
	"fsub/cloud/records"
	"fsub/federation"
)

// agents serves the agents of the machines.
type agents struct {
	*base
	fleet     *fleet
	output    *output.Files
	cool      *cooldowns
	runs      *runs
	scheduler *scheduler
	began     string // names this life of the daemon
}

// Hello implements Agents.
func (a *agents) Hello(ctx context.Context, token string, h agentapi.Hello) (_ Let, err error) {
	if err := a.isLoaded(ctx); err != nil {
		return Let{}, err
	}
	defer a.survive("", &err)
	var m *machine
	var batch *records.Batch
	a.locked(func() {
		m, err = a.hello(token, h)
		batch = a.rec.Flush() // also where nothing has changed
	})
	if err != nil {
		return Let{}, err
	}
	if err := a.rec.Durable(ctx, batch); err != nil {
		return Let{}, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.fleet.heard(m)
	return Let{Machine: m.id, Node: m.Name, Welcome: agentapi.Welcome{Machine: string(m.id), Node: m.Name, Lease: a.t.Lease, PollWait: a.t.PollWait,
		Metadata: a.cfg.Boot.Metadata, Use: a.cfg.Use, Beats: a.t.Beats}}, nil
}

func (a *agents) hello(token string, h agentapi.Hello) (*machine, error) {
	g := a.fleet.gangs[token]
	if g == nil || g.State == gangOver {
		return nil, fmt.Errorf("no such gang: %w", federation.ErrDenied)
	}
	if g.State == gangAsked {
		return nil, fmt.Errorf("the machines of gang %d are not recorded yet: %w", g.Number, federation.ErrConflict)
	}
	i := slices.IndexFunc(g.machines, func(m *machine) bool { return m.Instance == provider.InstanceID(h.Instance) })
	if i < 0 {
		return nil, fmt.Errorf("instance %.60q is not of gang %d: %w", h.Instance, g.Number, federation.ErrDenied)
	}
	m, sum := g.machines[i], sha256.Sum256([]byte(h.Nonce))
	nonce := hex.EncodeToString(sum[:])
	switch {
	case m.State == machineUp && m.Nonce == nonce: // the reply was lost
		return m, nil
	case m.State != machineBooting || m.Nonce != "":
		return nil, fmt.Errorf("machine %s has registered already, or has ended: %w", m.id, federation.ErrDenied)
	case a.now().After(g.Expires):
		return nil, fmt.Errorf("machine %s comes too late: %w", m.id, federation.ErrDenied)
	}
	if o := &g.Offering; a.cfg.Boot.PowerOff && len(h.GPUs) < o.GPUs {
		why := fmt.Sprintf("%d of its %d GPUs answer (on the machine: nvidia-smi; the image needs a driver for %s)", len(h.GPUs), o.GPUs, o.GPUType)
		a.log.Error("a machine is ended that would fail its jobs", "machine", m.id, "instance", m.Instance, "offering", o.ID, "err", why)
		a.fleet.neverUp(m, why)
		a.scheduler.schedule()
		return nil, fmt.Errorf("machine %s is not used: %s: %w", m.id, why, federation.ErrDenied)
	} else if a.cfg.Boot.PowerOff && h.CPUs < o.CPUs {
		a.log.Warn("a machine has less than its offering", "machine", m.id, "offering", o.ID, "cpus", h.CPUs)
	}
	m.State, m.Nonce, m.Ready, m.Steps, m.Agent, m.Suspends = machineUp, nonce, a.now(), h.Steps, h.Version, h.Suspends
	if host, _, err := net.SplitHostPort(h.Steps); err == nil {
		m.Addr = host
	}
	a.fleet.met = true
	m.countDrained(m.Ready)
	a.fleet.heard(m)
	a.put(m)
	a.cool.cameUp(&g.Offering)
	a.metrics.booted(m.Ready.Sub(g.Asked))
	a.runs.registered(g) // the state of its runs goes into the same batch
	if len(m.runs) == 0 {
		m.idle = a.now()
		m.pool.wake()
		a.scheduler.schedule()
	}
	a.news.nodes()
	return m, nil
}

// Poll implements Agents.
func (a *agents) Poll(ctx context.Context, id MachineID, p agentapi.Poll) (_ agentapi.Orders, err error) {
	if err := a.isLoaded(ctx); err != nil {
		return agentapi.Orders{}, err
	}
	defer a.survive(id, &err)
	for {
		var orders agentapi.Orders
		var launches map[string]*job
		var changed chan struct{}
		now := false
		a.locked(func() {
			var m *machine
			if m, err = a.fleet.machine(id); err != nil {
				return
			}
			m.polled = a.now()
			m.carriedOut(&p)
			changed = m.changed
			orders, launches = a.orders(m, p)
			if now = ctx.Err() != nil || orders.Version != p.Version || len(launches) > 0; now {
				a.fleet.heard(m)
			}
		})
		switch {
		case err != nil:
			return agentapi.Orders{}, err
		case now:
			return a.launch(ctx, orders, launches)
		}
		select {
		case <-changed:
		case <-ctx.Done():
		case <-a.ctx.Done():
			return agentapi.Orders{}, fmt.Errorf("the daemon ends: %w", federation.ErrUnavailable)
		}
	}
}

// survive is deferred around what a machine says or asks: a panic over that is told, and the machine is ended with what it has. To answer it again and again
// would keep its job for ever.
func (a *agents) survive(id MachineID, err *error) {
	p := recover()
	if p == nil {
		return
	}
	a.log.Error("the driver panicked over an agent", "machine", id, "err", p, "stack", string(debug.Stack()))
	*err = fmt.Errorf("%w: a defect of fed that stands in its log: %v", federation.ErrUnavailable, p)
	a.locked(func() {
		if m := a.fleet.machines[id]; m != nil {
			a.fleet.failed(m, fmt.Sprintf("the daemon failed over what it said, a defect that stands in its log: %v", p))
			a.scheduler.schedule()
			a.rec.Flush()
		}
	})
}

// Owner implements Agents.
func (a *agents) Owner(ctx context.Context, id MachineID, run string) (string, error) {
	if err := a.isLoaded(ctx); err != nil {
		return "", err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	m := a.fleet.machines[id]
	if m == nil || m.runs[run] == nil || m.State != machineUp {
		return "", fmt.Errorf("run %.60q is not one of machine %s: %w", run, id, federation.ErrDenied)
	}
	r := m.runs[run]
	for i := range r.machines {
		if r.machines[i] == m && r.shows(i) && r.Members[i].State != agentapi.RunEnded {
			return r.job.Job.User, nil // by the federation's name, whoever that is at the site
		}
	}
	return "", fmt.Errorf("run %s is over on machine %s: %w", run, id, federation.ErrDenied)
}

// Asking implements Agents.
func (a *agents) Asking(run string) (answered func()) { return a.asks.begin(run) }

var _ Agents = (*agents)(nil)
