package simsite

import (
	"slices"

	"fsub/federation"
)

// reservation is a reservation with its nodes.
type reservation struct {
	federation.Reservation
	nodes []*node
}

func (s *Site) buildReservations(list []federation.Reservation) error {
	for _, r := range list {
		rv := &reservation{Reservation: r}
		for _, name := range r.Nodes {
			n := s.nodeByName[name]
			if n == nil {
				return errNodeName
			}
			rv.nodes = append(rv.nodes, n)
		}
		s.resvs = append(s.resvs, rv)
	}
	return nil
}

func (s *Site) reservation(name string) *reservation {
	for _, r := range s.resvs {
		if r.Name == name {
			return r
		}
	}
	return nil
}

// mayUse reports whether a user with an account may submit into the reservation.
func (r *reservation) mayUse(user, account string) bool {
	return slices.Contains(r.Users, user) || slices.Contains(r.Accounts, account) || len(r.Users)+len(r.Accounts) == 0
}

// allowedByReservations: a job with a reservation runs on its nodes and in its time, any other job keeps clear of what
// is reserved before its limit ends.
func (s *Site) allowedByReservations(n *node, nd *need, limit int64, free bool) bool {
	if r := nd.resv; r != nil {
		return slices.Contains(r.nodes, n) && (!free || s.now >= r.Start.UnixNano() && s.now < r.End.UnixNano())
	}
	if !free {
		return true
	}
	for _, r := range s.resvs {
		if s.now >= r.End.UnixNano() || limit > 0 && s.now+limit <= r.Start.UnixNano() {
			continue
		}
		if slices.Contains(r.nodes, n) {
			return false
		}
	}
	return true
}
