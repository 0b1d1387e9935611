package simsite

import (
	"maps"
	"slices"
	"time"

	"fsub/federation"
	"fsub/slurm/wire"
)

// reservation is a reservation with its nodes.
type reservation struct {
	federation.Reservation
	nodes []*node

	// What was made through the API is FLEX,PURGE_COMP,IGNORE_JOBS,NO_HOLD_JOBS_AFTER_END.
	flex  bool
	gone  bool  // jobs that asked for it wait on without
	purge int64 // after so long without any job; nanoseconds
	used  int64 // when the last job was seen in it
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

// reserve is POST /reservation: it makes one, or changes the one of that name.
func (s *Site) reserve(c Caller, d *wire.ReservationDesc) error {
	start, end := d.StartTime.Value()*int64(time.Second), d.EndTime.Value()*int64(time.Second)
	u, old := s.users[c.Name], s.reservation(d.Name)
	switch {
	case s.down:
		return errController
	case !c.Privileged && (u == nil || u.Admin == ""):
		return errUserID
	case old != nil && start != 0 && old.Start.UnixNano() <= s.now:
		return errRsvStarted
	case slices.ContainsFunc(d.Users, func(name string) bool { return s.users[name] == nil }):
		return errUserID
	case old == nil && start == 0, end <= s.now, end <= start:
		return errTimeValue
	}
	r := &reservation{flex: d.Flags.Has("FLEX"), purge: d.PurgeCompleted.Time.Value() * int64(time.Second)}
	r.Name, r.Users, r.Start, r.End = d.Name, d.Users, time.Unix(0, start).UTC(), time.Unix(0, end).UTC()
	if old != nil && start == 0 {
		r.Start = old.Start
	}
	for _, name := range d.NodeList {
		n := s.nodeByName[name]
		if n == nil {
			return errNodeName
		}
		r.Nodes, r.nodes = append(r.Nodes, name), append(r.nodes, n)
	}
	for _, other := range s.resvs {
		if other != old && other.Start.Before(r.End) && r.Start.Before(other.End) && slices.ContainsFunc(r.nodes, func(n *node) bool { return slices.Contains(other.nodes, n) }) {
			return errRsvOverlap
		}
	}
	s.stats.Reserved++
	if old != nil {
		old.Reservation, old.nodes = r.Reservation, r.nodes
		r = old
	} else {
		s.resvs = append(s.resvs, r)
	}
	for _, at := range []int64{r.Start.UnixNano(), r.Start.UnixNano() + r.purge, r.End.UnixNano()} {
		s.push(at, event{kind: evPass})
	}
	s.passDue = true
	s.schedule()
	return nil
}

// unreserve is DELETE /reservation/{name}.
func (s *Site) unreserve(c Caller, name string) error {
	u, r := s.users[c.Name], s.reservation(name)
	switch {
	case s.down:
		return errController
	case r == nil:
		return errReservation
	case !c.Privileged && (u == nil || u.Admin == ""):
		return errUserID
	case s.inUse(r):
		return errRsvBusy
	}
	s.dropReservation(r)
	return nil
}

// Reservations are those that the site has.
func (s *Site) Reservations() (all []federation.Reservation) {
	s.lock()
	defer s.mu.Unlock()
	for _, r := range s.resvs {
		all = append(all, r.Reservation)
	}
	return all
}

// inUse reports whether a job runs in a reservation, or waits for it.
func (s *Site) inUse(r *reservation) bool {
	for _, j := range s.jobs {
		if j.need != nil && j.need.resv == r && !j.state.Ended() {
			return true
		}
	}
	return false
}

// expireReservations removes those that are over, and those that have begun and that no job has used for long.
func (s *Site) expireReservations() {
	for _, r := range slices.Clone(s.resvs) {
		switch {
		case !r.flex:
		case s.now >= r.End.UnixNano():
			s.dropReservation(r)
		case s.inUse(r):
			r.used = s.now
		case r.purge > 0 && s.now-max(r.Start.UnixNano(), r.used) >= r.purge:
			s.dropReservation(r)
		}
	}
}

// dropReservation forgets a reservation. Jobs that wait for it wait on without.
func (s *Site) dropReservation(r *reservation) {
	r.gone = true
	s.resvs = slices.DeleteFunc(slices.Clone(s.resvs), func(q *reservation) bool { return q == r })
	maps.DeleteFunc(s.needs, func(_ string, nd *need) bool { return nd.resv == r })
	s.passDue = true
	s.schedule()
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
	if r := nd.resv; r != nil && r.flex && !r.gone {
		if slices.Contains(r.nodes, n) {
			return true
		}
	} else if r != nil && !r.gone {
		return slices.Contains(r.nodes, n) && (!free || s.now >= r.Start.UnixNano() && s.now < r.End.UnixNano())
	}
	if !free {
		return true
	}
	for _, r := range s.resvs {
		if r == nd.resv || s.now >= r.End.UnixNano() || limit > 0 && s.now+limit <= r.Start.UnixNano() {
			continue
		}
		if slices.Contains(r.nodes, n) {
			return false
		}
	}
	return true
}
