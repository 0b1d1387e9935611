package place

import (
	"slices"
	"time"
)

// overdue is the number of seconds within which a job past its limit is expected to end.
const overdue = 60

// at is when a release happens, seen from now.
func (c *capacity) at(t int64) int64 {
	if t <= c.now {
		return c.now + overdue
	}
	return t
}

// freeOn is what is free on a node at some time.
type freeOn struct {
	cpu, mem int32
	gres     []int32
}

// freeAt adds to what is free on node n now what falls free until t, and takes away what is claimed at t. The result is
// valid until the next call.
func (c *capacity) freeAt(n int32, t int64) freeOn {
	free := c.stock.on(n, &c.room.gres)
	for i := range c.m.frees[n] {
		if r := &c.m.frees[n][i]; c.ends(r) <= t {
			free.cpu += r.cpu
			free.mem += r.mem
			for _, g := range r.gres {
				free.gres[g.slot] += g.count
			}
		}
	}
	for i := c.head[n]; i > 0; i = c.placed[i-1].next {
		if c.placed[i-1].end <= t {
			c.m.move(&free, n, c.placed[i-1].f, 1)
		}
	}
	for i := range c.claims[n] {
		if k := &c.claims[n][i]; k.from <= t && t < k.to {
			c.m.move(&free, n, k.f, -1)
		}
	}
	// A job may hold more than the node's record shows: never count beyond what the node has.
	free.cpu = min(free.cpu, c.m.totalCPU[n])
	free.mem = min(free.mem, c.m.totalMem[n])
	return free
}

// fitsBetween reports whether f fits on node n throughout an interval. What is free only shrinks where a claim begins.
func (c *capacity) fitsBetween(n int32, f *fit, from, to int64) bool {
	inside := f.reservation == ""
	for _, b := range c.m.blocks[n] {
		mine := b.name == f.reservation
		inside = inside || mine && b.from <= from
		if !mine && b.from < to && b.to > from {
			return false
		}
	}
	if !inside {
		return false
	}
	if free := c.freeAt(n, from); !c.m.fitsIn(n, &free, f) {
		return false
	}
	for _, k := range c.claims[n] {
		if k.from > from && k.from < to {
			if free := c.freeAt(n, k.from); !c.m.fitsIn(n, &free, f) {
				return false
			}
		}
	}
	return true
}

// readyAt is the earliest time, not before from, at which f fits on node n for as long as it may run; never if nothing says when.
func (c *capacity) readyAt(n int32, f *fit, from int64, limit time.Duration) int64 {
	if !c.m.up[n] || f.exclude != nil && f.exclude[n] || !c.starts.may(n) {
		return never
	}
	if !c.marked[n] && f.reservation == "" {
		return max(c.readyPlain(n, f), from)
	}
	times := append(c.room.times[:0], from)
	for i := range c.m.frees[n] {
		times = append(times, c.ends(&c.m.frees[n][i]))
	}
	for i := c.head[n]; i > 0; i = c.placed[i-1].next {
		times = append(times, c.placed[i-1].end)
	}
	for _, k := range c.claims[n] {
		times = append(times, k.to)
	}
	for _, b := range c.m.blocks[n] {
		times = append(times, b.from, b.to)
	}
	slices.Sort(times)
	c.room.times = times
	for i, t := range times {
		if t < from || t == never || i > 0 && t == times[i-1] {
			continue
		}
		to := endAt(t, limit)
		if t == c.now { // what is started on a node that must boot first holds it for longer: see place
			to = c.m.afterBoot(n, to)
		}
		if c.fitsBetween(n, f, t, to) {
			return t
		}
	}
	return never
}

// readyPlain is readyAt for a node on which capacity only grows, so that a job's time limit does not matter.
func (c *capacity) readyPlain(n int32, f *fit) int64 {
	if c.fitsNow(n, f, never) {
		return c.now
	}
	if c.plain(n) {
		return c.m.readyAfter(n, f)
	}
	frees := c.m.frees[n]
	if c.head[n] == 0 && len(frees) > 0 {
		// The usual case: everything ends in the order in which it is listed.
		if free := c.freeAt(n, c.at(frees[len(frees)-1].at)); !c.m.fitsIn(n, &free, f) {
			return never
		}
	}
	times := c.room.times[:0]
	for i := range frees {
		times = append(times, c.ends(&frees[i]))
	}
	for i := c.head[n]; i > 0; i = c.placed[i-1].next {
		times = append(times, c.placed[i-1].end)
	}
	slices.Sort(times)
	c.room.times = times
	times = slices.Compact(times)
	i, _ := slices.BinarySearchFunc(times, true, func(t int64, _ bool) int {
		if free := c.freeAt(n, t); c.m.fitsIn(n, &free, f) {
			return 0
		}
		return -1
	})
	if i == len(times) {
		return never
	}
	return times[i]
}

// turnover is how many of the jobs that run in a pool are expected to end within some seconds and to leave room for f: jobs end
// at any time before their limit, one as likely as another.
func (c *capacity) turnover(cur *cursor, f *fit, seconds int64) float64 {
	sum := 0.0
	for _, cell := range cur.cells {
		for _, n := range c.m.cells[cell].nodes {
			for i := range c.m.frees[n] {
				if r := &c.m.frees[n][i]; r.covers(f) {
					sum += min(1, float64(seconds)/float64(c.at(r.at)-c.now))
				}
			}
		}
	}
	return sum
}

// covers reports whether what a job gives back is enough for f.
func (r *release) covers(f *fit) bool {
	if r.cpu < f.cpu || r.mem < f.mem || f.whole {
		return false
	}
	for _, w := range f.gres {
		sum := int32(0)
		for _, g := range r.gres {
			if slices.Contains(w.slots, g.slot) {
				sum += g.count
			}
		}
		if sum < w.count {
			return false
		}
	}
	return true
}

// nodeTime is a node and when it is ready.
type nodeTime struct {
	n  int32
	at int64
}

// settle moves the nodes that were ready for a while but are not at start to their next time; it reports whether there were none.
func (c *capacity) settle(ready []nodeTime, f *fit, start int64, limit time.Duration) bool {
	settled := true
	for i := range ready {
		r := &ready[i]
		if r.at >= start || r.at == never || !c.marked[r.n] && f.reservation == "" || c.fitsBetween(r.n, f, start, endAt(start, limit)) {
			continue
		}
		r.at = c.readyAt(r.n, f, start+1, limit)
		settled = false
	}
	return settled
}

// claim reserves nodes for a job that will start there.
func (c *capacity) claim(nodes []int32, f *fit, from, to int64) {
	c.estimates.claimed(step{f: f, nodes: hashNodes(nodes), from: from, to: to, claim: true})
	for _, n := range nodes {
		c.use(n)
		c.claims[n] = append(c.claims[n], claim{from, to, f})
		c.marked[n] = true
	}
}
