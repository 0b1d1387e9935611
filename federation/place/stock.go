package place

import "slices"

// stock is what is free on the nodes of a site now, and the nodes of each cell in the order of that.
type stock struct {
	m        *model
	cpu, mem []int32 // by node
	gres     []int32 // by node and slot
	taken    []int32 // nodes that something was taken from, some twice
	touched  []bool  // by node: it is one of those
	bucket   []uint8 // by node: its place in its cell's buckets
	cells    []cellState
}

func newStock(m *model) stock {
	return stock{
		m: m, cpu: slices.Clone(m.cpu), mem: slices.Clone(m.mem), gres: slices.Clone(m.gres),
		touched: make([]bool, len(m.cpu)), bucket: make([]uint8, len(m.cpu)), cells: make([]cellState, len(m.cells)),
	}
}

// on is what is free on node n, with the GRES in a buffer that it overwrites.
func (s *stock) on(n int32, gres *[]int32) freeOn {
	stride := len(s.m.slots)
	*gres = append((*gres)[:0], s.gres[int(n)*stride:(int(n)+1)*stride]...)
	return freeOn{s.cpu[n], s.mem[n], *gres}
}

// has reports whether enough for f is free on node n.
func (s *stock) has(n int32, f *fit) bool {
	if s.cpu[n] < f.cpu || s.mem[n] < f.mem || f.whole && s.cpu[n] < s.m.totalCPU[n] {
		return false
	}
	base := int(n) * len(s.m.slots)
	for i := range f.gres {
		if !enough(s.gres[base:base+len(s.m.slots)], &f.gres[i]) {
			return false
		}
	}
	return true
}

// touch notes that something is taken from node n, or will be.
func (s *stock) touch(n int32) { s.taken, s.touched[n] = append(s.taken, n), true }

// take takes what f needs from node n.
func (s *stock) take(n int32, f *fit) {
	s.cpu[n] -= s.m.takenBy(f, n)
	s.mem[n] -= f.mem
	base := int(n) * len(s.m.slots)
	for i := range f.gres {
		s.m.moveGRES(s.gres[base:base+len(s.m.slots)], n, &f.gres[i], -1)
	}
	cell := s.m.cellOf[n]
	in := s.cell(cell)
	if b := s.bucketOf(cell, n); b != s.bucket[n] {
		s.bucket[n] = b
		in.buckets[b] = append(in.buckets[b], n)
	}
}

// restore sets a node to what the model says of it.
func (s *stock) restore(n int32) {
	stride := len(s.m.slots)
	s.cpu[n], s.mem[n] = s.m.cpu[n], s.m.mem[n]
	copy(s.gres[int(n)*stride:(int(n)+1)*stride], s.m.gres[int(n)*stride:])
	s.touched[n] = false
	if cell := s.m.cellOf[n]; cell >= 0 && s.cells[cell].ready {
		s.bucket[n] = s.bucketOf(cell, n)
	}
}

// release forgets what was taken, when all nodes are restored.
func (s *stock) release() {
	for i := range s.cells {
		switch in := &s.cells[i]; {
		case in.late:
			*in = cellState{}
		case in.ready && len(s.taken) > 0:
			for b := range in.buckets {
				in.buckets[b] = in.buckets[b][:in.begun[b]]
			}
		}
	}
	s.taken = s.taken[:0]
}

// follow sets a node to what a new model says of it. Nothing may be taken.
func (s *stock) follow(n int32, wasUp bool) {
	was, up := s.bucket[n], s.m.up[n]
	s.restore(n)
	cell := s.m.cellOf[n]
	if cell < 0 || !s.cells[cell].ready || wasUp == up && (!up || s.bucket[n] == was) {
		return
	}
	in := &s.cells[cell]
	if i, ok := slices.BinarySearch(in.buckets[was], n); ok && wasUp {
		in.buckets[was] = slices.Delete(in.buckets[was], i, i+1)
		in.begun[was]--
	}
	if !up {
		return
	}
	b := s.bucket[n]
	i, _ := slices.BinarySearch(in.buckets[b], n)
	in.buckets[b] = slices.Insert(in.buckets[b], i, n)
	in.begun[b]++
	in.top = max(in.top, b)
}

// cellState sorts the nodes of a cell by what is free on them: GPUs, or CPUs where there are none. A node only moves down;
// where it was it leaves a stale entry.
type cellState struct {
	ready   bool
	late    bool  // something had been taken of its nodes before they were sorted
	top     uint8 // the highest bucket that has any
	buckets [maxBucket + 1][]int32
	begun   [maxBucket + 1]int32 // how long the buckets were when the plan began

	byLeaf   []int32 // the highest bucket, see emptiest
	byLeafOf int     // the plan that it is of
}

const maxBucket = 63

// cell returns the state of a cell, sorting its nodes when it is first asked for.
func (s *stock) cell(i int32) *cellState {
	in := &s.cells[i]
	if !in.ready {
		in.ready, in.late = true, slices.ContainsFunc(s.taken, func(n int32) bool { return s.m.cellOf[n] == i })
		for _, n := range s.m.cells[i].nodes {
			b := s.bucketOf(i, n)
			s.bucket[n] = b
			in.buckets[b] = append(in.buckets[b], n)
			in.begun[b]++
			in.top = max(in.top, b)
		}
	}
	return in
}

func (s *stock) bucketOf(cell, n int32) uint8 {
	if gpus := s.m.cells[cell].gpus; len(gpus) > 0 {
		free := int32(0)
		for _, slot := range gpus {
			free += s.gres[int(n)*len(s.m.slots)+int(slot)]
		}
		return uint8(min(free, maxBucket))
	}
	return cpuBucket(s.cpu[n])
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
func (s *stock) lowest(cell int32, f *fit) uint8 {
	if len(s.m.cells[cell].gpus) == 0 {
		return cpuBucket(f.cpu)
	}
	gpus := int32(0)
	for i := range f.gres {
		if s.m.slots[f.gres[i].slots[0]].name == "gpu" {
			gpus += f.gres[i].count
		}
	}
	return uint8(min(gpus, maxBucket))
}
