package place

import (
	"fmt"
	"slices"

	"fsub/federation"
	"fsub/federation/codes"
	"fsub/federation/decision"
	"fsub/federation/reasons"
	"fsub/sbatch"
	"fsub/topology"
)

// Where a site has told how its nodes are wired, a job of several nodes is counted with those that its scheduler would give it: see
// [topology.Chooser]. That decides how far apart they are, and what that costs: the term "topology", which sends a job to
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
				c.place(other, &fit{nodes: 1, cpu: c.stock.cpu[other], mem: c.stock.mem[other], whole: true}, end)
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

// largest is how many nodes, a unit at a time, find room under leaves with that number each, up to as many as f wants.
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
func (c *runPrice) slow(fit int, span topology.Span) decision.Dollars {
	if c.fits[fit].nodes < 2 {
		return 0
	}
	return decision.Dollars(c.cost * decision.Dollars(c.slower(fit, span)-1)) // rounded by itself, as waitCost is
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
