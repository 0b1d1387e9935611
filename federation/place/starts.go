package place

import "slices"

// Offerings of one pool share its limit: a plan takes at most [federation.Partition].MaxStarts of a partition's idle nodes into use, whether they
// are up or must start, because an idle node that is up may have to make room for another. A node that is claimed for later counts
// too, since no other job may take its place.

// readStarts notes which nodes count.
func (m *model) readStarts() {
	for i := range m.obs.Partitions {
		part := &m.obs.Partitions[i]
		if part.MaxStarts == nil {
			continue
		}
		if m.starts == nil {
			m.starts, m.startsOf = make([]int32, len(m.obs.Partitions)), slices.Repeat([]int32{-1}, len(m.obs.Nodes))
		}
		m.starts[i] = clamp(int64(*part.MaxStarts))
		for p := range m.pools {
			if m.parts[p] != part {
				continue
			}
			for _, n := range m.pools[p].Nodes {
				if slices.Contains(m.obs.Nodes[n].State, "IDLE") {
					m.startsOf[n] = int32(i)
				}
			}
		}
	}
}

// counts reports whether node n would be one more that is used.
func (c *capacity) counts(n int32) bool {
	return c.starts != nil && c.m.startsOf[n] >= 0 && !c.begun[n]
}

// mayStart reports whether node n is in use, or may be.
func (c *capacity) mayStart(n int32) bool { return !c.counts(n) || c.starts[c.m.startsOf[n]] > 0 }

// use notes that something is taken of node n, or will be.
func (c *capacity) use(n int32) {
	c.taken, c.touched[n] = append(c.taken, n), true
	if c.counts(n) {
		c.begun[n] = true
		c.starts[c.m.startsOf[n]]--
	}
}

// starter picks, of the nodes of one pool, no more than may be taken into use.
type starter struct {
	c    *capacity
	used int32
}

func (s *starter) take(n int32) bool {
	if !s.c.counts(n) {
		return true
	}
	if s.used >= s.c.starts[s.c.m.startsOf[n]] {
		return false
	}
	s.used++
	return true
}
