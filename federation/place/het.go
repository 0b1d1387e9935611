package place

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"fsub/federation"
	"fsub/federation/codes"
	"fsub/federation/decision"
	"fsub/federation/reasons"
	"fsub/sbatch"
)

// The components of a heterogeneous job have separate demands and start together at one site. Each is judged as a separate
// job. A site where all can run is one candidate, whose parts are those of the components. The search for a common start works
// on a copy of what is free, in which the components claim nodes one after the other.

// judgeHet adds to a shape the candidate, or the rejections, of one site for a heterogeneous job.
func (ms *members) judgeHet(sh *shape, st *siteState, job *federation.Job, drop bool) {
	whole := &candidate{version: st.version, runPrice: runPrice{placement: &placement{site: st, ask: sh.ask}}}
	var failed []decision.Rejection
	for i := range len(job.Spec.Het) + 1 {
		one := Component(job, i)
		sub := &shape{like: one, expected: sh.expected, need: newNeed(&one, drop)}
		if i == 0 {
			if no := demandRefusal(st.site, job); no != nil {
				sh.reject(st.site.Name, "", "", no)
				return
			}
			if st.model != nil && lacked(st.model.obs, job.Spec) == "hetjob" {
				sh.reject(st.site.Name, "", "", forGood(reasons.Unsupported, codes.NoHetJobs))
				return
			}
		}
		ms.judgeSite(sub, st, &one)
		sub.candidates = sub.found
		if len(sub.candidates) == 0 {
			for k := range sub.rejections {
				r := &sub.rejections[k]
				r.Why = r.Why.With(codes.NoteComponent, strconv.Itoa(i))
			}
			// A component that can never run there is worth more than one that cannot now.
			if failed == nil || !forEver(failed) && forEver(sub.rejections) {
				failed = sub.rejections
			}
			continue
		}
		sub.sort()
		whole.parts = append(whole.parts, sub.candidates)
	}
	if failed != nil {
		sh.rejections = append(sh.rejections, failed...)
		return
	}
	ms.joinParts(whole, job)
	no := costRefusal(job, whole.bill())
	if _, spots := whole.parts.gather(newEmptyCapacity(st.model, ms.now)); no == nil && spots == nil {
		no = forNow(reasons.ReqNodeNotAvail, codes.PartsApart)
	}
	if no == nil {
		no = whole.parts.refusal(ms.clock)
	}
	if no != nil {
		sh.reject(st.site.Name, "", "", no)
		return
	}
	sh.found = append(sh.found, whole)
}

// Component is component i of a heterogeneous job, from 0, as a separate job. What the job asks of the federation holds for the whole and is judged
// once, except for the accepted GPU types.
func Component(job *federation.Job, i int) federation.Job {
	one, spec := *job, *job.Spec
	spec.Plugin = nil
	if i > 0 {
		spec = job.Spec.Het[i-1]
	}
	spec.Het, spec.Array, spec.Clusters = nil, "", "" // the first component's --clusters is the job's
	spec.WorkDir = job.Spec.WorkDir
	spec.Fed = nil
	if f := job.Spec.Fed; f != nil {
		spec.Fed = &sbatch.Fed{Accelerators: f.Accelerators, StageIn: f.StageIn, StageOut: f.StageOut, Keep: f.Keep}
		if i == 0 { // they are brought once
			spec.Fed.Inputs = f.Inputs
		}
	}
	one.SetSpec(spec)
	return one
}

func forEver(rejections []decision.Rejection) bool {
	return !slices.ContainsFunc(rejections, func(r decision.Rejection) bool { return !r.Never })
}

// joinParts sums up what the components cost at least. If the job's cost is bounded each of them has only its cheapest pool.
func (ms *members) joinParts(c *candidate, job *federation.Job) {
	c.pool = c.parts[0][0].pool
	c.tie = c.site.tie(c.pool, ms.seed)
	var names []string
	for i := range c.parts {
		if job.Needs().MaxCost > 0 {
			c.parts[i] = c.parts[i][:1]
		}
		first := c.parts[i][0]
		if c.cost += first.cost; i == 0 {
			c.data = first.data
		}
		c.fixed += first.fixed
		c.gpus += first.gpus
		c.gpu = cmp.Or(c.gpu, first.gpu)
		c.run = max(c.run, first.run)
		c.wasteful = c.wasteful || first.wasteful
		names = append(names, first.name)
	}
	c.name = strings.Join(names, " + ")
}

// components are those of a heterogeneous job at a site, with the pools that can run each of them, cheapest first.
type components [][]*candidate

// spot is where one component starts.
type spot struct {
	c     *candidate
	fit   int
	nodes []int32
}

// maxGather bounds the search for a time when all components can start: each step goes to the start of the one that is last.
const maxGather = 64

// gather finds the earliest time at which all components can start, and where; never and nil if there is none. It takes nothing.
func (cs components) gather(base *capacity) (start int64, spots []spot) {
	from := base.now
	for range maxGather {
		free, last := base.copyFrom(from), from
		spots = make([]spot, len(cs))
		for _, i := range cs.hardestFirst() {
			at := never
			at, spots[i] = earliestOf(free, cs[i])
			if at == never {
				return never, nil
			}
			s := &spots[i]
			free.claim(s.nodes, &s.c.fits[s.fit], at, endAt(at, s.c.limit))
			last = max(last, at)
		}
		if last == from {
			return from, spots
		}
		from = last
	}
	return never, nil
}

// hardestFirst is the order in which components choose their nodes: those with the fewest pools before the others, then those that
// take most of a node.
func (cs components) hardestFirst() []int {
	order := make([]int, len(cs))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := &cs[a][0].fits[0], &cs[b][0].fits[0]
		return cmp.Or(cmp.Compare(len(cs[a]), len(cs[b])), cmp.Compare(y.gresCount(), x.gresCount()),
			cmp.Compare(y.cpu, x.cpu), cmp.Compare(y.mem, x.mem), cmp.Compare(y.nodes, x.nodes))
	})
	return order
}

// gresCount is how much GRES of any kind f takes of a node.
func (f *fit) gresCount() (n int32) {
	for _, w := range f.gres {
		n += w.count
	}
	return n
}

// earliestOf is the cheapest of some pools that can start a component when the search begins, else the one that can first.
func earliestOf(free *capacity, options []*candidate) (start int64, best spot) {
	for _, o := range options {
		for i := range o.fits {
			if nodes := free.tightest(&o.curs[i], &o.fits[i], o.limit); nodes != nil {
				return free.from, spot{o, i, nodes}
			}
		}
	}
	start = never
	for _, o := range options {
		for i := range o.fits {
			if at, nodes := free.search(&o.curs[i], &o.fits[i], o.limit); at < start {
				start, best = at, spot{o, i, nodes}
			}
		}
	}
	return start, best
}

// tightest picks, of the nodes on which f can start when the search begins, those with the least to spare, to leave room for what follows.
// It is nil if there are not enough, or if f is particular about nodes.
func (c *capacity) tightest(cur *cursor, f *fit, limit time.Duration) []int32 {
	if len(f.include) > 0 || c.m.wiring.particular(f) {
		return nil
	}
	type room struct{ n, gres, cpu int32 }
	var rooms []room
	begin := starter{of: &c.starts}
	for _, cell := range cur.cells {
		for _, n := range c.m.cells[cell].nodes {
			if c.readyAt(n, f, c.from, limit) != c.from || !begin.take(n) {
				continue
			}
			r, free := room{n: n}, c.freeAt(n, c.from)
			r.cpu = free.cpu
			for _, g := range free.gres {
				r.gres += g
			}
			rooms = append(rooms, r)
		}
	}
	if len(rooms) < f.nodes {
		return nil
	}
	slices.SortStableFunc(rooms, func(a, b room) int { return cmp.Or(cmp.Compare(a.gres, b.gres), cmp.Compare(a.cpu, b.cpu)) })
	nodes := make([]int32, f.nodes)
	for i := range nodes {
		nodes[i] = rooms[i].n
	}
	return nodes
}

// copyFrom is a copy in which nodes can be claimed, and in which searches for a start begin at from.
func (c *capacity) copyFrom(from int64) *capacity {
	k := *c
	k.from = from
	k.marked, k.stock.touched, k.stock.taken = slices.Clone(c.marked), slices.Clone(c.stock.touched), nil
	k.claims = maps.Clone(c.claims)
	for n, list := range k.claims {
		k.claims[n] = slices.Clip(list)
	}
	k.starts = c.starts.clone()
	k.estimates.memory = memory{}
	k.gangs, k.chooser, k.room = gangs{}, chooser{m: c.m}, room{}
	return &k
}

// newEmptyCapacity is a site with nothing running.
func newEmptyCapacity(m *model, now int64) *capacity {
	empty := *m
	empty.cpu, empty.mem, empty.gres = m.totalCPU, m.totalMem, m.totalGRES
	empty.frees, empty.starts = make([][]release, len(m.frees)), nil
	return newCapacity(&empty, now, 0)
}

// together is the moment of a heterogeneous job: all components, or none.
func (c *candidate) together(pl *plan) moment {
	at := moment{}
	free := c.site.capacity()
	if c.asked == free.estimates.epoch && c.claims == free.estimates.claims { // it had to wait then, and less is free now
		at.start, at.spots = c.start, c.spots
	} else {
		at.start, at.spots = c.parts.gather(free)
		c.asked, c.claims, c.start, c.spots = 0, free.estimates.claims, at.start, at.spots
		if at.start > pl.now {
			c.asked = free.estimates.epoch
		}
	}
	switch {
	case at.spots == nil || at.start != pl.now:
	case !c.site.bearsTogether(at.spots, pl.clock):
		at.start = never
	default:
		at.free = true
		for _, s := range at.spots {
			at.boot.add(s.c.bootOn(s.nodes))
		}
	}
	c.weigh(&at, pl)
	at.total += c.amount(&at) - c.fixed
	return at
}

// amount is what the components cost where they are.
func (c *candidate) amount(at *moment) decision.Dollars {
	if at.spots == nil {
		return c.fixed
	}
	sum := decision.Dollars(0)
	for _, s := range at.spots {
		sum += s.c.fixed
	}
	return sum
}

func (c *candidate) commitParts(at *moment, pl *plan) {
	free := c.site.capacity()
	for _, s := range at.spots {
		for _, n := range s.nodes {
			free.place(n, &s.c.fits[s.fit], endAt(pl.now, s.c.limit))
		}
		pl.started(&s)
	}
	for part, costs := range spotsCost(at.spots, pl.clock) {
		c.site.bind(part, costs)
	}
}

// reserveParts is reserve for a heterogeneous job: the nodes are those of all components, each once.
func (c *candidate) reserveParts() (start int64, nodes []int32) {
	free := c.site.capacity()
	start, spots := c.parts.gather(free)
	for _, s := range spots {
		free.claim(s.nodes, &s.c.fits[s.fit], start, endAt(start, s.c.limit))
		nodes = append(nodes, s.nodes...)
	}
	slices.Sort(nodes)
	return start, slices.Compact(nodes)
}

// longest is the time limit of a job, or of its last component to end.
func (c *candidate) longest() time.Duration {
	limit := c.limit
	for _, options := range c.parts {
		if is := options[0].limit; is == sbatch.Unlimited {
			return is
		} else {
			limit = max(limit, is)
		}
	}
	return limit
}

// wide reports whether a job takes more than one node.
func (c *candidate) wide() bool { return c.parts != nil || c.fits[0].nodes > 1 }

// offerParts puts a heterogeneous job into words: the whole, and each of its components.
func (w wording) offerParts() *decision.Offer {
	o := &decision.Offer{Site: w.site.site.Name, Start: w.pl.clock, Wait: w.at.wait, Total: w.at.total, GPUs: w.gpus, GPUType: w.gpu}
	var names, details []string
	run, risk, power := decision.Term{Name: "run"}, decision.Term{Name: "risk"}, decision.Term{Name: "power"}
	for i, options := range w.parts {
		one, fit := options[0], 0
		if w.at.spots != nil {
			one, fit = w.at.spots[i].c, w.at.spots[i].fit
		}
		part := *one.offer(&moment{start: w.pl.now, fit: fit, free: true, total: one.fixed}, w.pl)
		o.Parts = append(o.Parts, part)
		o.Nodes += part.Nodes
		o.Run = max(o.Run, part.Run)
		o.Most += part.Most
		run.Amount += one.cost
		risk.Amount += one.risk
		power.Amount += one.powerCost()
		name := part.Pool
		if part.As != "" {
			name += " as " + part.As
		}
		names, details = append(names, name), append(details, part.Terms[0].Detail)
	}
	o.Partition, o.Offering, o.Pool = o.Parts[0].Partition, o.Parts[0].Offering, strings.Join(names, " and ")
	run.Detail = strings.Join(details, ", and ")
	o.Terms = []decision.Term{run}
	if risk.Amount > 0 {
		o.Terms = append(o.Terms, risk)
	}
	if power.Amount != 0 {
		o.Terms = append(o.Terms, power)
	}
	o.Terms = append(o.Terms, w.dataTerms()...)
	w.setWait(o)
	for i := range o.Parts {
		o.Parts[i].Start, o.Parts[i].Wait = o.Start, o.Wait
	}
	return o
}
