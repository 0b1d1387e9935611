package place

import "slices"

// cellState sorts the nodes of a cell by what is free on them: GPUs, or CPUs where there are none. A node only moves down;
// where it was it leaves a stale entry.
type cellState struct {
	ready   bool
	late    bool  // something had been taken of its nodes before they were sorted
	top     uint8 // the highest bucket that has any
	buckets [maxBucket + 1][]int32
	begun   [maxBucket + 1]int32 // how long the buckets were when the plan began
}

const maxBucket = 63

// cell returns the state of a cell, sorting its nodes when it is first asked for.
func (c *capacity) cell(i int32) *cellState {
	s := &c.cells[i]
	if !s.ready {
		s.ready, s.late = true, slices.ContainsFunc(c.taken, func(n int32) bool { return c.m.cellOf[n] == i })
		for _, n := range c.m.cells[i].nodes {
			b := c.bucketOf(i, n)
			c.bucket[n] = b
			s.buckets[b] = append(s.buckets[b], n)
			s.begun[b]++
			s.top = max(s.top, b)
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
