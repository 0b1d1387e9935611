package place

import (
	"slices"

	"fsub/federation/codes"
	"fsub/federation/decision"
)

// Who makes room for others keeps its place in the queue, and is not in it for a moment: first its run must end, then its site takes no job under its number
// until it has forgotten that run. A job behind it is not sent to wait there meanwhile, where it would start first; but only for nodes that it can
// run on. One that its user has queued again holds back nobody: else a user who does so again and again would slow down all others.

// awaits notes who makes room for a job that was bound, and has not come back to the queue.
func (pl *plan) awaits(st *siteState, p *decision.Preemption) {
	if p.By == decision.PreemptBySite {
		return
	}
	for i := range p.Victims {
		v := &p.Victims[i]
		if j := st.claims[v.Job].Job; j != nil && j.Restarts <= v.Restarts && v.Mode != decision.PreemptCancel && v.Mode != decision.PreemptMove {
			st.holdBack(pl.shapeOfJob(j, nil, nil))
		}
	}
}

// comesBack notes that a job is back in the queue and cannot go yet to where it has made room.
func (pl *plan) comesBack(q *queued) {
	for name, no := range pl.refusedBy(q) {
		if !no.Is(codes.MadeRoom) {
			continue
		}
		for _, st := range pl.sites {
			if st.site.Name == name {
				st.holdBack(pl.shapeOfJob(q.job, q.expected, nil))
			}
		}
	}
}

// holdBack stops jobs from queuing for the nodes that a shape's jobs can run on.
func (st *siteState) holdBack(sh *shape) {
	for _, c := range sh.candidates {
		if c.site == st {
			st.returns.add(c)
		}
	}
}

// cellSet are cells of a site. They are few.
type cellSet []int32

// add takes in the cells of a candidate, or of its components.
func (s *cellSet) add(c *candidate) {
	for _, part := range c.parts {
		for _, p := range part {
			s.add(p)
		}
	}
	for _, cell := range c.cells {
		if !slices.Contains(*s, cell) {
			*s = append(*s, cell)
		}
	}
}

// has reports whether any of a candidate's cells is among them.
func (s cellSet) has(c *candidate) bool {
	if len(s) == 0 {
		return false
	}
	for _, part := range c.parts {
		if slices.ContainsFunc(part, s.has) {
			return true
		}
	}
	return slices.ContainsFunc(c.cells, func(cell int32) bool { return slices.Contains(s, cell) })
}
