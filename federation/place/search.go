package place

import (
	"cmp"
	"slices"

	"fsub/topology"
)

// cursor remembers which nodes do not fit one need in one pool. A plan only takes, so they never will in it.
type cursor struct {
	cells []int32
	at    [][]int32     // by cell, then by bucket from the lowest that will do: how many entries are done with
	epoch int           // of the site's capacity
	dead  bool          // nothing fits any more
	found [1]int32      // the usual result, without an allocation
	span  topology.Span // of the last result
	gang  *gang         // see capacity.gang
	timed bool          // that one is for a job that ends in time

	ready   *readiness // see orders.readiness
	readyIn *orders
}

// place is where a search in a bucket of the i-th cell goes on; the bucket is counted from the lowest.
func (cur *cursor) place(i, bucket int) int32 {
	if i >= len(cur.at) || bucket >= len(cur.at[i]) {
		return 0
	}
	return cur.at[i][bucket]
}

// moveTo is where the next search there goes on. No bucket above the highest one ever gets a node.
func (cur *cursor) moveTo(i, bucket int, k int32, s *cellState, lowest uint8) {
	if cur.at == nil {
		cur.at = make([][]int32, len(cur.cells))
	}
	if n := int(s.top) + 1 - int(lowest); len(cur.at[i]) < n {
		cur.at[i] = append(make([]int32, 0, n), cur.at[i]...)[:n]
	}
	cur.at[i][bucket] = k
}

// renew forgets what was seen in another plan.
func (cur *cursor) renew(epoch int) {
	cur.epoch, cur.dead, cur.gang = epoch, false, nil
	for _, at := range cur.at {
		clear(at)
	}
}

// one finds the node with the least free on which f fits, -1 if there is none.
func (c *capacity) one(cur *cursor, f *fit, end int64) int32 {
	for i, cell := range cur.cells {
		s, lowest := c.stock.cell(cell), c.stock.lowest(cell, f)
		for b := lowest; b <= s.top; b++ {
			nodes, was := s.buckets[b], cur.place(i, int(b-lowest))
			if b == s.top && len(nodes) > 0 {
				nodes = c.emptiest(s, f)
			}
			k, found := was, int32(-1)
			for ; int(k) < len(nodes); k++ {
				if n := nodes[k]; c.stock.bucket[n] == b && c.fitsNow(n, f, end) {
					found = n
					break
				}
			}
			if k > was {
				cur.moveTo(i, int(b-lowest), k, s, lowest)
			}
			if found >= 0 {
				return found
			}
		}
	}
	return -1
}

// breaks is 1 if a job that takes some of the GPUs of node n breaks into one on which nothing runs, which a gang could have had; else 0.
func (c *capacity) breaks(n int32, f *fit) int {
	if f.gpus == 0 || f.whole || c.stock.cpu[n] < c.m.totalCPU[n] || int(c.stock.bucket[n]) <= f.gpus {
		return 0
	}
	return 1
}

// emptiest are the nodes of a cell on which most is free, in the order in which jobs that need one node break into them: those first whose leaves have
// the fewest of them, so that the others stay whole for gangs. In a plan no node comes to them, and the order stays as it was when it was first asked for.
func (c *capacity) emptiest(s *cellState, f *fit) []int32 {
	nodes, on := s.buckets[s.top], c.m.wiring.on(f)
	if !on.tree || on.Leaves() < 3 { // the last one is of nodes that no switch names
		return nodes
	}
	if s.byLeafOf == c.estimates.epoch {
		return s.byLeaf
	}
	count := make([]int32, on.Leaves())
	for _, n := range nodes {
		if c.stock.bucket[n] == s.top {
			count[on.Leaf(n)]++
		}
	}
	leaves := make([]int32, len(count))
	for l := range leaves {
		leaves[l] = int32(l)
	}
	slices.SortStableFunc(leaves, func(a, b int32) int { return cmp.Compare(count[a], count[b]) })
	next, at := int32(0), make([]int32, len(count)) // where the next node of a leaf goes
	for _, l := range leaves {
		at[l], next = next, next+count[l]
	}
	s.byLeafOf, s.byLeaf = c.estimates.epoch, slices.Grow(s.byLeaf[:0], int(next))[:next]
	for _, n := range nodes {
		if c.stock.bucket[n] == s.top {
			l := on.Leaf(n)
			s.byLeaf[at[l]] = n
			at[l]++
		}
	}
	return s.byLeaf
}

// many finds f.nodes nodes on which f fits now, nil if there are not enough.
func (c *capacity) many(cur *cursor, f *fit, end int64) []int32 {
	start := starter{of: &c.starts}
	for _, n := range f.include {
		if !c.m.up[n] || !c.fitsNow(n, f, end) || !start.take(n) {
			return nil
		}
	}
	nodes := slices.Clone(f.include)
	wired := c.m.wiring.matters(f)
	for i, cell := range cur.cells {
		s, lowest := c.stock.cell(cell), c.stock.lowest(cell, f)
		for b := lowest; b <= s.top; b++ {
			from := int(cur.place(i, int(b-lowest)))
			for k := from; k < len(s.buckets[b]); k++ {
				if len(nodes) == f.nodes && !wired {
					return nodes
				}
				n := s.buckets[b][k]
				switch fits := c.stock.bucket[n] == b && c.fitsNow(n, f, end); {
				case fits && !slices.Contains(f.include, n) && start.take(n):
					nodes = append(nodes, n)
				case !fits && k == from:
					from++
					cur.moveTo(i, int(b-lowest), int32(from), s, lowest)
				}
			}
		}
	}
	if wired {
		nodes, cur.span = c.chooser.choose(nodes, f)
		return nodes
	}
	if len(nodes) < f.nodes {
		return nil
	}
	return nodes
}

// startNow finds the nodes on which f can start at once, nil if it cannot. They are valid until the next call.
func (c *capacity) startNow(cur *cursor, f *fit, end int64) []int32 {
	if cur.epoch != c.estimates.epoch {
		cur.renew(c.estimates.epoch)
	}
	if cur.dead {
		return nil
	}
	var nodes []int32
	if f.nodes > 1 || f.alone || len(f.include) > 0 {
		cur.span = topology.Span{}
		if c.m.wiring.on(f).tree && len(f.include) == 0 && !c.starts.bounded() {
			nodes = c.nearby(cur, f, end)
		} else {
			nodes = c.many(cur, f, end)
		}
	} else if n := c.one(cur, f, end); n >= 0 {
		cur.found[0] = n
		nodes = cur.found[:]
	}
	cur.dead = nodes == nil
	return nodes
}
