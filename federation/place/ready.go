package place

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// readiness holds the nodes of some cells in order of the time at which one need fits on them, as the model has it: before a plan takes anything, and
// as if no job outlasted its limit. What a plan takes, and jobs past their limits, only make that later. So a search goes through
// the first nodes in order and looks closer at those that it has to; when the model changes, only the nodes that have changed are sorted in again.
type readiness struct {
	f     fit
	cells []int32
	order []nodeTime // of those that are up; at 0 the need fits already
	used  int        // the last plan that asked for it
}

// maxReady bounds what is kept of a site without being used.
const maxReady = 16

// readyAfter is when what is free on a node, and what falls free there, is enough for f; 0: it is already, never: nothing says when.
func (m *model) readyAfter(n int32, f *fit) int64 {
	var room [8]int32
	stride := len(m.slots)
	free := freeOn{m.cpu[n], m.mem[n], append(room[:0], m.gres[int(n)*stride:(int(n)+1)*stride]...)}
	if m.fitsIn(n, &free, f) {
		return 0
	}
	for i := range m.frees[n] {
		r := &m.frees[n][i]
		free.cpu = min(free.cpu+r.cpu, m.totalCPU[n])
		free.mem = min(free.mem+r.mem, m.totalMem[n])
		for _, g := range r.gres {
			free.gres[g.slot] += g.count
		}
		if m.fitsIn(n, &free, f) {
			return r.at
		}
	}
	return never
}

// compare orders two nodes by the time at which they are ready; at the same time the one that the cells list first comes first.
func (m *model) compare(cells []int32, a, b nodeTime) int {
	if a.at != b.at {
		return cmp.Compare(a.at, b.at)
	}
	if len(cells) == 1 {
		return cmp.Compare(a.n, b.n)
	}
	if x, y := m.cellOf[a.n], m.cellOf[b.n]; x != y {
		return slices.Index(cells, x) - slices.Index(cells, y)
	}
	return cmp.Compare(a.n, b.n)
}

// orders are the readinesses of a site. Copies of its capacity share them.
type orders struct {
	of map[gangKey]*readiness
}

// readiness returns the order of the nodes for a need.
func (o *orders) readiness(cur *cursor, f *fit, m *model, epoch int) *readiness {
	if r := cur.ready; r != nil && cur.readyIn == o && r.used > 0 {
		r.used = epoch
		return r
	}
	one := fit{cpu: f.cpu, mem: f.mem, gres: f.gres, whole: f.whole}
	key := gangKey{fitKey: keyOf(0, 0, &one), cells: fmt.Sprint(cur.cells)}
	r := o.of[key]
	if r == nil {
		r = &readiness{f: one, cells: cur.cells}
		for _, cell := range cur.cells {
			for _, n := range m.cells[cell].nodes {
				r.order = append(r.order, nodeTime{n, m.readyAfter(n, f)})
			}
		}
		slices.SortFunc(r.order, func(a, b nodeTime) int { return m.compare(r.cells, a, b) })
		o.of[key] = r
	}
	r.used = max(epoch, 1)
	cur.ready, cur.readyIn = r, o
	return r
}

// tidy forgets those that the last plan did not ask for, if there are many.
func (o *orders) tidy(epoch int) {
	if len(o.of) <= maxReady {
		return
	}
	for key, r := range o.of {
		if r.used < epoch {
			r.used = 0 // for the cursors that hold it
			delete(o.of, key)
		}
	}
}

// follow adopts a model in which some nodes have changed.
func (o *orders) follow(m *model, changed []int32) {
	if len(o.of) == 0 || len(changed) == 0 {
		return
	}
	other := make([]bool, len(m.cpu))
	for _, n := range changed {
		other[n] = true
	}
	for _, r := range o.of {
		var moved []nodeTime
		for _, n := range changed {
			if m.up[n] && slices.Contains(r.cells, m.cellOf[n]) {
				moved = append(moved, nodeTime{n, m.readyAfter(n, &r.f)})
			}
		}
		compare := func(a, b nodeTime) int { return m.compare(r.cells, a, b) }
		slices.SortFunc(moved, compare)
		kept := slices.DeleteFunc(r.order, func(t nodeTime) bool { return other[t.n] })
		r.order = merge(kept, moved, compare)
	}
}

// merge returns the elements of two sorted slices in order. It uses the room of the first one.
func merge[T any](a, b []T, compare func(a, b T) int) []T {
	i, k := len(a), len(b)
	a = append(a, b...)
	for to := len(a) - 1; k > 0; to-- {
		if i > 0 && compare(a[i-1], b[k-1]) > 0 {
			a[to], i = a[i-1], i-1
		} else {
			a[to], k = b[k-1], k-1
		}
	}
	return a
}

// readyScan goes through the nodes on which a need will fit, first ready first.
type readyScan struct {
	c     *capacity
	f     *fit
	cells []int32
	limit time.Duration
	order []nodeTime // to come, beside those in c.room.awaited: they are ready later than in order, or were taken back
}

func (c *capacity) scan(cur *cursor, f *fit, limit time.Duration) *readyScan {
	s := &readyScan{c: c, f: f, cells: cur.cells, limit: limit, order: c.orders.readiness(cur, f, c.m, c.estimates.epoch).order}
	c.room.awaited = c.room.awaited[:0]
	if c.from > c.now {
		i, _ := slices.BinarySearchFunc(s.order, c.from+1, func(t nodeTime, at int64) int { return cmp.Compare(t.at, at) })
		s.order = slices.Clone(s.order)
		for k := range i {
			s.order[k].at = c.from
		}
		slices.SortFunc(s.order[:i], s.compare)
	}
	for _, n := range c.vacated.nodes {
		if c.m.up[n] && slices.Contains(s.cells, c.m.cellOf[n]) {
			s.add(nodeTime{n, c.readyAt(n, f, c.from, limit)})
		}
	}
	return s
}

func (s *readyScan) compare(a, b nodeTime) int { return s.c.m.compare(s.cells, a, b) }

// add lists a node at a time.
func (s *readyScan) add(t nodeTime) {
	if t.at != never {
		s.c.room.awaited.push(s, awaited{t, true})
	}
}

// next returns the next node, false if there is none.
func (s *readyScan) next() (nodeTime, bool) {
	c := s.c
	for {
		if len(s.order) > 0 && s.order[0].at != never {
			t := s.order[0]
			t.at = max(t.at, c.from)
			if len(c.room.awaited) == 0 || s.compare(c.room.awaited[0].nodeTime, t) >= 0 {
				s.order = s.order[1:]
				switch {
				case c.vacated.has(t.n):
				case !c.plain(t.n) || s.f.reservation != "":
					c.room.awaited.push(s, awaited{nodeTime{t.n, max(t.at, c.notBefore(t.n, s.f))}, false})
				case (s.f.exclude == nil || !s.f.exclude[t.n]) && c.starts.may(t.n):
					return t, true
				}
				continue
			}
		}
		if len(c.room.awaited) == 0 {
			return nodeTime{}, false
		}
		t := c.room.awaited.pop(s)
		if t.known {
			return t.nodeTime, true
		}
		at := c.readyAt(t.n, s.f, c.from, s.limit)
		if at == t.at {
			return t.nodeTime, true
		}
		s.add(nodeTime{t.n, at})
	}
}

// notBefore is a time before which f does not fit on node n. It costs little: that of most nodes is late enough for nobody to ask when it does.
func (c *capacity) notBefore(n int32, f *fit) int64 {
	if c.marked[n] || f.reservation != "" || c.first[n] <= c.now || c.fitsNow(n, f, never) {
		return c.from
	}
	return c.first[n]
}

// plain reports whether the model says all of a node: the plan has taken nothing of it, it is not claimed, and no job has outlasted its limit there.
func (c *capacity) plain(n int32) bool {
	return !c.stock.touched[n] && !c.marked[n] && c.m.firstFree(n) > c.now
}

// search works out when and on which nodes f could start.
func (c *capacity) search(cur *cursor, f *fit, limit time.Duration) (int64, []int32) {
	s := c.scan(cur, f, limit)
	switch {
	case f.nodes == 1 && len(f.include) == 0 && !c.m.wiring.matters(f):
		t, ok := s.next()
		if !ok {
			return never, nil
		}
		return t.at, []int32{t.n}
	case !c.starts.bounded() && len(f.include) == 0 && !c.m.wiring.particular(f):
		return s.soonest()
	}
	ready := c.room.ready[:0]
	if !c.starts.bounded() {
		for t, ok := s.next(); ok; t, ok = s.next() {
			ready = append(ready, t)
		}
	} else {
		ready = c.startable(ready, cur, f, limit)
	}
	c.room.ready = ready
	for {
		start := c.chooser.enoughAt(ready, f, c.from)
		if start == never {
			return never, nil
		}
		if c.settle(ready, f, start, limit) {
			return start, c.chooser.nodesAt(ready, f, start)
		}
		slices.SortFunc(ready, s.compare)
	}
}

// startable are the nodes on which f will fit, of those that must start no more than may.
func (c *capacity) startable(ready []nodeTime, cur *cursor, f *fit, limit time.Duration) []nodeTime {
	begin := starter{of: &c.starts}
	for _, cell := range cur.cells {
		for _, n := range c.m.cells[cell].nodes {
			if t := c.readyAt(n, f, c.from, limit); t != never && begin.take(n) {
				ready = append(ready, nodeTime{n, t})
			}
		}
	}
	slices.SortFunc(ready, func(a, b nodeTime) int { return c.m.compare(cur.cells, a, b) })
	return ready
}

// soonest is when as many nodes are ready as f needs, wherever they are, and which it gets. It looks at no more nodes than are ready until then.
func (s *readyScan) soonest() (int64, []int32) {
	c, f := s.c, s.f
	ready := c.room.ready[:0]
	for {
		for len(ready) < f.nodes {
			t, ok := s.next()
			if !ok {
				return never, nil
			}
			ready = append(ready, t)
		}
		start := max(c.from, ready[f.nodes-1].at)
		for {
			t, ok := s.next()
			if !ok {
				break
			}
			if t.at > start {
				s.add(t)
				break
			}
			ready = append(ready, t)
		}
		c.room.ready = ready
		if c.settle(ready, f, start, s.limit) {
			return start, c.chooser.nodesAt(ready, f, start)
		}
		slices.SortFunc(ready, s.compare)
		for len(ready) > 0 && ready[len(ready)-1].at > start {
			s.add(ready[len(ready)-1])
			ready = ready[:len(ready)-1]
		}
	}
}
