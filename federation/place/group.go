package place

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"fsub/federation/codes"
	"fsub/federation/decision"
	"fsub/federation/reasons"
	"fsub/sbatch"
	"fsub/sbatch/gres"
)

// group is the nodes that a job may be placed on together: one pool, or several pools of a partition that none of them
// alone could run it.
type group struct {
	pools []int
	fits  []fit
}

// poolFits judges the nodes of a pool. It returns what the job takes there, or why it cannot run.
func (m *model) poolFits(a *ask, pool int, reservation string) (group, *refusal) {
	g, no := m.looks(a, pool, reservation)
	if no != nil {
		return g, no
	}
	return g, m.dropTooLarge(a, &g)
}

// looks judges a pool by its nodes' shape, not their number.
func (m *model) looks(a *ask, pool int, reservation string) (group, *refusal) {
	g := group{pools: []int{pool}}
	var no *refusal
	if g.fits, no = m.fits(a, pool); no != nil {
		return g, no
	}
	if no := m.featureRefusal(a, pool); no != nil {
		return g, no
	}
	for i := range g.fits {
		g.fits[i].reservation = reservation
	}
	return g, nil
}

// dropTooLarge leaves in g the fits that it has enough nodes for, or says why there are none.
func (m *model) dropTooLarge(a *ask, g *group) *refusal {
	if no := m.setNodeLists(a, g); no != nil {
		return no
	}
	g.spareParts(m, a)
	var first *refusal
	g.fits = slices.DeleteFunc(g.fits, func(f fit) bool {
		no := m.sizeRefusal(a, g, &f)
		if no != nil && (first == nil || first.never && !no.never) {
			first = no
		}
		return no != nil
	})
	if len(g.fits) == 0 {
		return first
	}
	return nil
}

// joined groups all pools of a partition whose empty nodes can each hold a part of the job, because Slurm combines
// unlike nodes. ok is false if there is nothing to join or it is still too small.
func (m *model) joined(a *ask, part string, reservation string) (g group, ok bool) {
	byNode := a.Memory.Amount == sbatch.MemAll || a.Memory.Amount == 0
	for p := range m.pools {
		if m.pools[p].Partition != part || m.pools[p].Shape.Rented != nil { // what is rented together is alike
			continue
		}
		one, no := m.looks(a, p, reservation)
		if no != nil {
			continue
		}
		// The pool whose nodes hold least decides how many nodes it takes, and how much a job that wants all of each gets.
		least := one.fits[0].mem
		if len(g.pools) > 0 {
			least = min(least, g.fits[0].mem)
		}
		if len(g.pools) == 0 || one.fits[0].nodes > g.fits[0].nodes {
			one.pools, g.pools = append(one.pools, g.pools...), nil
			g = one
		} else {
			g.pools = append(g.pools, p)
		}
		if byNode {
			for i := range g.fits {
				g.fits[i].mem = min(g.fits[i].mem, least)
			}
		}
	}
	if len(g.pools) < 2 {
		return g, false
	}
	for i := range g.fits {
		for k := range g.fits[i].gres {
			m.anySlots(&g.fits[i].gres[k], g.pools)
		}
	}
	return g, m.dropTooLarge(a, &g) == nil
}

// anySlots lets a want be met by the kinds that any of the pools have: those of the same name, if there are several.
func (m *model) anySlots(w *want, pools []int) {
	if len(w.kinds) == 0 {
		return
	}
	w.slots = w.slots[:0:0]
	for _, s := range w.kinds {
		kind := gres.Resource{Name: m.slots[s].name, Type: m.slots[s].kind}
		if slices.ContainsFunc(pools, func(p int) bool { return shapeGRES(&m.pools[p].Shape, kind) > 0 }) {
			w.slots = append(w.slots, s)
		}
	}
}

func (m *model) featureRefusal(a *ask, pool int) *refusal {
	if a.Constraint == nil {
		return nil
	}
	if f := missing(a.Constraint, func(f string) bool { return m.feature[f] }); f != "" {
		// Slurm refuses the whole expression then, even if another alternative would do.
		return forGood(reasons.BadConstraints, codes.NoSuchFeature, f)
	}
	has := func(f string) bool { return slices.Contains(m.pools[pool].Shape.Features, f) }
	elsewhere := func(f string) bool {
		for p := range m.pools {
			if m.pools[p].Partition == m.pools[pool].Partition && slices.Contains(m.pools[p].Shape.Features, f) {
				return true
			}
		}
		return false
	}
	if eval(a.Constraint, has, elsewhere) == no {
		return forGood(reasons.BadConstraints, codes.Features, a.Features, strings.Join(m.pools[pool].Shape.Features, ","))
	}
	return nil
}

// nodesOf are the nodes of a group, in order.
func (m *model) nodesOf(g *group) []int32 {
	var nodes []int32
	for _, p := range g.pools {
		for _, n := range m.pools[p].Nodes {
			nodes = append(nodes, int32(n))
		}
	}
	return nodes
}

// setNodeLists notes the nodes that a job requires and excludes. Only a group with all required ones will do.
func (m *model) setNodeLists(a *ask, g *group) *refusal {
	if len(a.include) == 0 && len(a.exclude) == 0 {
		return nil
	}
	all := m.nodesOf(g)
	var include []int32
	for _, name := range a.include {
		n, ok := m.nodeAt[name]
		if !ok {
			return forGood(reasons.ReqNodeNotAvail, codes.NoSuchNode, name)
		}
		if !slices.Contains(all, n) {
			no := forGood(reasons.ReqNodeNotAvail, codes.NodeElsewhere, name)
			no.short = 1
			return no
		}
		include = append(include, n)
	}
	exclude := make(map[int32]bool, len(a.exclude))
	for _, name := range a.exclude {
		if n, ok := m.nodeAt[name]; ok {
			exclude[n] = true
		}
	}
	for _, n := range include {
		if exclude[n] {
			return forGood(reasons.ReqNodeNotAvail, codes.BothLists, m.obs.Nodes[n].Name)
		}
	}
	for i := range g.fits {
		g.fits[i].include, g.fits[i].exclude = include, exclude
	}
	return nil
}

// spareParts excludes the nodes below switches that gangs are kept off, from what needs several nodes and finds enough others. Who names nodes gets them.
func (g *group) spareParts(m *model, a *ask) {
	if m.badPart == nil || len(a.include) > 0 {
		return
	}
	for i := range g.fits {
		f := g.fits[i]
		if f.nodes < 2 {
			continue
		}
		off := g.partsOver(m, f.exclude)
		if len(off) == 0 {
			continue
		}
		without := maps.Clone(f.exclude)
		if without == nil {
			without = make(map[int32]bool, len(m.badPart))
		}
		for n := range m.badPart {
			without[n] = true
		}
		spared := f
		if spared.exclude = without; m.sizeRefusal(a, g, &spared) == nil {
			g.fits[i].exclude = without
		} else {
			for k := range off {
				off[k].Needed = true
			}
		}
		g.fits[i].keptOff = off
	}
}

// partsOver are the switches above nodes of the group that gangs are kept off, in order of name, each with how many these are. Nodes that a job excludes do not count.
func (g *group) partsOver(m *model, exclude map[int32]bool) (off []decision.KeptOff) {
	for _, n := range m.nodesOf(g) {
		part := m.badPart[n]
		if part == "" || exclude[n] {
			continue
		}
		i, ok := slices.BinarySearchFunc(off, part, func(k decision.KeptOff, part string) int { return strings.Compare(k.Part, part) })
		if !ok {
			off = slices.Insert(off, i, decision.KeptOff{Site: m.site, Part: part})
		}
		off[i].Nodes++
	}
	return off
}

// sizeRefusal tells whether a group has enough nodes: as configured, under the leaves that the job allows, and up.
func (m *model) sizeRefusal(a *ask, g *group, f *fit) *refusal {
	size := m.sizes[g.pools[0]]
	if len(g.pools) > 1 || f.exclude != nil || f.reservation != "" {
		size = m.sizeOf(m.nodesOf(g), f, m.wiring.on(f))
	}
	if size.nodes < f.nodes {
		no := forGood(reasons.ReqNodeNotAvail, codes.PoolTooSmall, nodesText(f.nodes), size.nodes)
		if a.MinNodes == 0 && a.tasks > size.cpus {
			no = forGood(reasons.ReqNodeNotAvail, codes.TooFewCPUs, a.tasks, size.cpus)
		}
		no.short = size.nodes
		return no
	}
	if most := m.parts[g.pools[0]].MaxNodes; most > 0 && f.nodes > most {
		return forGood(reasons.PartitionNodes, codes.NodesOfPool, nodesText(f.nodes), most)
	}
	if no := m.wiring.refusal(f, size, func() []int32 { return m.nodesOf(g) }); no != nil {
		return no
	}
	if size.up < f.nodes {
		if no := m.rentalRefusal(g, f, size); no != nil {
			return no
		}
		return forNow(reasons.ReqNodeNotAvail, codes.NodesUp, nodesText(f.nodes), size.up, size.nodes)
	}
	for _, n := range f.include {
		if !m.up[n] {
			return forNow(reasons.ReqNodeNotAvail, codes.NodeState, m.obs.Nodes[n].Name, strings.Join(m.obs.Nodes[n].State, "+"))
		}
	}
	return nil
}

// size is how large a set of nodes is.
type size struct {
	nodes, up, cpus  int
	leaves, upLeaves []int // nodes under each leaf
}

// sizeOf counts the nodes that a job would use, and those under each leaf of a topology; f may be nil.
func (m *model) sizeOf(nodes []int32, f *fit, on *fabric) size {
	var s size
	if on.tree {
		s.leaves, s.upLeaves = make([]int, on.Leaves()), make([]int, on.Leaves())
	}
	for _, n := range nodes {
		if f != nil && (f.exclude[n] || f.reservation != "" && !m.reservedFor(n, f.reservation)) {
			continue
		}
		s.nodes++
		s.cpus += int(m.totalCPU[n])
		if m.up[n] {
			s.up++
		}
		if on.tree {
			leaf := on.Leaf(n)
			s.leaves[leaf]++
			if m.up[n] {
				s.upLeaves[leaf]++
			}
		}
	}
	return s
}

func (m *model) reservedFor(n int32, reservation string) bool {
	return slices.ContainsFunc(m.blocks[n], func(b block) bool { return b.name == reservation })
}

func nodesText(n int) string {
	if n == 1 {
		return "1 node"
	}
	return fmt.Sprintf("%d nodes", n)
}

func leafRefusal(f *fit, most int, one, several codes.Code) *refusal {
	if f.leaves == 1 {
		return forNow(reasons.ReqNodeNotAvail, one, f.nodes, most)
	}
	return forNow(reasons.ReqNodeNotAvail, several, f.nodes, f.leaves, most)
}
