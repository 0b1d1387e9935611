package place

import "slices"

// capacity is what is free at one site while a plan is being made. It starts as the model says and only shrinks: that is
// what lets a search go on where the last one for the same need has stopped (see [cursor]).
type capacity struct {
	m    *model
	now  int64
	from int64 // searches for a start begin here: now, but for copies

	cpu, mem []int32
	gres     []int32
	bucket   []uint8 // by node: its place in its cell's buckets
	cells    []cellState

	// placed are the jobs that this plan started, by node: what falls free when they end.
	placed []placed
	head   []int32 // by node: index+1 of the newest of placed

	claims  map[int32][]claim
	marked  []bool // by node: has claims or blocks, so its future matters
	changes int    // counts claims: estimates made before one are old

	starts []int32 // by partition: how many of its idle nodes may still be taken into use; nil: all may
	begun  []bool  // by node: counted there

	reserve []int // by pool: how many waiting jobs hold claims
	old     map[fitKey]estimate

	gresAt []int32 // room for freeAt, readyPlain and earliest to work in
	times  []int64
	ready  []nodeTime
}

// placed is a job of this plan on one node.
type placed struct {
	next int32
	end  int64
	f    *fit
}

// claim is what a waiting job will hold on a node.
type claim struct {
	from, to int64
	f        *fit
}

// cellState sorts the nodes of a cell by what is free on them: GPUs, or CPUs where there are none. A node only moves down;
// where it was it leaves a stale entry.
type cellState struct {
	ready   bool
	buckets [maxBucket + 1][]int32
}

const maxBucket = 63

func newCapacity(m *model, now int64) *capacity {
	c := &capacity{
		m: m, now: now, from: now,
		cpu: slices.Clone(m.cpu), mem: slices.Clone(m.mem), gres: slices.Clone(m.gres),
		bucket: make([]uint8, len(m.cpu)), cells: make([]cellState, len(m.cells)),
		head: make([]int32, len(m.cpu)), claims: map[int32][]claim{}, marked: make([]bool, len(m.cpu)),
		reserve: make([]int, len(m.pools)), old: map[fitKey]estimate{},
	}
	if m.starts != nil {
		c.starts, c.begun = slices.Clone(m.starts), make([]bool, len(m.cpu))
	}
	for n, b := range m.blocks {
		c.marked[n] = slices.ContainsFunc(b, func(b block) bool { return b.to > now })
	}
	return c
}

// cell returns the state of a cell, sorting its nodes when it is first asked for.
func (c *capacity) cell(i int32) *cellState {
	s := &c.cells[i]
	if !s.ready {
		s.ready = true
		for _, n := range c.m.cells[i].nodes {
			b := c.bucketOf(i, n)
			c.bucket[n] = b
			s.buckets[b] = append(s.buckets[b], n)
		}
	}
	return s
}

func (c *capacity) bucketOf(cell, n int32) uint8 {
	if gpus := c.m.cells[cell].gpus; len(gpus) > 0 {
		free := int32(0)
		for _, s := range gpus {
			free += c.gres[int(n)*len(c.m.slots)+int(s)]
		}
		return uint8(min(free, maxBucket))
	}
	return cpuBucket(c.cpu[n])
}

// cpuBucket is exact up to 16 and then has four buckets for each doubling.
func cpuBucket(cpus int32) uint8 {
	if cpus < 16 {
		return uint8(max(cpus, 0))
	}
	b, step := int32(16), int32(4)
	for from := int32(16); from < 1<<20; from *= 2 {
		if cpus < 2*from {
			return uint8(min(b+(cpus-from)/step, maxBucket))
		}
		b, step = b+4, step*2
	}
	return maxBucket
}

// lowest is the first bucket of a cell in which a node with enough can be.
func (c *capacity) lowest(cell int32, f *fit) uint8 {
	if len(c.m.cells[cell].gpus) == 0 {
		return cpuBucket(f.cpu)
	}
	gpus := int32(0)
	for i := range f.gres {
		if c.m.slots[f.gres[i].slots[0]].name == "gpu" {
			gpus += f.gres[i].count
		}
	}
	return uint8(min(gpus, maxBucket))
}

// fitsNow reports whether f fits on node n from now until end.
func (c *capacity) fitsNow(n int32, f *fit, end int64) bool {
	if c.cpu[n] < f.cpu || c.mem[n] < f.mem || f.whole && c.cpu[n] < c.m.totalCPU[n] {
		return false
	}
	base := int(n) * len(c.m.slots)
	for i := range f.gres {
		if !enough(c.gres[base:base+len(c.m.slots)], &f.gres[i]) {
			return false
		}
	}
	if f.exclude != nil && f.exclude[n] || c.starts != nil && !c.mayStart(n) {
		return false
	}
	return !c.marked[n] && f.reservation == "" || c.fitsBetween(n, f, c.now, c.m.afterBoot(n, end))
}

func enough(free []int32, w *want) bool {
	if len(w.slots) == 1 {
		return free[w.slots[0]] >= w.count
	}
	sum := int32(0)
	for _, s := range w.slots {
		sum += free[s]
	}
	return sum >= w.count
}

// place takes what f needs from node n until end.
func (c *capacity) place(n int32, f *fit, end int64) {
	c.begin(n)
	c.cpu[n] -= c.cpus(n, f)
	c.mem[n] -= f.mem
	base := int(n) * len(c.m.slots)
	for i := range f.gres {
		c.takeGRES(c.gres[base:base+len(c.m.slots)], n, &f.gres[i], -1)
	}
	if end = c.m.afterBoot(n, end); end != never {
		c.placed = append(c.placed, placed{c.head[n], end, f})
		c.head[n] = int32(len(c.placed))
	}
	cell := c.m.cellOf[n]
	s := c.cell(cell)
	if b := c.bucketOf(cell, n); b != c.bucket[n] {
		c.bucket[n] = b
		s.buckets[b] = append(s.buckets[b], n)
	}
}

// cpus is how many CPUs f takes of node n.
func (c *capacity) cpus(n int32, f *fit) int32 {
	if f.whole {
		return c.m.totalCPU[n]
	}
	return f.cpu
}

// takeGRES takes (sign -1) or gives back (sign 1) an amount of GRES on node n. Where several kinds will do it goes through
// those that the node has: taking what is free, giving back what is missing.
func (c *capacity) takeGRES(free []int32, n int32, w *want, sign int32) {
	if len(w.slots) == 1 {
		free[w.slots[0]] += sign * w.count
		return
	}
	total := c.m.totalGRES[int(n)*len(c.m.slots) : (int(n)+1)*len(c.m.slots)]
	left, last := w.count, w.slots[0]
	for _, s := range w.slots {
		if total[s] == 0 {
			continue
		}
		room := free[s]
		if sign > 0 {
			room = total[s] - free[s]
		}
		part := min(left, max(room, 0))
		free[s] += sign * part
		left -= part
		last = s
	}
	free[last] += sign * left
}

// cursor remembers, for one need in one pool, which nodes have been seen not to fit. As capacity only shrinks they never
// will in this plan.
type cursor struct {
	cells []int32
	at    []*[maxBucket + 1]int32 // by cell: entries of each bucket that are done with
	dead  bool                    // nothing fits any more
	found [1]int32                // the usual result, without an allocation
}

// places are where a search in the i-th cell goes on, by bucket.
func (cur *cursor) places(i int) *[maxBucket + 1]int32 {
	if cur.at[i] == nil {
		cur.at[i] = new([maxBucket + 1]int32)
	}
	return cur.at[i]
}

// one finds the node with the least free on which f fits, -1 if there is none.
func (c *capacity) one(cur *cursor, f *fit, end int64) int32 {
	for i, cell := range cur.cells {
		s, at := c.cell(cell), cur.places(i)
		for b := c.lowest(cell, f); b <= maxBucket; b++ {
			for ; int(at[b]) < len(s.buckets[b]); at[b]++ {
				n := s.buckets[b][at[b]]
				if c.bucket[n] == b && c.fitsNow(n, f, end) {
					return n
				}
			}
		}
	}
	return -1
}

// many finds f.nodes nodes on which f fits now, nil if there are not so many.
func (c *capacity) many(cur *cursor, f *fit, end int64) []int32 {
	start := starter{c: c}
	for _, n := range f.include {
		if !c.m.up[n] || !c.fitsNow(n, f, end) || !start.take(n) {
			return nil
		}
	}
	nodes := slices.Clone(f.include)
	leaves := f.leaves > 0 && c.m.tree
	for i, cell := range cur.cells {
		s, at := c.cell(cell), cur.places(i)
		for b := c.lowest(cell, f); b <= maxBucket; b++ {
			for k := int(at[b]); k < len(s.buckets[b]); k++ {
				if len(nodes) == f.nodes && !leaves {
					return nodes
				}
				n := s.buckets[b][k]
				switch fits := c.bucket[n] == b && c.fitsNow(n, f, end); {
				case fits && !slices.Contains(f.include, n) && start.take(n):
					nodes = append(nodes, n)
				case !fits && k == int(at[b]):
					at[b]++
				}
			}
		}
	}
	if leaves {
		return c.underLeaves(nodes, f)
	}
	if len(nodes) < f.nodes {
		return nil
	}
	return nodes
}

// underLeaves picks f.nodes of the nodes that are close enough; the wanted ones, which come first, are among them or it is nil.
func (c *capacity) underLeaves(nodes []int32, f *fit) []int32 {
	if len(f.include) > 0 {
		near := nodes[:0:0]
		for _, n := range nodes {
			if slices.ContainsFunc(f.include, func(i int32) bool { return c.m.topo.Leaf(i) == c.m.topo.Leaf(n) }) {
				near = append(near, n)
			}
		}
		nodes = near
		if len(nodes) < f.nodes || c.m.topo.Largest(nodes[:f.nodes], f.leaves) < f.nodes {
			return nil
		}
		return nodes[:f.nodes]
	}
	return c.m.topo.Choose(nodes, f.nodes, f.leaves)
}

// startNow finds the nodes on which f can start at once, nil if it cannot. They are valid until the next call.
func (c *capacity) startNow(cur *cursor, f *fit, end int64) []int32 {
	if cur.dead {
		return nil
	}
	var nodes []int32
	if f.nodes > 1 || len(f.include) > 0 {
		nodes = c.many(cur, f, end)
	} else if n := c.one(cur, f, end); n >= 0 {
		cur.found[0] = n
		nodes = cur.found[:]
	}
	cur.dead = nodes == nil
	return nodes
}

// countNow is how many of f could start now if nothing else did, up to most. On a node whose future matters it counts one.
func (c *capacity) countNow(cur *cursor, f *fit, most int, end int64) int {
	sum, start := 0, starter{c: c}
	for _, cell := range cur.cells {
		for _, n := range c.m.cells[cell].nodes {
			if sum >= most*f.nodes {
				return most
			}
			if c.fitsNow(n, f, end) && start.take(n) {
				sum += c.copies(n, f)
			}
		}
	}
	return min(max(sum/f.nodes, 1), most)
}

// copies is how often f fits on node n, on which it fits once. The parts of one job on several nodes need a node each.
func (c *capacity) copies(n int32, f *fit) int {
	if f.whole || f.nodes > 1 || c.marked[n] || f.cpu == 0 {
		return 1
	}
	k := c.cpu[n] / f.cpu
	if f.mem > 0 {
		k = min(k, c.mem[n]/f.mem)
	}
	base := int(n) * len(c.m.slots)
	for _, w := range f.gres {
		sum := int32(0)
		for _, s := range w.slots {
			sum += c.gres[base+int(s)]
		}
		k = min(k, sum/w.count)
	}
	return int(k)
}
