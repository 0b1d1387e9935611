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

// startLimit counts the idle nodes that a plan may still take into use.
type startLimit struct {
	left  []int32 // by partition: how many of its idle nodes may still be taken into use; nil: all may
	of    []int32 // by node: see model.startsOf
	begun []bool  // by node: counted there
}

func newStartLimit(m *model) startLimit {
	if m.starts == nil {
		return startLimit{}
	}
	return startLimit{left: slices.Clone(m.starts), of: m.startsOf, begun: make([]bool, len(m.cpu))}
}

func (s *startLimit) clone() startLimit {
	return startLimit{left: slices.Clone(s.left), of: s.of, begun: slices.Clone(s.begun)}
}

// bounded reports whether the site bounds them at all.
func (s *startLimit) bounded() bool { return s.left != nil }

// counts reports whether node n would be one more that is used.
func (s *startLimit) counts(n int32) bool { return s.left != nil && s.of[n] >= 0 && !s.begun[n] }

// may reports whether node n is in use, or may be.
func (s *startLimit) may(n int32) bool { return !s.counts(n) || s.left[s.of[n]] > 0 }

// use notes that something is taken of node n, or will be.
func (s *startLimit) use(n int32) {
	if s.counts(n) {
		s.begun[n] = true
		s.left[s.of[n]]--
	}
}

// starter picks, of the nodes of one pool, no more than may be taken into use.
type starter struct {
	of   *startLimit
	used int32
}

func (s *starter) take(n int32) bool {
	if !s.of.counts(n) {
		return true
	}
	if s.used >= s.of.left[s.of.of[n]] {
		return false
	}
	s.used++
	return true
}
