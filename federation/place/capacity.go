package place

import (
	"slices"

	"fsub/federation"
	"fsub/topology"
)

// capacity is what is free at one site. A plan starts from the model and only takes, so that a search can go on where the last one for
// the same need stopped (see [cursor]). release gives everything back before the next plan.
type capacity struct {
	m     *model
	now   int64
	from  int64 // searches for a start begin here: now, but for copies
	epoch int   // number of the plan: results of another one are void

	taken []int32 // nodes that something was taken from, some twice

	cpu, mem []int32
	gres     []int32
	bucket   []uint8 // by node: its place in its cell's buckets
	cells    []cellState

	// placed are the jobs that this plan started, by node: what falls free when they end.
	placed []placed
	head   []int32 // by node: index+1 of the newest of placed
	first  []int64 // by node: nothing is released on it before; a time in the past says nothing
	orders *orders // see ready.go

	claims    map[int32][]claim
	vacated   map[federation.JobID]int64 // running jobs that make room for others, and when they have; see preempt.go
	vacant    []bool                     // by node: such jobs run there; nil: nowhere
	vacatedOn []int32                    // where that is
	touched   []bool                     // by node: something was taken from it
	marked    []bool                     // by node: has claims or blocks, so its future matters
	changes   int                        // counts claims: estimates made before one are old

	starts []int32 // by partition: how many of its idle nodes may still be taken into use; nil: all may
	begun  []bool  // by node: counted there

	reserve []int // by pool: how many waiting jobs hold claims
	old     map[needKey]estimate
	unmet   []unmet // by number of the need
	numbers *fitNumbers
	memory  memory
	quiet   int64 // nothing that runs ends before

	// See wiring.go.
	choosers []*topology.Chooser // by fabric
	gangs    map[gangKey]*gang
	moved    [][]int32 // by fabric, and its leaf: the last move that took something of its nodes; nil: no gang has been looked for
	moves    int32

	gresAt  []int32 // room for freeAt, readyPlain, search and scans to work in
	times   []int64
	ready   []nodeTime
	awaited waitlist
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

func newCapacity(m *model, now int64, epoch int) *capacity {
	c := &capacity{
		m: m, now: now, from: now, epoch: epoch,
		cpu: slices.Clone(m.cpu), mem: slices.Clone(m.mem), gres: slices.Clone(m.gres),
		bucket: make([]uint8, len(m.cpu)), cells: make([]cellState, len(m.cells)),
		head: make([]int32, len(m.cpu)), claims: map[int32][]claim{}, marked: make([]bool, len(m.cpu)),
		first: make([]int64, len(m.cpu)), reserve: make([]int, len(m.pools)), old: map[needKey]estimate{}, numbers: &fitNumbers{},
		touched: make([]bool, len(m.cpu)), orders: &orders{of: map[gangKey]*readiness{}},
	}
	for n := range c.first {
		c.first[n] = m.firstFree(int32(n))
	}
	c.quiet = firstOf(c.first)
	c.begin()
	return c
}

// begin sets up starts and reservations for a plan.
func (c *capacity) begin() {
	c.memory.begin()
	if c.m.starts != nil {
		c.starts, c.begun = slices.Clone(c.m.starts), make([]bool, len(c.m.cpu))
	}
	if c.m.reserved {
		for n := range c.marked {
			c.marked[n] = c.blocked(int32(n))
		}
	}
}

func (c *capacity) blocked(n int32) bool {
	return slices.ContainsFunc(c.m.blocks[n], func(b block) bool { return b.to > c.now })
}

// release gives back all that was taken since the last release: what is free is again what the model says, now.
func (c *capacity) release(now int64, epoch int) {
	if now != c.now && !c.lasts(now) {
		c.memory.forget()
	}
	if len(*c.numbers) > maxNumbers {
		c.numbers, c.unmet = &fitNumbers{}, nil
		c.memory.forget()
	}
	c.now, c.from, c.epoch = now, now, epoch
	for _, n := range c.taken {
		c.restore(n)
	}
	for i := range c.cells {
		switch s := &c.cells[i]; {
		case s.late:
			*s = cellState{}
		case s.ready && len(c.taken) > 0:
			for b := range s.buckets {
				s.buckets[b] = s.buckets[b][:s.begun[b]]
			}
		}
	}
	for n := range c.claims {
		c.marked[n] = false
	}
	clear(c.claims)
	clear(c.vacated)
	c.vacant, c.vacatedOn = nil, nil
	c.orders.tidy(epoch - 1)
	clear(c.reserve)
	clear(c.old)
	clear(c.gangs)
	c.moved, c.moves = nil, 0
	c.taken, c.placed, c.changes = c.taken[:0], c.placed[:0], 0
	c.begin()
}

// restore sets a node to what the model says of it.
func (c *capacity) restore(n int32) {
	stride := len(c.m.slots)
	c.cpu[n], c.mem[n] = c.m.cpu[n], c.m.mem[n]
	copy(c.gres[int(n)*stride:(int(n)+1)*stride], c.m.gres[int(n)*stride:])
	c.head[n], c.first[n], c.touched[n] = 0, c.m.firstFree(n), false
	if cell := c.m.cellOf[n]; cell >= 0 && c.cells[cell].ready {
		c.bucket[n] = c.bucketOf(cell, n)
	}
}

// follow adopts a model in which some nodes have changed: what is free on them and when, and whether they are up. Nothing may be taken.
func (c *capacity) follow(m *model, changed []int32) {
	wasUp := c.m.up
	c.m, c.choosers = m, nil
	c.memory.forget()
	c.memory.begin()
	c.orders.follow(m, changed)
	for _, n := range changed {
		was := c.bucket[n]
		c.restore(n)
		cell := m.cellOf[n]
		if cell < 0 || !c.cells[cell].ready || wasUp[n] == m.up[n] && (!m.up[n] || c.bucket[n] == was) {
			continue
		}
		s := &c.cells[cell]
		if i, ok := slices.BinarySearch(s.buckets[was], n); ok && wasUp[n] {
			s.buckets[was] = slices.Delete(s.buckets[was], i, i+1)
			s.begun[was]--
		}
		if !m.up[n] {
			continue
		}
		b := c.bucket[n]
		i, _ := slices.BinarySearch(s.buckets[b], n)
		s.buckets[b] = slices.Insert(s.buckets[b], i, n)
		s.begun[b]++
		s.top = max(s.top, b)
	}
	c.quiet = firstOf(c.first)
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
	c.use(n)
	c.move(n)
	c.memory.step(step{f: f, nodes: uint64(n), from: c.now, to: end})
	c.cpu[n] -= c.cpus(n, f)
	c.mem[n] -= f.mem
	base := int(n) * len(c.m.slots)
	for i := range f.gres {
		c.takeGRES(c.gres[base:base+len(c.m.slots)], n, &f.gres[i], -1)
	}
	if end = c.m.afterBoot(n, end); end != never {
		c.placed = append(c.placed, placed{c.head[n], end, f})
		c.head[n] = int32(len(c.placed))
		c.first[n] = min(c.first[n], end)
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
	return f.takes()
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
