package cloud

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"

	"fsub/cloud/agentapi"
	"fsub/cloud/output"
	"fsub/cloud/provider"
	"fsub/federation"
	"fsub/sbatch"
)

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
		return nil, fmt.Errorf("machine %s was let in already, or is over: %w", m.id, federation.ErrDenied)
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
	if key := coolKeys(&g.Offering)[provider.ScopeOffering]; a.cool.down[key] != nil && a.cool.down[key].Kind == kindBoot {
		a.cool.forgive(key)
	}
	a.metrics.booted(m.Ready.Sub(g.Asked))
	for _, r := range m.runs {
		a.runs.advance(r) // its state goes on the same page
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

// machine finds a machine that may speak.
func (f *fleet) machine(id MachineID) (*machine, error) {
	m := f.machines[id]
	if m == nil || m.State != machineUp && m.State != machineEnding {
		return nil, fmt.Errorf("machine %s: %w", id, federation.ErrDenied)
	}
	return m, nil
}

// orders are a machine's, and the runs of whose launch the agent is still to be told.
func (a *agents) orders(m *machine, p agentapi.Poll) (agentapi.Orders, map[string]*job) {
	o := agentapi.Orders{Version: m.version, Lease: a.t.Lease, Daemon: a.began}
	launches := map[string]*job{}
	for _, r := range m.runs {
		for i := range r.machines {
			if r.machines[i] != m || !r.shows(i) {
				continue
			}
			order, k := agentapi.Order{Run: r.ID, Stop: r.told, TimeLimit: r.limit, Suspend: r.suspended}, &r.Members[i]
			if k.State == "" && !slices.Contains(p.Known, r.ID) {
				if r.Stop != nil && !r.sent[i] {
					continue // it was stopped before it was told of
				}
				r.sent[i] = true
				order.Launch = a.launchOf(r, i)
				launches[r.ID] = nil
				if i == 0 {
					launches[r.ID] = r.job
				}
			}
			o.Runs = append(o.Runs, order)
		}
	}
	for id, said := range m.over {
		if said && !slices.Contains(p.Known, id) && m.version == p.Version {
			delete(m.over, id) // forgotten
			continue
		}
		o.Runs = append(o.Runs, agentapi.Order{Run: id, Ended: said})
	}
	for i := range m.signals {
		s := &m.signals[i]
		s.sent = true
		switch {
		case s.Seq <= p.Signals:
		case s.Step != "":
			o.StepSignals = append(o.StepSignals, s.Signal)
		default:
			o.Signals = append(o.Signals, s.Signal)
		}
	}
	if m.State == machineEnding && len(o.Runs) == 0 || m.State == machineEnding && len(m.runs) == 0 {
		o.End = m.Why
	}
	return o, launches
}

// launchOf is what the machine of the ith member must know to run its share; script and environment come later.
func (a *agents) launchOf(r *run, i int) *agentapi.Launch {
	j := r.job
	l := &agentapi.Launch{Run: r.ID, Job: uint32(j.id()), Restarts: j.Base + j.Restarts, Cluster: string(a.cfg.Site), Account: j.Job.Spec.Account, QOS: j.Job.Spec.QOS,
		User: j.User, SubmitHost: j.Job.SubmitHost, Group: r.Members[i].Group, Node: r.Members[i].Node, Start: j.Start, TimeLimit: j.limit(r.machines[0].pool),
		KillWait: a.t.KillWait, Key: a.key(r), Stream: a.streams(), MPI: r.machines[0].pool.MPI, Containers: a.cfg.Containers}
	if part := j.Job.Part; part != nil {
		l.Array = &agentapi.Array{Job: uint32(part.Array), Task: part.Index, Count: part.Count, Min: part.Min, Max: part.Max, Step: part.Step}
	}
	for g := range j.Wants {
		spec := *j.component(g)
		spec.Het = nil
		l.Groups = append(l.Groups, agentapi.Group{Job: l.Job + uint32(g), Spec: spec, Partition: j.Wants[g].Partition})
	}
	for n, m := range r.machines {
		k := &r.Members[n]
		l.Groups[k.Group].Nodes = append(l.Groups[k.Group].Nodes, agentapi.Node{Name: m.Name, Addr: m.Addr, Steps: m.Steps, CPUs: k.CPUs, MemMiB: int64(k.Mem),
			GPUs: m.devices(k.GPUs), GPUType: m.gang.Offering.GPUType, Tasks: k.Tasks, Whole: !m.pool.Shared})
	}
	return l
}

// streams reports whether machines send the output of jobs.
func (a *agents) streams() bool { return a.cfg.LogDir != "" && !a.cfg.SharesFiles }

// launch puts script and environment into the launches of heads, which may have to be read first.
func (a *agents) launch(ctx context.Context, o agentapi.Orders, launches map[string]*job) (agentapi.Orders, error) {
	for i := range o.Runs {
		l := o.Runs[i].Launch
		if l == nil {
			continue
		}
		j := launches[l.Run]
		if j == nil {
			continue
		}
		p, err := a.payloadOf(ctx, j)
		if errors.Is(err, federation.ErrNotFound) {
			a.scriptLost(j, l.Run)
		}
		if err != nil {
			a.log.Error("read a job's script", "job", j.id(), "err", err)
			return agentapi.Orders{}, err
		}
		l.Script, l.Argv, l.Environment = p.Script, p.Argv, p.Environment
	}
	return o, nil
}

// scriptLost ends a run whose script is not in the records: it cannot be started, and its machine has not been told of it.
func (a *agents) scriptLost(j *job, run string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if r := j.run; r != nil && r.ID == run && r.Members[0].State == "" {
		r.sent[0] = false
		a.runs.fail(r, outcome{State: federation.Failed, Reason: federation.ReasonLaunchFailure, Detail: "its script is not in the pool's records", At: a.now()})
		a.queue.schedule()
	}
}

// payloadOf reads a job's payload, from memory if it is there.
func (a *agents) payloadOf(ctx context.Context, j *job) (p sbatch.Payload, err error) {
	a.mu.Lock()
	text := j.payload
	a.mu.Unlock()
	if text == nil {
		if text, err = a.cfg.Store.PoolPayload(ctx, a.cfg.Site, federation.PoolJob, j.Key); err != nil {
			return p, fmt.Errorf("the script of job %d: %w: %w", j.id(), err, federation.ErrUnavailable)
		}
	}
	return p, json.Unmarshal(text, &p)
}

// carriedOut drops the signals that the agent has carried out.
func (m *machine) carriedOut(p *agentapi.Poll) {
	m.signals = slices.DeleteFunc(m.signals, func(s signal) bool {
		if s.Seq <= p.Signals {
			*s.missed = slices.Contains(p.Missed, s.Seq)
			close(s.done)
			return true
		}
		return false
	})
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

// agents serves the agents of the machines.
type agents struct {
	*base
	fleet  *fleet
	output *output.Files
	cool   *cooldowns
	runs   *runs
	queue  *queue
	began  string // names this life of the daemon
}

var _ Agents = (*agents)(nil)
