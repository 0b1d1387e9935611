package place

import "time"

// known holds the results of searches at a site after some steps of a plan. The next plan mostly begins with the same steps, and need not
// search again where the site has not changed.
type known struct {
	starts map[needKey]found
	next   map[step]*known
}

// found is the result of a search: when a need can be met, and on which nodes.
type found struct {
	start int64
	nodes []int32
}

// step is what a plan does at a site: start a job on a node, or claim nodes.
type step struct {
	f        *fit
	nodes    uint64 // a claim's, hashed; a start's one node
	from, to int64
	claim    bool
}

// maxKnown bounds the states that are remembered of a site, and the steps that lead to one.
const maxKnown = 256

// memory tracks the state of a site through a plan.
type memory struct {
	root, at *known
	pending  []step // that lead on from at; at is nil if there were too many
	states   int
	forgot   int // how often all was
}

func (m *memory) forget() { *m = memory{root: new(known), pending: m.pending, forgot: m.forgot + 1} }

// untaken reports whether the plan has taken nothing at the site so far.
func (m *memory) untaken() bool { return m.at == m.root && len(m.pending) == 0 }

// begin goes back to where nothing is taken.
func (m *memory) begin() {
	if m.root == nil || m.states > maxKnown {
		m.forget()
	}
	m.at, m.pending = m.root, m.pending[:0]
}

func (m *memory) step(s step) {
	switch {
	case m.at == nil:
	case len(m.pending) == maxKnown:
		m.at = nil
	default:
		m.pending = append(m.pending, s)
	}
}

// state returns what is known of the site in its present state; nil if that is not remembered.
func (m *memory) state() *known {
	for _, s := range m.pending {
		if m.at == nil || m.states > 2*maxKnown {
			m.at = nil
			break
		}
		next := m.at.next[s]
		if next == nil {
			if m.at.next == nil {
				m.at.next = map[step]*known{}
			}
			next = new(known)
			m.at.next[s] = next
			m.states++
		}
		m.at = next
	}
	m.pending = m.pending[:0]
	return m.at
}

// lasts reports whether what is known still holds at a later time, because no job's limit falls before it.
func (c *capacity) lasts(now int64) bool {
	return now >= c.now && now < c.quiet && !c.m.reserved && c.m.boot == nil
}

// earliest returns when and on which nodes f could start. It searches only if that is not known.
func (c *capacity) earliest(cur *cursor, f *fit, key needKey, limit time.Duration) (int64, []int32) {
	at := c.estimates.memory.state()
	if at == nil {
		return c.search(cur, f, limit)
	}
	if key.limit = 0; c.estimates.limits() {
		key.limit = limit
	}
	if s, ok := at.starts[key]; ok && s.start >= c.now {
		return s.start, s.nodes
	}
	start, nodes := c.search(cur, f, limit)
	if at.starts == nil {
		at.starts = map[needKey]found{}
	}
	at.starts[key] = found{start, nodes}
	return start, nodes
}

func hashNodes(nodes []int32) uint64 {
	h := uint64(14695981039346656037)
	for _, n := range nodes {
		h = (h ^ uint64(uint32(n))) * 1099511628211
	}
	return h
}

func firstOf(times []int64) int64 {
	first := never
	for _, t := range times {
		first = min(first, t)
	}
	return first
}
