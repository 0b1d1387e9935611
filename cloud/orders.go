package cloud

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"fsub/cloud/agentapi"
	"fsub/cloud/records"
	"fsub/federation"
	"fsub/federation/reasons"
	"fsub/sbatch"
)

// orders are a machine's, and the runs of whose launch the agent is still to be told.
func (a *agents) orders(m *machine, p agentapi.Poll) (agentapi.Orders, map[string]*job) {
	o := agentapi.Orders{Version: m.version, Lease: a.t.Lease, Daemon: a.began}
	launches := map[string]*job{}
	for _, r := range m.runs {
		for i := range r.machines {
			if r.machines[i] != m || !r.shows(i) {
				continue
			}
			order, k := agentapi.Order{Run: r.ID, Stop: r.told, TimeLimit: r.limit, Suspend: r.suspended, Gone: r.gone}, &r.Members[i]
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
	for id, w := range m.streams {
		o.Streams = append(o.Streams, agentapi.Stream{ID: id, Run: w.run})
	}
	if m.State == machineEnding && len(o.Runs) == 0 || m.State == machineEnding && len(m.runs) == 0 {
		o.End = m.Why
	}
	return o, launches
}

// launchOf is what the machine of the ith member must know to run its share; script and environment come later.
func (a *agents) launchOf(r *run, i int) *agentapi.Launch {
	j := r.job
	l := &agentapi.Launch{Run: r.ID, Job: uint32(j.Job.Number()), Restarts: j.Base + j.Restarts, Cluster: string(a.cfg.Site), Account: j.Job.Spec.Account, QOS: j.Job.Spec.QOS,
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
	tpus := slicesOf(r)
	for n, m := range r.machines {
		k := &r.Members[n]
		l.Groups[k.Group].Nodes = append(l.Groups[k.Group].Nodes, agentapi.Node{Name: m.Name, Addr: m.Addr, Steps: m.Steps, CPUs: k.CPUs, MemMiB: int64(k.Mem),
			GPUs: m.devices(k.GPUs), GPUType: m.gang.Offering.GPUType, Tasks: k.Tasks, Whole: !m.pool.Shared, TPU: tpus[m]})
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
		a.runs.fail(r, outcome{State: federation.Failed, Reason: reasons.LaunchFailure, Detail: "its script is not in the pool's records", At: a.now()})
		a.scheduler.schedule()
	}
}

// payloadOf reads a job's payload, from memory if it is there.
func (a *agents) payloadOf(ctx context.Context, j *job) (p sbatch.Payload, err error) {
	a.mu.Lock()
	text := j.payload
	a.mu.Unlock()
	if text == nil {
		if text, err = a.cfg.Store.PoolPayload(ctx, a.cfg.Site, records.PoolJob, j.Key); err != nil {
			return p, fmt.Errorf("the script of job %d: %w: %w", j.id(), err, federation.ErrUnavailable)
		}
	}
	return p, json.Unmarshal(text, &p)
}
