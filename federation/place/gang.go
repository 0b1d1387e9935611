package place

import (
	"fmt"
	"slices"
	"strconv"
)

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

// add takes in a node of a leaf.
func (g *gang) add(leaf, n int32) {
	g.nodes[leaf] = append(g.nodes[leaf], n)
	g.count[leaf]++
}

// gangs are those that a plan has looked for.
type gangs struct {
	of    map[gangKey]*gang
	moved [][]int32 // by fabric, and its leaf: the last move that took something of its nodes; nil: no gang has been looked for
	moves int32
}

// begin returns a gang without nodes, for a need that is not known yet.
func (gs *gangs) begin(key gangKey, leaves int, fabrics []*fabric) *gang {
	if gs.moved == nil {
		gs.of = map[gangKey]*gang{}
		for _, each := range fabrics {
			gs.moved = append(gs.moved, make([]int32, each.Leaves()))
		}
	}
	g := &gang{nodes: make([][]int32, leaves), count: make([]int, leaves), seen: slices.Repeat([]int32{gs.moves}, leaves), at: gs.moves}
	gs.of[key] = g
	return g
}

// move notes that something was taken of node n.
func (gs *gangs) move(n int32, fabrics []*fabric) {
	if gs.moved != nil {
		gs.moves++
		for i, moved := range gs.moved {
			moved[fabrics[i].Leaf(n)] = gs.moves
		}
	}
}

// refresh drops from a gang the nodes on which the need does not fit any more. The gang is one of the leaves of that fabric.
func (gs *gangs) refresh(g *gang, fabric int, fits func(n int32) bool) {
	if g.at == gs.moves {
		return
	}
	for l, moved := range gs.moved[fabric] {
		if moved > g.seen[l] {
			g.seen[l] = gs.moves
			g.nodes[l] = slices.DeleteFunc(g.nodes[l], func(n int32) bool { return !fits(n) })
			g.count[l] = len(g.nodes[l])
		}
	}
	g.at = gs.moves
}

// clear forgets all, when nothing is taken any more.
func (gs *gangs) clear() {
	clear(gs.of)
	gs.moved, gs.moves = nil, 0
}

// nearby picks the nodes that a job of several gets now, nil if it cannot start.
func (c *capacity) nearby(cur *cursor, f *fit, end int64) []int32 {
	g := c.gang(cur, f, end)
	count := g.count
	if f.row(&c.m.wiring) {
		nodes, span := c.chooser.choose(slices.Concat(g.nodes...), f)
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
	parts, span, ok := c.chooser.of(f).Pick(count, f.wiringAsk())
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

// gang returns the nodes on which a need fits now.
func (c *capacity) gang(cur *cursor, f *fit, end int64) *gang {
	limits := c.estimates.limits()
	if cur.gang == nil || limits && !cur.timed {
		cur.gang, cur.timed = c.gangOf(cur, f, end, limits), limits
	}
	c.gangs.refresh(cur.gang, c.m.wiring.on(f).number, func(n int32) bool { return c.fitsNow(n, f, end) })
	return cur.gang
}

func (c *capacity) gangOf(cur *cursor, f *fit, end int64, timed bool) *gang {
	one := *f
	one.nodes, one.leaves = 0, 0
	key := gangKey{fitKey: keyOf(0, 0, &one), cells: fmt.Sprint(cur.cells)}
	if timed {
		key.rest += strconv.FormatInt(end, 10)
	}
	if g := c.gangs.of[key]; g != nil {
		return g
	}
	on := c.m.wiring.on(f)
	g := c.gangs.begin(key, on.Leaves(), c.m.wiring.fabrics)
	for _, cell := range cur.cells {
		in := c.stock.cell(cell)
		for b := c.stock.lowest(cell, f); b <= in.top; b++ {
			for _, n := range in.buckets[b] {
				if c.stock.bucket[n] == b && c.fitsNow(n, f, end) {
					g.add(on.Leaf(n), n)
				}
			}
		}
	}
	return g
}
