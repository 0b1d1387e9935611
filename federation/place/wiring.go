package place

import (
	"fmt"
	"slices"
	"strconv"

	"fsub/federation"
	"fsub/federation/codes"
	"fsub/federation/reasons"
	"fsub/sbatch"
	"fsub/topology"
)

// Where a site has told how its nodes are wired, a job of several nodes is counted with those that its scheduler would give it: see
// [topology.Chooser]. That decides how far apart they are, and what that costs: the term "topology", which is how a job comes to
// the site where it fits under one switch.

// fabric is how a site's nodes are wired as one of its topologies has it.
type fabric struct {
	*topology.Index
	tree   bool // it has switches or blocks
	number int  // among those of the site
}

// wiring is how the nodes of a site are wired, and what its scheduler makes of that.
type wiring struct {
	noSlurm  bool
	version  string    // of Slurm
	fabrics  []*fabric // the site's own topology first
	fabricOf []*fabric // of each pool
}

// readWiring prepares the site's topologies: its own, and those of partitions that have another one.
func readWiring(obs *federation.Observation, pools []federation.Pool, names []string) wiring {
	trees := []topology.Tree{obs.Tree}
	of := func(p *federation.Partition) int {
		if p.Tree == nil {
			return 0
		}
		i := slices.IndexFunc(trees, func(t topology.Tree) bool { return t.Same(*p.Tree) })
		if i < 0 {
			i, trees = len(trees), append(trees, *p.Tree)
		}
		return i
	}
	numbers := map[string]int{}
	for i := range obs.Partitions {
		numbers[obs.Partitions[i].Name] = of(&obs.Partitions[i])
	}
	w := wiring{noSlurm: obs.NoSlurm, version: obs.Version, fabrics: make([]*fabric, len(trees)), fabricOf: make([]*fabric, len(pools))}
	for i, t := range trees {
		w.fabrics[i] = &fabric{t.Index(names), len(t.Switches) > 0, i}
	}
	for p := range pools {
		w.fabricOf[p] = w.fabrics[numbers[pools[p].Partition]]
	}
	return w
}

// on is the topology that counts for f: that of its partition.
func (w *wiring) on(f *fit) *fabric {
	if f.on == nil {
		return w.fabrics[0]
	}
	return f.on
}

// matters reports whether it matters which of the nodes that fit f gets.
func (w *wiring) matters(f *fit) bool {
	return w.on(f).tree && (f.nodes > 1 || f.alone) || f.row(w)
}

// particular reports whether f is content only with nodes that are close in some way.
func (w *wiring) particular(f *fit) bool {
	on := w.on(f)
	return on.tree && (f.leaves > 0 || f.segment > 1 || f.alone) || f.nodes > 1 && (on.Blocks() || f.joined && on.Scattered()) || f.row(w)
}

// row reports whether f gets nodes that follow each other, and no others.
func (f *fit) row(w *wiring) bool { return f.contiguous && f.nodes > 1 && !w.on(f).Blocks() }

// heed drops what the topology plugin of the site does not act upon: topology/tree knows neither segments nor nodes that share a leaf with nobody, and looks
// at no switches for nodes that follow each other; topology/block knows neither switches nor such rows; a site that tells of no topology has topology/flat, which knows
// none of these. Machines that we rent we choose ourselves.
func (w *wiring) heed(f *fit) {
	on := w.on(f)
	switch {
	case w.noSlurm:
		f.contiguous = f.contiguous && !on.tree
	case !on.tree:
		switch {
		case f.alone:
			f.unheeded = "--exclusive=topo"
		case f.nodes < 2:
		case f.segment > 1:
			f.unheeded = "--segment"
		case f.leaves > 0:
			f.unheeded = "--switches"
		}
	case on.Blocks():
		if f.leaves > 0 && f.nodes > on.BaseBlock() {
			f.unheeded = "--switches"
		}
		f.leaves, f.contiguous = 0, false
	default:
		if f.segment > 1 && f.nodes > 1 {
			f.unheeded = "--segment"
		}
		if f.alone {
			f.unheeded = "--exclusive=topo"
		}
		f.segment, f.alone = 0, false
		if f.row(w) {
			f.leaves = 0
		} else {
			f.joined = true
		}
	}
}

// heed drops the candidates where an option about the wiring would have no effect, if there are others.
func (sh *shape) heed() {
	ignores := func(c *candidate) bool { return len(c.fits) > 0 && c.fits[0].unheeded != "" }
	heeds := func(c *candidate) bool { return !ignores(c) }
	if !slices.ContainsFunc(sh.candidates, heeds) {
		return
	}
	sh.candidates = slices.DeleteFunc(sh.candidates, func(c *candidate) bool {
		if heeds(c) {
			return false
		}
		pool := &c.site.model.pools[c.pool]
		sh.reject(c.site.site.Name, pool.Partition, pool.Name, forNow(reasons.ReqNodeNotAvail, codes.Unheeded, c.fits[0].unheeded))
		return true
	})
}

func (f *fit) wiringAsk() topology.Ask {
	return topology.Ask{Nodes: f.nodes, Leaves: f.leaves, Segment: f.segment, Contiguous: f.contiguous, Joined: f.joined}
}

// gang is the nodes on which one need fits now, by leaf. A plan only takes: so of a leaf nothing changes but where something was taken.
type gang struct {
	nodes [][]int32
	count []int
	seen  []int32 // by leaf: the last of the plan's moves that it knows of
	at    int32   // of all leaves
}

// gangKey is equal for needs that have a gang in common.
type gangKey struct {
	fitKey
	cells string
}

// nearby picks the nodes that a job of several gets now, nil if it cannot start.
func (c *capacity) nearby(cur *cursor, f *fit, end int64) []int32 {
	g := c.gang(cur, f, end)
	count := g.count
	if f.row(&c.m.wiring) {
		nodes, span := c.choose(slices.Concat(g.nodes...), f)
		cur.span = span
		return nodes
	}
	if f.alone {
		count = make([]int, len(g.count))
		for l, n := range g.count {
			if n > 0 && n == c.m.upIn(f, int32(l)) {
				count[l] = n
			}
		}
	}
	parts, span, ok := c.pick(f).Pick(count, f.wiringAsk())
	if !ok {
		return nil
	}
	nodes := make([]int32, 0, f.nodes)
	for _, p := range parts {
		nodes = append(nodes, g.nodes[p.Leaf][:p.Nodes]...)
	}
	cur.span = span
	return nodes
}

// gang brings the list for a need up to date.
func (c *capacity) gang(cur *cursor, f *fit, end int64) *gang {
	timed := c.changes > 0 || c.m.reserved
	if cur.gang == nil || timed && !cur.timed {
		cur.gang, cur.timed = c.gangOf(cur, f, end, timed), timed
	}
	g := cur.gang
	if g.at == c.moves {
		return g
	}
	for l, moved := range c.moved[c.m.wiring.on(f).number] {
		if moved <= g.seen[l] {
			continue
		}
		g.seen[l] = c.moves
		g.nodes[l] = slices.DeleteFunc(g.nodes[l], func(n int32) bool { return !c.fitsNow(n, f, end) })
		g.count[l] = len(g.nodes[l])
	}
	g.at = c.moves
	return g
}

func (c *capacity) gangOf(cur *cursor, f *fit, end int64, timed bool) *gang {
	one := *f
	one.nodes, one.leaves = 0, 0
	key := gangKey{fitKey: keyOf(0, 0, &one), cells: fmt.Sprint(cur.cells)}
	if timed {
		key.rest += strconv.FormatInt(end, 10)
	}
	if g := c.gangs[key]; g != nil {
		return g
	}
	on := c.m.wiring.on(f)
	leaves := on.Leaves()
	if c.moved == nil {
		c.gangs = map[gangKey]*gang{}
		for _, each := range c.m.wiring.fabrics {
			c.moved = append(c.moved, make([]int32, each.Leaves()))
		}
	}
	g := &gang{nodes: make([][]int32, leaves), count: make([]int, leaves), seen: slices.Repeat([]int32{c.moves}, leaves), at: c.moves}
	for _, cell := range cur.cells {
		s := c.cell(cell)
		for b := c.lowest(cell, f); b <= s.top; b++ {
			for _, n := range s.buckets[b] {
				if c.bucket[n] == b && c.fitsNow(n, f, end) {
					l := on.Leaf(n)
					g.nodes[l] = append(g.nodes[l], n)
					g.count[l]++
				}
			}
		}
	}
	c.gangs[key] = g
	return g
}

// move notes that something was taken of node n.
func (c *capacity) move(n int32) {
	if c.moved != nil {
		c.moves++
		for i, moved := range c.moved {
			moved[c.m.wiring.fabrics[i].Leaf(n)] = c.moves
		}
	}
}

// pick returns what picks leaves at the site for f.
func (c *capacity) pick(f *fit) *topology.Chooser {
	if c.choosers == nil {
		c.choosers = make([]*topology.Chooser, len(c.m.wiring.fabrics))
	}
	on := c.m.wiring.on(f)
	if c.choosers[on.number] == nil {
		c.choosers[on.number] = on.Chooser()
	}
	return c.choosers[on.number]
}

// choose picks f.nodes of some nodes, as close as f wants them; nil if they are not. The required ones are among them.
func (c *capacity) choose(nodes []int32, f *fit) ([]int32, topology.Span) {
	on := c.m.wiring.on(f)
	if f.alone {
		nodes = c.wholeLeaves(nodes, f)
	}
	if len(f.include) > 0 {
		if f.leaves > 0 {
			near := nodes[:0:0]
			for _, n := range nodes {
				if slices.ContainsFunc(f.include, func(i int32) bool { return on.Leaf(i) == on.Leaf(n) }) {
					near = append(near, n)
				}
			}
			nodes = near
		}
		if len(nodes) < f.nodes || f.leaves > 0 && on.Largest(nodes[:f.nodes], f.leaves) < f.nodes {
			return nil, topology.Span{}
		}
		return nodes[:f.nodes], on.Span(nodes[:f.nodes])
	}
	chosen, span, _ := c.pick(f).Choose(nodes, f.wiringAsk(), nil)
	return chosen, span
}

// wholeLeaves are those of some nodes whose leaves have no others that are up.
func (c *capacity) wholeLeaves(nodes []int32, f *fit) []int32 {
	on := c.m.wiring.on(f)
	count := make([]int, on.Leaves())
	for _, n := range nodes {
		count[on.Leaf(n)]++
	}
	return slices.DeleteFunc(slices.Clone(nodes), func(n int32) bool { l := on.Leaf(n); return count[l] < c.m.upIn(f, l) })
}

// upIn is how many nodes of a leaf are up, by the topology that counts for f.
func (m *model) upIn(f *fit, leaf int32) int {
	up := 0
	for _, n := range m.wiring.on(f).Nodes(leaf) {
		if m.up[n] {
			up++
		}
	}
	return up
}

// fillLeaves takes the rest of the leaves that a job has for itself.
func (c *capacity) fillLeaves(nodes []int32, f *fit, end int64) {
	on := c.m.wiring.on(f)
	for i, n := range nodes {
		l := on.Leaf(n)
		if slices.ContainsFunc(nodes[:i], func(o int32) bool { return on.Leaf(o) == l }) {
			continue
		}
		for _, other := range on.Nodes(l) {
			if c.m.up[other] && c.m.cellOf[other] >= 0 && !slices.Contains(nodes, other) {
				c.place(other, &fit{nodes: 1, cpu: c.cpu[other], mem: c.mem[other], whole: true}, end)
			}
		}
	}
}

// ideal is how close to each other the nodes of f would be if its pools ran nothing else.
func (m *model) ideal(g *group, f *fit) topology.Span {
	span := topology.Span{Nodes: f.nodes, Leaves: 1}
	if !m.wiring.on(f).tree || f.nodes < 2 {
		return span
	}
	count := m.sizes[g.pools[0]].upLeaves
	if len(g.pools) > 1 || f.exclude != nil || f.reservation != "" {
		count = m.sizeOf(m.nodesOf(g), f, m.wiring.on(f)).upLeaves
	}
	if _, best, ok := m.wiring.on(f).Chooser().Pick(count, f.wiringAsk()); ok {
		return best
	}
	return span
}

// refusal tells whether the nodes of a group can be as close together as f wants them.
func (w *wiring) refusal(f *fit, s size, nodes func() []int32) *refusal {
	on := w.on(f)
	apart := f.joined && f.nodes > 1 && on.Scattered()
	if apart {
		free := *f
		free.leaves = 0
		if have := w.largest(&free, s.leaves, 1); have < f.nodes {
			return forGood(reasons.ReqNodeNotAvail, codes.NoSwitch, f.nodes, have)
		}
		if have := w.largest(&free, s.upLeaves, 1); have < f.nodes {
			return forNow(reasons.ReqNodeNotAvail, codes.NoSwitchUp, f.nodes, have)
		}
	}
	if f.leaves > 0 && on.tree {
		near := func(count []int) int {
			if apart { // nodes that no switch names are under none
				return w.largest(f, count, 1)
			}
			return most(count, f.leaves)
		}
		// Not for good: the job may run anywhere once its --switches has waited long enough.
		if have := near(s.leaves); have < f.nodes {
			return leafRefusal(f, have, codes.OneSwitch, codes.Switches)
		}
		if have := near(s.upLeaves); have < f.nodes {
			return leafRefusal(f, have, codes.OneSwitchUp, codes.SwitchesUp)
		}
	}
	if on.Blocks() && f.nodes > 1 {
		if no := w.blockRefusal(f, s); no != nil {
			return no
		}
	}
	if f.row(w) {
		all := nodes()
		if _, _, ok := w.on(f).Chooser().Choose(all, f.wiringAsk(), nil); !ok {
			return forGood(reasons.ReqNodeNotAvail, codes.Contiguous, f.nodes)
		}
	}
	return nil
}

// blockRefusal tells whether the nodes of a group can be in blocks as topology/block would have them for f.
func (w *wiring) blockRefusal(f *fit, s size) *refusal {
	since := sbatch.Release(w.version) >= sbatch.Slurm2605 // when it became more generous
	if f.segment > 1 && f.nodes%f.segment != 0 && !(since && f.segment > f.nodes) {
		return forGood(reasons.ReqNodeNotAvail, codes.SegmentOdd, f.nodes, f.segment)
	}
	if base := w.on(f).BaseBlock(); f.segment > base && !since {
		return forGood(reasons.ReqNodeNotAvail, codes.SegmentLarge, f.segment, base)
	}
	unit, configured, up := 1, codes.Blocks, codes.BlocksUp
	if f.segment > 1 && f.segment <= f.nodes {
		unit, configured, up = f.segment, codes.Segments, codes.SegmentsUp
	}
	if have := w.largest(f, s.leaves, unit); have < f.nodes/unit {
		return blocksRefusal(forGood, configured, f, have)
	}
	if have := w.largest(f, s.upLeaves, unit); have < f.nodes/unit {
		return blocksRefusal(forNow, up, f, have)
	}
	return nil
}

func blocksRefusal(refuse func(reasons.Reason, codes.Code, ...any) *refusal, code codes.Code, f *fit, have int) *refusal {
	if code == codes.Blocks || code == codes.BlocksUp {
		return refuse(reasons.ReqNodeNotAvail, code, f.nodes, have)
	}
	return refuse(reasons.ReqNodeNotAvail, code, f.nodes, f.segment, have)
}

// largest is how many nodes, a unit at a time, find room under leaves that have so many, up to as many as f wants.
func (w *wiring) largest(f *fit, count []int, unit int) int {
	a := f.wiringAsk()
	for ; a.Nodes > 0; a.Nodes -= unit {
		if _, _, ok := w.on(f).Chooser().Pick(count, a); ok {
			break
		}
	}
	return a.Nodes / unit
}

// slow is what the distance between a candidate's nodes costs: the share of the run by which they make it longer.
func (c *runPrice) slow(fit int, span topology.Span) federation.Dollars {
	if c.fits[fit].nodes < 2 {
		return 0
	}
	return federation.Dollars(c.cost * federation.Dollars(c.slower(fit, span)-1)) // rounded by itself, as waitCost is
}

func (s *placement) slower(fit int, span topology.Span) float64 {
	span.Nodes = s.fits[fit].nodes
	return s.traffic.Slower(span, s.fits[0].nodes)
}

// traffic is how the nodes of a job talk to each other. Where it does not say so, those of a gang with GPUs are assumed to train together.
func (a *ask) traffic(gpus int) topology.Traffic {
	if t, ok := topology.ParseTraffic(a.Traffic); ok {
		return t
	}
	if gpus > 0 {
		return topology.Collective
	}
	return topology.NoTraffic
}

// slowDetail is "4 nodes under 2 switches, 4 hops apart: 1.10 x as long".
func (w wording) slowDetail() string {
	f, m := &w.fits[w.at.fit], w.site.model
	text := nodesText(f.nodes)
	if s := w.at.span; s.Leaves > 1 {
		what := "switches"
		if m.wiring.on(f).Blocks() {
			what = "blocks"
		}
		text += fmt.Sprintf(" under %d %s, %d hops apart", s.Leaves, what, s.Hops())
		if s.Apart {
			text += " at least"
		}
	}
	if least := w.fits[0].nodes; f.nodes > least {
		text += fmt.Sprintf(" instead of %d", least)
	}
	return fmt.Sprintf("%s: %.2f x as long (%s, assumed)", text, w.slower(w.at.fit, w.at.span), w.traffic)
}
