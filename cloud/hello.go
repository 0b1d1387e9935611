package cloud

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net"
	"slices"

	"fsub/cloud/agentapi"
	"fsub/cloud/output"
	"fsub/cloud/provider"
	"fsub/federation"
)

// agents serves the agents of the machines.
type agents struct {
	*base
	fleet  *fleet
	output *output.Files
	cool   *cooldowns
	runs   *runs
	queue  waker
	began  string // names this life of the daemon
}

// Hello implements Agents.
func (a *agents) Hello(ctx context.Context, token string, h agentapi.Hello) (Let, error) {
	if err := a.isLoaded(ctx); err != nil {
		return Let{}, err
	}
	a.mu.Lock()
	m, err := a.hello(token, h)
	if err != nil {
		a.mu.Unlock()
		return Let{}, err
	}
	batch := a.rec.Flush() // also where nothing has changed
	a.mu.Unlock()
	if err := a.rec.Durable(ctx, batch); err != nil {
		return Let{}, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.fleet.heard(m)
	return Let{Machine: m.id, Node: m.Name, Welcome: agentapi.Welcome{Machine: string(m.id), Node: m.Name, Lease: a.t.Lease, PollWait: a.t.PollWait,
		Metadata: a.cfg.Boot.Metadata}}, nil
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
	if o := &g.Offering; h.CPUs < o.CPUs && a.cfg.Boot.PowerOff || len(h.GPUs) < o.GPUs && a.cfg.Boot.PowerOff {
		a.log.Warn("a machine has less than its offering", "machine", m.id, "offering", o.ID, "cpus", h.CPUs, "gpus", len(h.GPUs))
	}
	m.State, m.Nonce, m.Ready, m.Steps, m.Agent, m.Suspends = machineUp, nonce, a.now(), h.Steps, h.Version, h.Suspends
	if host, _, err := net.SplitHostPort(h.Steps); err == nil {
		m.Addr = host
	}
	a.fleet.heard(m)
	a.put(m)
	a.cool.cameUp(&g.Offering)
	a.metrics.booted(m.Ready.Sub(g.Asked))
	for _, r := range m.runs {
		a.runs.advance(r) // its state goes into the same batch
	}
	if len(m.runs) == 0 {
		m.idle = a.now()
		a.queue.capacity(m.pool)
		a.queue.schedule()
	}
	a.news.nodes()
	return m, nil
}

// Poll implements Agents.
func (a *agents) Poll(ctx context.Context, id MachineID, p agentapi.Poll) (agentapi.Orders, error) {
	if err := a.isLoaded(ctx); err != nil {
		return agentapi.Orders{}, err
	}
	for {
		a.mu.Lock()
		m, err := a.fleet.machine(id)
		if err != nil {
			a.mu.Unlock()
			return agentapi.Orders{}, err
		}
		m.polled = a.now()
		m.carriedOut(&p)
		changed := m.changed
		orders, launches := a.orders(m, p)
		now := ctx.Err() != nil || orders.Version != p.Version || len(launches) > 0
		if now {
			a.fleet.heard(m)
			a.mu.Unlock()
			return a.launch(ctx, orders, launches)
		}
		a.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
		case <-a.ctx.Done():
			return agentapi.Orders{}, fmt.Errorf("the daemon ends: %w", federation.ErrUnavailable)
		}
	}
}

// Owner implements Agents.
func (a *agents) Owner(id MachineID, run string) (string, error) {
	select {
	case <-a.loaded:
	default:
		return "", errNotLoaded
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

var _ Agents = (*agents)(nil)
