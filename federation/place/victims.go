package place

import (
	"cmp"
	"slices"
	"sort"
	"strings"
	"time"

	"fsub/federation"
	"fsub/federation/decision"
)

// preemptible is a job of ours that runs at a site, and may have to make room.
type preemptible struct {
	job   *federation.Job
	qos   string
	mode  decision.PreemptMode
	grace time.Duration
	lost  time.Duration
	loss  float64 // that, for all GPUs that it holds; of jobs without, for a hundredth of its CPUs
	nodes []int32
	held  *release // on each of them
	taken bool     // somebody's victim

	returns bool     // it may be ended to give back what it has borrowed ...
	move    *movable // of one that may move, see makeroom.go
	account int      // ... beyond the guarantee of this account; see federation.GuaranteeRules.Of
}

// preemptibles are those at a site, in one plan.
type preemptibles struct {
	run  int
	jobs []preemptible
	head []int32 // by node: index+1 into refs of the first job that holds it
	refs []heldNode
}

// heldNode is an index into jobs, and index+1 of the next that holds the same node.
type heldNode struct{ job, next int32 }

// qosOf is the QOS of a job as the rules name it.
func (pl *plan) qosOf(j *federation.Job) string {
	if pl.preempting.Of != nil {
		return pl.preempting.Of(j)
	}
	return strings.ToLower(j.Spec.QOS)
}

// ourJob tells which job of ours has a number; nil: none that the site was given has.
func (st *siteState) ourJob() func(federation.JobID) *federation.Job {
	if len(st.site.Ours) == 0 {
		return func(id federation.JobID) *federation.Job { return st.claims[id].Job }
	}
	byID := make(map[federation.JobID]*federation.Job, len(st.site.Ours))
	for _, j := range st.site.Ours {
		byID[j.ID] = j
	}
	return func(id federation.JobID) *federation.Job { return cmp.Or(st.claims[id].Job, byID[id]) }
}

// preemptibles returns the jobs at a site that may have to make room.
func (pl *plan) preemptibles(st *siteState) *preemptibles {
	if st.preemptibles != nil && st.preemptibles.run == pl.run {
		return st.preemptibles
	}
	h := &preemptibles{run: pl.run}
	st.preemptibles = h
	ours, free := st.ourJob(), st.capacity()
	m := st.model
	h.jobs = make([]preemptible, 0, min(len(m.obs.Running), len(st.claims)+len(st.site.Ours)))
	buf := make([]int32, 0, 2*cap(h.jobs))
	for i := range m.obs.Running {
		r := &m.obs.Running[i]
		j := ours(r.Job)
		if j == nil || j.State != federation.Running || j.Cancel || j.Start.IsZero() || j.Component != nil || j.Spec == nil || len(j.Spec.Het) > 0 || free.vacated.at[r.Job] != 0 {
			continue
		}
		qos := pl.qosOf(j)
		rules, ran := pl.preempting.QOS[qos], pl.clock.Sub(j.Start)
		if rules.Mode == decision.PreemptOff || ran < rules.Exempt {
			continue
		}
		p := preemptible{job: j, qos: qos, mode: rules.Mode, grace: rules.Grace, lost: lostWork(j, ran), returns: rules.Returns, account: pl.guarantees.accountOf(j)}
		gpus := 0
		for _, g := range r.GRES {
			if g.Name == "gpu" {
				gpus += g.Used
			}
		}
		from := len(buf)
		for _, name := range r.Nodes {
			if n, ok := m.nodeAt[name]; ok {
				buf = append(buf, n)
			}
		}
		if p.nodes = buf[from:len(buf):len(buf)]; len(p.nodes) == 0 {
			continue
		}
		p.held = m.heldBy(p.nodes[0], r)
		p.loss = p.lost.Hours() * float64(len(p.nodes)) * (float64(gpus) + float64(r.CPUs)/100)
		h.jobs = append(h.jobs, p)
	}
	if len(h.jobs) > 0 {
		h.refs = make([]heldNode, 0, len(buf))
		h.index(len(m.up))
	}
	return h
}

// index finds the jobs by the nodes that they hold, of so many.
func (h *preemptibles) index(nodes int) {
	h.head = make([]int32, nodes)
	for i := range h.jobs {
		for _, n := range h.jobs[i].nodes {
			h.refs = append(h.refs, heldNode{int32(i), h.head[n]})
			h.head[n] = int32(len(h.refs))
		}
	}
}

// heldBy is what a running job holds on node n.
func (m *model) heldBy(n int32, r *federation.RunningJob) *release {
	for i := range m.frees[n] {
		if f := &m.frees[n][i]; f.job == r.Job {
			return f
		}
	}
	held := m.releaseOf(n, r) // it has no end
	return &held
}

// lostWork is how much a job loses that is ended now: what it has done since its start or, if it says how often it writes one, since its last checkpoint.
func lostWork(j *federation.Job, ran time.Duration) time.Duration {
	ran = max(ran, 0)
	if f := j.Spec.Fed; f != nil && f.Checkpoint > 0 {
		return ran % f.Checkpoint
	}
	return ran
}

// victimSearch is the search for the victims of one job in one candidate.
type victimSearch struct {
	*preemptibles
	c    *capacity
	f    *fit
	over map[string]bool
	back *right     // nil: nothing is given back
	need []nodeNeed // by nodes where the job could be
	free freeOn     // see room
}

// nodeNeed is what it takes for the job to be on a node.
type nodeNeed struct {
	n       int32
	first   bool // it asks for this node
	share   float64
	victims []int32
}

// room is what is free on node n now. It is valid until the next call.
func (h *victimSearch) room(n int32) *freeOn {
	h.free = h.c.stock.on(n, &h.c.room.gres)
	return &h.free
}

// give adds what a job holds (sign 1), or takes it away (sign -1).
func (f *freeOn) give(r *release, sign int32) {
	f.cpu += sign * r.cpu
	f.mem += sign * r.mem
	for _, g := range r.gres {
		f.gres[g.slot] += sign * g.count
	}
}

// fits reports whether the job fits into what is free on node n. A job may hold more than the node's record shows.
func (h *victimSearch) fits(n int32, free *freeOn) bool {
	capped := freeOn{min(free.cpu, h.c.m.totalCPU[n]), min(free.mem, h.c.m.totalMem[n]), free.gres}
	return h.c.m.fitsIn(n, &capped, h.f)
}

// look notes what it takes for the job to be on node n.
func (h *victimSearch) look(n int32, buf []int32) []int32 {
	c, f := h.c, h.f
	if !c.m.up[n] || f.exclude[n] || c.marked[n] || !c.starts.may(n) {
		return buf
	}
	from := len(buf)
	for r := h.head[n]; r > 0; r = h.refs[r-1].next {
		if i := h.refs[r-1].job; !h.jobs[i].taken && (h.over[h.jobs[i].qos] || h.back.back(&h.jobs[i])) {
			buf = append(buf, i)
		}
	}
	all, chosen := buf[from:], 0
	free := h.room(n)
	if !h.fits(n, free) {
		slices.SortFunc(all, h.compare)
		for {
			if chosen == len(all) {
				return buf[:from]
			}
			free.give(h.jobs[all[chosen]].held, 1)
			if chosen++; h.fits(n, free) {
				break
			}
		}
		for k := chosen - 2; k >= 0; k-- { // who was taken before may not be needed beside who came later
			one := h.jobs[all[k]].held
			if free.give(one, -1); h.fits(n, free) {
				copy(all[k:chosen], all[k+1:chosen])
				chosen--
			} else {
				free.give(one, 1)
			}
		}
	}
	need := nodeNeed{n: n, victims: all[:chosen:chosen], first: slices.Contains(f.include, n)}
	for _, i := range need.victims {
		need.share += h.jobs[i].loss / float64(min(len(h.jobs[i].nodes), f.nodes)) // on more nodes its end does not help
	}
	h.need = append(h.need, need)
	return buf[:from+chosen]
}

// compare puts the job first whose end loses less work for each GPU or CPU that falls free, of equal ones the youngest.
func (h *victimSearch) compare(a, b int32) int {
	p, q := &h.jobs[a], &h.jobs[b]
	return cmp.Or(cmp.Compare(p.lost, q.lost), q.job.Start.Compare(p.job.Start), cmp.Compare(q.job.ID, p.job.ID))
}

// find returns who has to make room for the job, and where it would be then; nil if nobody's end would help.
func (h *victimSearch) find(cells []int32) (victims, nodes []int32, loss float64) {
	var buf []int32
	for _, cell := range cells {
		for _, n := range h.c.m.cells[cell].nodes {
			buf = h.look(n, buf)
		}
	}
	f := h.f
	if len(h.need) < f.nodes {
		return nil, nil, 0
	}
	slices.SortFunc(h.need, func(a, b nodeNeed) int {
		switch {
		case a.first && !b.first:
			return -1
		case b.first && !a.first:
			return 1
		}
		return cmp.Or(cmp.Compare(a.share, b.share), cmp.Compare(a.n, b.n))
	})
	for i := range f.include {
		if !h.need[i].first {
			return nil, nil, 0
		}
	}
	list := make([]int32, len(h.need))
	for i := range h.need {
		list[i] = h.need[i].n
	}
	if nodes = h.pick(list); nodes == nil {
		return nil, nil, 0
	}
	return h.spare(list, nodes)
}

// pick chooses the nodes of a list, those that stand first, as close as the job wants them; nil if there are none.
func (h *victimSearch) pick(list []int32) []int32 {
	if len(list) < h.f.nodes {
		return nil
	}
	if !h.c.m.wiring.particular(h.f) {
		return list[:h.f.nodes]
	}
	chosen, _ := h.c.chooser.choose(list, h.f)
	if chosen == nil {
		return nil
	}
	n := h.f.nodes + sort.Search(len(list)-h.f.nodes, func(n int) bool { // the fewest of the list among which there are enough
		few, _ := h.c.chooser.choose(list[:h.f.nodes+n], h.f)
		return few != nil
	})
	chosen, _ = h.c.chooser.choose(list[:n], h.f)
	return chosen
}

// spare returns the victims on some nodes, without those that turn out not to be needed, and the nodes where the job would be then: one that has several nodes
// may make room on another one of the list, too.
func (h *victimSearch) spare(list, nodes []int32) (victims, at []int32, loss float64) {
	chosen := make([]bool, len(h.jobs))
	for i := range h.need {
		if !slices.Contains(nodes, h.need[i].n) {
			continue
		}
		for _, v := range h.need[i].victims {
			if !chosen[v] {
				chosen[v] = true
				victims = append(victims, v)
			}
		}
	}
	slices.SortFunc(victims, func(a, b int32) int { return cmp.Or(cmp.Compare(h.jobs[b].loss, h.jobs[a].loss), h.compare(b, a)) })
	can := func(n int32) bool {
		free := h.room(n)
		for r := h.head[n]; r > 0; r = h.refs[r-1].next {
			if i := h.refs[r-1].job; chosen[i] {
				free.give(h.jobs[i].held, 1)
			}
		}
		return h.fits(n, free)
	}
	room := slices.DeleteFunc(slices.Clone(list), func(n int32) bool { return !can(n) })
	left := len(room)
	free := make(map[int32]bool, left)
	for _, n := range room {
		free[n] = true
	}
	victims = slices.DeleteFunc(victims, func(v int32) bool {
		chosen[v] = false
		var gone []int32
		for _, n := range h.jobs[v].nodes {
			if free[n] && !can(n) {
				gone = append(gone, n)
			}
		}
		if left-len(gone) >= h.f.nodes && (len(gone) == 0 || h.enough(room, free, gone)) {
			for _, n := range gone {
				delete(free, n)
			}
			left -= len(gone)
			return true
		}
		chosen[v] = true
		return false
	})
	for _, v := range victims {
		loss += h.jobs[v].loss
	}
	if len(victims) == 0 { // it could start now: something else keeps it
		return nil, nil, 0
	}
	return victims, h.pick(slices.DeleteFunc(room, func(n int32) bool { return !free[n] })), loss
}

// enough reports whether the job has its nodes still when some are not free.
func (h *victimSearch) enough(room []int32, free map[int32]bool, gone []int32) bool {
	for _, n := range h.f.include {
		if slices.Contains(gone, n) {
			return false
		}
	}
	return !h.c.m.wiring.particular(h.f) || h.pick(slices.DeleteFunc(slices.Clone(room), func(n int32) bool { return !free[n] || slices.Contains(gone, n) })) != nil
}
