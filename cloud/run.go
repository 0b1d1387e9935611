package cloud

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"slices"
	"time"

	"fsub/accounting"
	"fsub/cloud/agentapi"
	"fsub/federation"
	"fsub/slurm/hostlist"
)

// run is a job with its machines. What is durable of it is in the job's record.
type run struct {
	*runRecord
	job      *job
	machines []*machine     // of Members
	visible  bool           // that all its machines are up is in the records: they may be told of it
	told     *agentapi.Stop // the Stop of the record, once it is durable
	limit    time.Duration  // likewise the time limit, if it is another than when the run was launched
	// suspended: likewise that the job is
	suspended bool
	gone      []string        // likewise the nodes that it goes on without
	sent      []bool          // the launch went to the member's agent, or may have
	gangs     []*gang         // that were started for it
	steps     []agentapi.Step // as told so far
	stepAt    map[string]int  // where each is, by ID
}

// memberOf is what a run has of a machine.
func (r *run) memberOf(m *machine) *member {
	for i := range r.machines {
		if r.machines[i] == m {
			return &r.Members[i]
		}
	}
	return nil
}

// up reports whether all machines of a run have registered, and none is left of their gangs that may do so: jobs can read the gang's token in the machine's
// user data, so that it must be good for nothing by then.
func (r *run) up() bool {
	for _, m := range r.machines {
		if m.State != machineUp || m.gang.registers() {
			return false
		}
	}
	return true
}

// ready reports whether all machines but the head have prepared themselves.
func (r *run) ready() bool {
	for i := range r.Members[1:] {
		if r.Members[i+1].State == "" {
			return false
		}
	}
	return true
}

func (r *run) bump() {
	for _, m := range r.machines {
		m.bump()
	}
}

// shows reports whether the machine of the ith member may be told of the run.
func (r *run) shows(i int) bool {
	if !r.visible {
		return false
	}
	return i > 0 || r.sent[0] || r.Members[0].State != "" || r.ready()
}

// price of a run, by the hour: what it holds of each of its machines.
func (r *run) price() (sum federation.Money) {
	for i, m := range r.machines {
		sum += accounting.MoneyOf(m.Price.Dollars() * m.part(&r.Members[i]))
	}
	return sum
}

func share(n, of int) float64 {
	if of <= 0 {
		return 0
	}
	return float64(n) / float64(of)
}

// parts are what the components of a run hold, in Slurm's words.
func (r *run) parts(groups int) []part {
	parts, names := make([]part, groups), make([][]string, groups)
	tres := make([]accounting.TRES, groups)
	for i := range r.Members {
		k := &r.Members[i]
		p, t := &parts[k.Group], tres[k.Group]
		if t == nil {
			t = accounting.TRES{}
			tres[k.Group] = t
		}
		names[k.Group] = append(names[k.Group], k.Name)
		p.NumNodes++
		p.CPUs += k.CPUs
		t["node"]++
		t["cpu"] += int64(k.CPUs)
		t["billing"] = t["cpu"]
		if k.Mem > 0 {
			t["mem"] += int64(k.Mem)
		}
		for _, g := range k.GRES {
			t["gres/"+g.Name] += int64(g.Count)
			if g.Type != "" {
				t["gres/"+g.String()] += int64(g.Count)
			}
		}
		if n := len(k.GPUs); n > 0 {
			p.GPUs += n
			t["gres/gpu"] += int64(n)
			if kind := r.machines[i].gang.Offering.GPUType; kind != "" {
				p.GPUType = kind
				t["gres/gpu:"+kind] += int64(n)
			}
		}
	}
	for g := range parts {
		parts[g].Nodes, parts[g].TRES = hostlist.Compress(names[g]), tres[g].String()
	}
	return parts
}

// tellSteps takes in what the head's agent says of a run's steps: all of them at the end, before that those that have changed.
func (r *run) tellSteps(s agentapi.Status) {
	if s.State == agentapi.RunEnded && len(s.Steps) > 0 {
		r.steps, r.stepAt = nil, nil
	}
	if r.stepAt == nil {
		r.stepAt = make(map[string]int, len(s.Steps))
		for i := range r.steps {
			r.stepAt[r.steps[i].ID] = i
		}
	}
	for _, step := range s.Steps {
		i, known := r.stepAt[step.ID]
		if known {
			r.steps[i] = step
			continue
		}
		r.stepAt[step.ID] = len(r.steps)
		r.steps = append(r.steps, step)
	}
}

// stepsAtEnd are a run's steps for the records. One whose end nobody has told went with its machine.
func (r *run) stepsAtEnd() []agentapi.Step {
	list := slices.Clone(r.steps)
	for i := range list {
		if s := &list[i]; s.End.IsZero() {
			s.State, s.End = string(federation.Cancelled), r.End.At
			if s.End.Before(s.Start) {
				s.End = s.Start
			}
		}
	}
	slices.SortStableFunc(list, func(a, b agentapi.Step) int { return cmp.Compare(stepNumber(a.ID), stepNumber(b.ID)) })
	return list
}

// key is the secret of a run's steps. It is made of the daemon's key, and kept nowhere.
func (a *agents) key(r *run) []byte {
	h := hmac.New(sha256.New, a.cfg.Secret)
	h.Write([]byte("fsub steps\x00" + string(a.cfg.Site) + "\x00" + r.ID))
	return h.Sum(nil)
}
