package cloud

import (
	"slices"

	"fsub/federation"
	"fsub/federation/demand"
	"fsub/federation/reasons"
	"fsub/sbatch"
)

// refusal says why a job gets no machines now.
type refusal struct {
	reason reasons.Reason
	detail string
	back   bool // it is given back: waiting here would not help
	waits  waiting
	short  int // how many machines the pool has no room for
}

var waits = refusal{reason: reasons.Resources, waits: forMachines}

// place finds machines for every component of a job, all or none: nil and a refusal if there are none. grow: new ones, too.
func (s *scheduler) place(j *job, grow bool) (*run, refusal) {
	r := &run{runRecord: &runRecord{ID: j.runID(j.Runs + 1)}, job: j}
	for i := range j.Wants {
		if v, ok := s.placeComponent(j, r, i, grow); !ok {
			s.unplace(r)
			return nil, v
		}
	}
	if v, ok := s.afford(r); !ok {
		s.unplace(r)
		return nil, v
	}
	return r, refusal{}
}

// unplace takes back what place has given a run.
func (s *scheduler) unplace(r *run) {
	now := s.now()
	for i, m := range r.machines {
		m.give(r, &r.Members[i], 0, now)
	}
	for _, g := range r.gangs {
		s.numbers.back(g.Number)
		delete(s.fleet.gangs, g.Token)
		for _, m := range g.machines {
			s.fleet.remove(m)
		}
	}
}

// placeComponent finds machines for one component: such as are there, else new ones.
func (s *scheduler) placeComponent(j *job, r *run, i int, grow bool) (refusal, bool) {
	p := s.fleet.pools.named(j.Wants[i].Partition)
	if !s.fleet.pools.known {
		return waits, false
	}
	if p == nil {
		return refusal{reason: reasons.Partition, back: true}, false
	}
	needs, groups := j.needs(i), j.keptGroups(p.groupsFor(j.Wants[i]))
	for _, ng := range groups {
		if _, ok := s.stays(ng, j, 0); !ok {
			continue
		}
		if nodes, machines := ng.freeFor(j, r); len(nodes) > 0 {
			if shares, err := demand.Fit(needs, nodes, p.options()); err == nil {
				s.take(r, i, needs, shares, machines)
				return refusal{}, true
			}
		}
	}
	if !grow {
		return waits, false
	}
	last := refusal{reason: reasons.ReqNodeNotAvail, detail: "the cloud offers no such machines any more", back: true}
	for k, ng := range groups {
		v, ok := s.stays(ng, j, ng.offering.Boot)
		if ok {
			v, ok = s.grow(j, r, i, ng)
		}
		if ok {
			return refusal{}, true
		}
		if k == 0 || last.back && !v.back {
			last = v
		}
	}
	return last, false
}

// inOrder brings the nodes of a component into the order of their names, which is that of SLURM_JOB_NODELIST, and shares the job out again if they were not: the first node is
// where its script runs, and gets what does not come out even.
func inOrder(j *job, group int, needs *demand.Demand, shares []demand.Share, machines []*machine) []demand.Share {
	ordered := j.order(group, shares, machines)
	if slices.EqualFunc(shares, ordered, func(a, b demand.Share) bool { return a.Node == b.Node }) {
		return shares
	}
	shares = ordered
	nodes := make([]demand.Node, len(shares))
	for i, s := range shares {
		nodes[i] = machines[s.Node].free()
	}
	again, err := demand.Fit(needs, nodes, machines[0].pool.options())
	if err != nil || len(again) != len(shares) { // they were found to do: as they are, then
		return shares
	}
	for i := range again {
		again[i].Node = shares[again[i].Node].Node
	}
	return again
}

// take gives a component of a run its part of machines.
func (s *scheduler) take(r *run, group int, needs *demand.Demand, shares []demand.Share, machines []*machine) {
	now := s.now()
	for n, share := range inOrder(r.job, group, needs, shares, machines) {
		m := machines[share.Node]
		if !m.pool.Shared { // as with --exclusive: all CPUs, and the memory that was asked for
			switch {
			case needs.Memory.Amount <= 0:
			case needs.Memory.Per == demand.PerNode:
				share.Mem = min(share.Mem, needs.Memory.Amount)
			case needs.Memory.Per == demand.PerCPU:
				share.Mem = min(share.Mem, needs.Memory.Amount*sbatch.MemMiB(share.CPUs))
			}
		}
		r.machines = append(r.machines, m)
		r.Members = append(r.Members, member{Machine: m.id, Name: m.Name, Group: group, Node: n, CPUs: share.CPUs, Mem: share.Mem, Tasks: share.Tasks, GRES: share.GRES, GPUs: m.take(r, share, now)})
	}
}

// bind writes down which machines a job has. What they are told, and what the cloud is asked, follows when that is durable.
func (s *scheduler) bind(j *job, r *run) {
	j.Runs++
	if r.Taken = s.now(); j.Kept != nil {
		r.Taken = j.Kept.Since // its other machines have waited since then
	}
	j.run, j.Run = r, r.runRecord
	r.sent = make([]bool, len(r.Members))
	for _, m := range r.machines {
		if p := m.pool; !p.Shared && s.cfg.Boot.PowerOff && m.User == "" {
			m.User = j.User.Name
			s.recorded(m)
		}
	}
	r.Price, r.Parts = r.price(), r.parts(len(j.Wants))
	j.Reason, j.Detail, j.Returned = reasons.Boot, "", false
	s.put(j)
	for _, g := range r.gangs {
		s.put(g)
		g.calling = true
	}
	s.runs.advance(r)
	s.after(func() { s.requests.add(r.gangs...) })
	s.news.nodes()
}

// giveBack ends an attempt that cannot be started here.
func (s *scheduler) giveBack(j *job, v refusal) {
	s.log.Info("job given back", "job", j.id(), "reason", v.reason, "detail", v.detail)
	j.Returned = true
	s.runs.finish(j, outcome{State: federation.BootFail, Reason: v.reason, Detail: v.detail, At: s.now()})
}
