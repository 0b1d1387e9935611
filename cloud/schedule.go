package cloud

import (
	"cmp"
	"container/heap"
	"context"
	"slices"
	"time"

	"fsub/cloud/layout"
	"fsub/federation"
	"fsub/sbatch"
)

// verdict says why a job gets no machines now.
type verdict struct {
	reason federation.Reason
	detail string
	back   bool // it is given back: waiting here would not help
}

var waits = verdict{reason: federation.ReasonResources}

// schedule gives machines to pending jobs for as long as there are any, highest rank first. The caller holds the lock.
func (q *queue) schedule() {
	for _, p := range q.fleet.pools {
		p.allowed = nil
	}
	for len(q.trying) > 0 {
		pass := heads(q.trying)
		q.trying = nil
		pass = slices.DeleteFunc(pass, func(c *class) bool { c.trying = false; return len(c.jobs) == 0 })
		heap.Init(&pass)
		for len(pass) > 0 {
			if c := pass[0]; q.start(c) {
				heap.Fix(&pass, 0)
			} else {
				heap.Pop(&pass)
				q.drop(c)
			}
		}
	}
}

// heads is a heap of classes by the rank of their first jobs.
type heads []*class

func (h heads) Len() int           { return len(h) }
func (h heads) Less(i, j int) bool { return rank(h[i].jobs[0], h[j].jobs[0]) < 0 }
func (h heads) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *heads) Push(x any)        { *h = append(*h, x.(*class)) }
func (h *heads) Pop() any {
	old := *h
	*h = old[:len(old)-1]
	return nil
}

// start gives machines to the first job of a class, or gives it back. It reports whether there is another one to be tried.
func (q *queue) start(c *class) (more bool) {
	j := c.jobs[0]
	if q.yields(c) {
		return false
	}
	var r *run
	v := waits
	if !slices.ContainsFunc(c.pools, (*pool).full) {
		r, v = q.place(j)
	}
	if r == nil && !v.back {
		if c.since.IsZero() {
			c.since = q.now()
		}
		if j.Reason != v.reason || j.Detail != v.detail {
			j.Reason, j.Detail = v.reason, v.detail
			q.put(j)
		}
		return false
	}
	heap.Pop(&c.jobs)
	j.class, c.since = nil, time.Time{}
	if r != nil {
		q.bind(j, r)
	} else {
		q.giveBack(j, v)
	}
	return len(c.jobs) > 0
}

// full reports whether there is nothing in a pool that any job could have.
func (p *pool) full() bool {
	for _, l := range p.lanes {
		if l.room() > 0 {
			return false
		}
		for _, m := range l.machines {
			if len(m.runs) == 0 || p.Shared && m.cpus < m.gang.Offering.CPUs {
				return false
			}
		}
	}
	return len(p.lanes) > 0
}

// yields reports whether a class must wait because one of higher rank has waited too long in a pool of its own.
func (q *queue) yields(c *class) bool {
	return slices.ContainsFunc(c.pools, func(p *pool) bool {
		return p.first != nil && p.first != c && len(p.first.jobs) > 0 && rank(p.first.jobs[0], c.jobs[0]) < 0
	})
}

// place finds machines for every component of a job, all or none: nil and a verdict if there are none.
func (q *queue) place(j *job) (*run, verdict) {
	r := &run{runRecord: &runRecord{ID: j.runID(j.Runs + 1)}, job: j}
	for i := range j.Wants {
		if v, ok := q.placeComponent(j, r, i); !ok {
			q.unplace(r)
			return nil, v
		}
	}
	if v, ok := q.afford(r); !ok {
		q.unplace(r)
		return nil, v
	}
	return r, verdict{}
}

// unplace takes back what place has given a run.
func (q *queue) unplace(r *run) {
	now := q.now()
	for i, m := range r.machines {
		m.give(r, &r.Members[i], now)
	}
	for _, g := range r.gangs {
		q.numbers.free = append(q.numbers.free, g.Number)
		delete(q.fleet.gangs, g.Token)
		for _, m := range g.machines {
			q.fleet.remove(m)
		}
	}
}

// placeComponent finds machines for one component: such as are there, else new ones.
func (q *queue) placeComponent(j *job, r *run, i int) (verdict, bool) {
	p := q.fleet.pool(j.Wants[i].Partition)
	if !q.offers.known {
		return waits, false
	}
	if p == nil {
		return verdict{reason: federation.ReasonPartition, back: true}, false
	}
	spec, lanes := j.component(i), p.lanesFor(j.Wants[i])
	for _, l := range lanes {
		if _, ok := q.stays(l, j, 0); !ok {
			continue
		}
		if nodes, machines := l.freeFor(j, r); len(nodes) > 0 {
			if shares, err := layout.Fit(spec, nodes, p.options()); err == nil {
				q.take(r, i, spec, shares, machines)
				return verdict{}, true
			}
		}
	}
	last := verdict{reason: federation.ReasonReqNodeNotAvail, detail: "the cloud offers no such machines any more", back: true}
	for k, l := range lanes {
		v, ok := q.stays(l, j, l.offering.Boot)
		if ok {
			v, ok = q.grow(j, r, i, l)
		}
		if ok {
			return verdict{}, true
		}
		if k == 0 || last.back && !v.back {
			last = v
		}
	}
	return last, false
}

// freeFor are the machines of a lane that a job may use now: those that are up first. The components of a heterogeneous job are on machines of their own, as
// slurmctld does it.
func (l *lane) freeFor(j *job, r *run) (nodes []layout.Node, machines []*machine) {
	var booting []*machine
	for _, m := range l.machines {
		switch {
		case len(m.runs) > 0 && !l.pool.Shared || !m.usable(j.User.Name) || m.cpus >= m.gang.Offering.CPUs || slices.Contains(r.machines, m):
		case m.State == machineUp:
			machines = append(machines, m)
		default:
			booting = append(booting, m)
		}
	}
	machines = append(machines, booting...)
	for _, m := range machines {
		nodes = append(nodes, m.free())
	}
	return nodes, machines
}

// inOrder brings the nodes of a component into the order of their names, which is that of SLURM_JOB_NODELIST, and shares the job out anew if they were not: the first node is
// where its script runs, and gets what does not come out even.
func inOrder(spec *sbatch.Spec, shares []layout.Share, machines []*machine) []layout.Share {
	byName := func(a, b layout.Share) int {
		x, y := machines[a.Node].Name, machines[b.Node].Name // of one lane: they differ in the number at their end
		return cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(x, y))
	}
	if len(shares) < 2 || slices.IsSortedFunc(shares, byName) {
		return shares
	}
	shares = slices.SortedFunc(slices.Values(shares), byName)
	nodes := make([]layout.Node, len(shares))
	for i, s := range shares {
		nodes[i] = machines[s.Node].free()
	}
	anew, err := layout.Fit(spec, nodes, machines[0].pool.options())
	if err != nil || len(anew) != len(shares) { // they were found to do: as they are, then
		return shares
	}
	for i := range anew {
		anew[i].Node = shares[anew[i].Node].Node
	}
	return anew
}

// take gives a component of a run its part of machines.
func (q *queue) take(r *run, group int, spec *sbatch.Spec, shares []layout.Share, machines []*machine) {
	now := q.now()
	for n, s := range inOrder(spec, shares, machines) {
		m := machines[s.Node]
		if !m.pool.Shared { // as with --exclusive: all CPUs, and the memory that was asked for
			switch {
			case spec.MemPerNode > 0:
				s.Mem = min(s.Mem, spec.MemPerNode)
			case spec.MemPerCPU > 0:
				s.Mem = min(s.Mem, spec.MemPerCPU*sbatch.MemMiB(s.CPUs))
			}
		}
		r.machines = append(r.machines, m)
		r.Members = append(r.Members, member{Machine: m.id, Name: m.Name, Group: group, Node: n, CPUs: s.CPUs, Mem: s.Mem, Tasks: s.Tasks, GPUs: m.take(r, s, now)})
	}
}

// bind writes down which machines a job has. What they are told, and what the cloud is asked, follows when that is durable.
func (q *queue) bind(j *job, r *run) {
	j.Runs++
	j.run, j.Run = r, r.runRecord
	r.sent = make([]bool, len(r.Members))
	for _, m := range r.machines {
		if p := m.pool; !p.Shared && q.cfg.Boot.PowerOff && m.User == "" {
			m.User = j.User.Name
			q.fleet.recorded(m)
		}
	}
	r.Price, r.Parts = r.price(), r.parts(len(j.Wants))
	j.Reason, j.Detail, j.Returned = federation.ReasonBoot, "", false
	q.put(j)
	for _, g := range r.gangs {
		q.put(g)
		g.calling = true
	}
	q.runs.advance(r)
	q.after(func() {
		for _, g := range r.gangs {
			q.spawn(func(ctx context.Context) { q.rent.create(ctx, g, false) })
		}
	})
	q.news.nodes()
}

// giveBack ends an attempt that cannot be started here.
func (q *queue) giveBack(j *job, v verdict) {
	q.log.Info("job given back", "job", j.id(), "reason", v.reason, "detail", v.detail)
	j.Returned = true
	q.runs.finish(j, outcome{State: federation.BootFail, Reason: v.reason, Detail: v.detail, At: q.now()})
}
