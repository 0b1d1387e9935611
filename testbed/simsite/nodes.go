package simsite

import (
	"slices"

	"fsub/federation"
)

// NodeDown takes a node away with all that runs on it.
func (s *Site) NodeDown(name, reason string) error {
	return s.withNode(name, func(n *node) { s.nodeDown(n, reason) })
}

// NodeUp brings a node back, and ends a drain.
func (s *Site) NodeUp(name string) error {
	return s.withNode(name, func(n *node) { n.down, n.drain, n.reason = false, false, "" })
}

// NodeDrain lets nothing new start on a node.
func (s *Site) NodeDrain(name, reason string) error {
	return s.withNode(name, func(n *node) { n.drain, n.reason = true, reason })
}

// SetPartition sets a partition's state: UP, DOWN, DRAIN or INACTIVE.
func (s *Site) SetPartition(name, state string) error {
	s.lock()
	defer s.mu.Unlock()
	for _, p := range s.parts {
		if p.Name == name {
			p.State = state
			s.passDue = true
			s.schedule()
			return nil
		}
	}
	return errPartition
}

func (s *Site) withNode(name string, f func(*node)) error {
	s.lock()
	defer s.mu.Unlock()
	n := s.nodeByName[name]
	if n == nil {
		return errNodeName
	}
	f(n)
	s.passDue = true
	s.schedule()
	return nil
}

func (s *Site) nodeDown(n *node, reason string) {
	n.down, n.reason = true, reason
	for _, r := range s.liveRuns() {
		if slices.ContainsFunc(r.shares, func(sh share) bool { return sh.n == n }) {
			s.endRun(r, RunNodeFail, 9)
		}
	}
	if s.down {
		return // the controller finds out when it is back: the node does not know the job
	}
	for _, j := range slices.Clone(s.order) {
		if j != nil && j.state == federation.Running && slices.ContainsFunc(j.shares, func(sh share) bool { return sh.n == n }) {
			j.run.delivered = true
			s.lost(j, 0)
		}
	}
}

// setNode is POST /node/{name}: the states that operators may set.
func (s *Site) setNode(c Caller, name string, states []string, reason string) error {
	n := s.nodeByName[name]
	u := s.users[c.Name]
	switch {
	case s.down:
		return errController
	case n == nil:
		return errNodeName
	case !c.Privileged && (u == nil || u.Admin != "Administrator"):
		return errUserID
	}
	for _, st := range states {
		switch st {
		case "DRAIN":
			n.drain, n.reason = true, reason
		case "DOWN":
			s.nodeDown(n, reason)
		case "UNDRAIN":
			if n.drain = false; !n.down {
				n.reason = ""
			}
		case "RESUME", "IDLE":
			n.down, n.drain, n.reason = false, false, ""
		default:
			return errNodeState
		}
	}
	s.passDue = true
	s.schedule()
	return nil
}
