package place

import "slices"

// capacity is what is free at one site. A plan starts from the model and only takes, so that a search can go on where the last one for
// the same need stopped (see [cursor]). release gives everything back before the next plan.
//
// What is free now is the stock's, what makes room the vacated's, and what may be taken into use the starts'. What is remembered of searches is kept by
// the estimates, the gangs and the orders.
type capacity struct {
	m    *model
	now  int64
	from int64 // searches for a start begin here: now, but for copies

	stock   stock
	vacated vacated
	starts  startLimit

	// placed are the jobs that this plan started, by node: what falls free when they end.
	placed []placed
	head   []int32 // by node: index+1 of the newest of placed
	first  []int64 // by node: nothing is released on it before; a time in the past says nothing
	quiet  int64   // nothing that runs ends before

	claims  map[int32][]claim
	marked  []bool // by node: has claims or blocks, so its future matters
	reserve []int  // by pool: how many waiting jobs hold claims

	estimates estimates
	gangs     gangs
	chooser   chooser
	orders    *orders // see ready.go
	room      room
}

// room is for freeAt, readyAt, search and scans to work in.
type room struct {
	gres    []int32
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
	nodes := len(m.cpu)
	c := &capacity{
		now: now, from: now, stock: newStock(m), estimates: newEstimates(), orders: &orders{of: map[gangKey]*readiness{}},
		head: make([]int32, nodes), first: make([]int64, nodes), claims: map[int32][]claim{}, marked: make([]bool, nodes), reserve: make([]int, len(m.pools)),
	}
	c.adopt(m)
	for n := range c.first {
		c.first[n] = m.firstFree(int32(n))
	}
	c.quiet = firstOf(c.first)
	c.begin(epoch)
	return c
}

// adopt goes on with a model in which the same is free.
func (c *capacity) adopt(m *model) { c.m, c.stock.m, c.chooser.m = m, m, m }

// begin sets up starts, reservations and estimates for a plan.
func (c *capacity) begin(epoch int) {
	c.estimates.begin(epoch, c.m.reserved)
	c.starts = newStartLimit(c.m)
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
		c.estimates.memory.forget()
	}
	c.estimates.tidy()
	c.orders.tidy(epoch - 1)
	c.now, c.from = now, now
	for _, n := range c.stock.taken {
		c.restore(n)
	}
	c.stock.release()
	for n := range c.claims {
		c.marked[n] = false
	}
	clear(c.claims)
	clear(c.reserve)
	c.vacated.clear()
	c.gangs.clear()
	c.placed = c.placed[:0]
	c.begin(epoch)
}

// restore sets a node to what the model says of it.
func (c *capacity) restore(n int32) {
	c.stock.restore(n)
	c.head[n], c.first[n] = 0, c.m.firstFree(n)
}

// follow adopts a model in which some nodes have changed: what is free on them and when, and whether they are up. Nothing may be taken.
func (c *capacity) follow(m *model, changed []int32) {
	was := c.m
	c.adopt(m)
	c.chooser.by = nil
	c.estimates.memory.forget()
	c.estimates.memory.begin()
	c.orders.follow(m, changed)
	for _, n := range changed {
		c.head[n], c.first[n] = 0, m.firstFree(n)
		c.stock.follow(n, was.up[n])
	}
	c.quiet = firstOf(c.first)
}

// fitsNow reports whether f fits on node n from now until end.
func (c *capacity) fitsNow(n int32, f *fit, end int64) bool {
	if !c.stock.has(n, f) || f.exclude != nil && f.exclude[n] || !c.starts.may(n) {
		return false
	}
	return !c.marked[n] && f.reservation == "" || c.fitsBetween(n, f, c.now, c.m.afterBoot(n, end))
}

// place takes what f needs from node n until end.
func (c *capacity) place(n int32, f *fit, end int64) {
	c.use(n)
	c.estimates.taken(step{f: f, nodes: uint64(n), from: c.now, to: end})
	c.stock.take(n, f)
	if end = c.m.afterBoot(n, end); end != never {
		c.placed = append(c.placed, placed{c.head[n], end, f})
		c.head[n] = int32(len(c.placed))
		c.first[n] = min(c.first[n], end)
	}
}

// use notes that something is taken of node n, or will be.
func (c *capacity) use(n int32) {
	c.stock.touch(n)
	c.starts.use(n)
	c.gangs.move(n, c.m.wiring.fabrics)
}
