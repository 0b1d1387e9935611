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
