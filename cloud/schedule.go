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

// refusal says why a job gets no machines now.
type refusal struct {
	reason federation.Reason
	detail string
	back   bool // it is given back: waiting here would not help
	waits  waiting
	short  int // how many machines the pool has no room for
}

var waits = refusal{reason: federation.ReasonResources, waits: forMachines}

// schedule fulfils claims for as long as there are machines, in their order.
func (q *queue) schedule() {
	for _, p := range q.fleet.pools {
		p.allowed = nil
	}
	for len(q.looking) > 0 {
		pass := firsts(q.looking)
		q.looking = nil
		pass = slices.DeleteFunc(pass, func(l *line) bool { l.looking = false; return len(l.jobs) == 0 })
		heap.Init(&pass)
		for len(pass) > 0 {
			if l := pass[0]; q.start(l) {
				heap.Fix(&pass, 0)
			} else {
				heap.Pop(&pass)
				q.drop(l)
			}
		}
	}
}

// firsts is a heap of lines by the claims of their first jobs.
type firsts []*line

func (h firsts) Len() int           { return len(h) }
func (h firsts) Less(i, j int) bool { return before(h[i].jobs[0], h[j].jobs[0]) }
func (h firsts) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *firsts) Push(x any)        { *h = append(*h, x.(*line)) }
func (h *firsts) Pop() any {
	old := *h
	*h = old[:len(old)-1]
	return nil
}

// start gives machines to the first job of a line, or gives it back. It reports whether there is another one to be looked at.
func (q *queue) start(l *line) (more bool) {
	j := l.jobs[0]
	l.waits = forNothing
	grow, ok := q.mayTake(l)
	if !ok {
		return false
	}
	var r *run
	v := refusal{reason: federation.ReasonResources, waits: forMachines, short: 1}
	if !slices.ContainsFunc(l.pools, (*pool).full) {
		r, v = q.place(j, grow)
	}
	if r == nil && !v.back {
		q.tell(j, v)
		if l.since.IsZero() {
			l.since = q.now()
		}
		if l.waits, l.short = v.waits, v.short; v.waits == forCloud || v.waits == forMachines && l.lets(q.now(), q.t.Overtake) {
			q.startBehind(l)
		}
		return false
	}
	heap.Pop(&l.jobs)
	j.line, l.since = nil, time.Time{}
	if r != nil {
		q.bind(j, r)
	} else {
		q.giveBack(j, v)
	}
	return len(l.jobs) > 0
}

// tell has a job show why it waits.
func (q *queue) tell(j *job, v refusal) {
	if j.Reason != v.reason || j.Detail != v.detail {
		j.Reason, j.Detail = v.reason, v.detail
		q.put(j)
	}
}

// mayTake reports whether a line's first job may take machines, though claims that were made before it wait in other lines: what they wait for is kept for them.
// grow: new machines, too.
func (q *queue) mayTake(l *line) (grow, ok bool) {
	grow = true
	for _, p := range l.pools {
		for other := range p.lines {
			if other == l || other.waits != forMachines || !before(other.jobs[0], l.jobs[0]) {
				continue
			}
			if other.meets(l) {
				if !other.lets(q.now(), q.t.Overtake) {
					return false, false
				}
				grow = false
			}
			grow = grow && other.short <= max(p.Max-p.machines, 0)
		}
	}
	return grow, true
}

// meets reports whether two lines want machines of the same node group.
func (l *line) meets(other *line) bool {
	return slices.ContainsFunc(l.wants, func(a want) bool {
		return slices.ContainsFunc(other.wants, func(b want) bool {
			return a.Partition == b.Partition && (a.Offering == b.Offering || a.Offering == "" || b.Offering == "")
		})
	})
}

// startBehind gives machines that are there to jobs behind a line's first, which cannot use them. Of jobs of one size only the first that does not fit is tried.
func (q *queue) startBehind(l *line) {
	type size struct {
		user, gres               string
		nodes, tasks, cpus       int
		memPerNode, memPerCPU    sbatch.MemMiB
		gpus, perNode, nodesName string
	}
	failed := map[size]bool{}
	later := slices.Clone(l.jobs[1:])
	slices.SortFunc(later, func(a, b *job) int { return cmp.Or(cmp.Compare(a.Claim, b.Claim), cmp.Compare(a.id(), b.id())) })
	for _, j := range later {
		if slices.ContainsFunc(l.pools, (*pool).full) {
			return
		}
		s := &j.Job.Spec
		of := size{j.User.Name, s.GRES, s.MinNodes, s.NTasks, s.CPUsPerTask, s.MemPerNode, s.MemPerCPU, s.GPUs, s.GPUsPerNode, s.Exclude}
		if failed[of] {
			continue
		}
		r, _ := q.place(j, false)
		if r == nil {
			failed[of] = true
			continue
		}
		heap.Remove(&l.jobs, slices.Index(l.jobs, j))
		j.line = nil
		q.bind(j, r)
	}
}

// full reports whether there is nothing in a pool that any job could have.
func (p *pool) full() bool {
	for _, ng := range p.groups {
		if ng.room() > 0 {
			return false
		}
		for _, m := range ng.machines {
			if len(m.runs) == 0 || p.Shared && m.cpus < m.gang.Offering.CPUs {
				return false
			}
		}
	}
	return len(p.groups) > 0
}

// place finds machines for every component of a job, all or none: nil and a refusal if there are none. grow: new ones, too.
func (q *queue) place(j *job, grow bool) (*run, refusal) {
	r := &run{runRecord: &runRecord{ID: j.runID(j.Runs + 1)}, job: j}
	for i := range j.Wants {
		if v, ok := q.placeComponent(j, r, i, grow); !ok {
			q.unplace(r)
			return nil, v
		}
	}
	if v, ok := q.afford(r); !ok {
		q.unplace(r)
		return nil, v
	}
	return r, refusal{}
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
func (q *queue) placeComponent(j *job, r *run, i int, grow bool) (refusal, bool) {
	p := q.fleet.pool(j.Wants[i].Partition)
	if !q.offers.known {
		return waits, false
	}
	if p == nil {
		return refusal{reason: federation.ReasonPartition, back: true}, false
	}
	spec, groups := j.component(i), p.groupsFor(j.Wants[i])
	for _, ng := range groups {
		if _, ok := q.stays(ng, j, 0); !ok {
			continue
		}
		if nodes, machines := ng.freeFor(j, r); len(nodes) > 0 {
			if shares, err := layout.Fit(spec, nodes, p.options()); err == nil {
				q.take(r, i, spec, shares, machines)
				return refusal{}, true
			}
		}
	}
	if !grow {
		return waits, false
	}
	last := refusal{reason: federation.ReasonReqNodeNotAvail, detail: "the cloud offers no such machines any more", back: true}
	for k, ng := range groups {
		v, ok := q.stays(ng, j, ng.offering.Boot)
		if ok {
			v, ok = q.grow(j, r, i, ng)
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

// freeFor are the machines of a node group that a job may use now: those that are up first. The components of a heterogeneous job are on machines of their own, as
// slurmctld does it.
func (ng *nodeGroup) freeFor(j *job, r *run) (nodes []layout.Node, machines []*machine) {
	var booting []*machine
	for _, m := range ng.machines {
		switch {
		case len(m.runs) > 0 && !ng.pool.Shared || !m.usable(j.User.Name) || m.cpus >= m.gang.Offering.CPUs || slices.Contains(r.machines, m):
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
		x, y := machines[a.Node].Name, machines[b.Node].Name // of one group: they differ in the number at their end
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
func (q *queue) giveBack(j *job, v refusal) {
	q.log.Info("job given back", "job", j.id(), "reason", v.reason, "detail", v.detail)
	j.Returned = true
	q.runs.finish(j, outcome{State: federation.BootFail, Reason: v.reason, Detail: v.detail, At: q.now()})
}
