package cloud

import (
	"cmp"
	"container/heap"
	"slices"
	"time"

	"fsub/federation/reasons"
)

// scheduler fulfils claims: with machines that are there, or with new ones that the renter asks the cloud for.
type scheduler struct {
	*base
	queue    *queue
	fleet    *fleet
	runs     *runs
	numbers  *numbers
	requests *requests
}

// schedule fulfils claims for as long as there are machines, in their order.
func (s *scheduler) schedule() {
	for _, p := range s.fleet.pools.all {
		p.allowed = nil
	}
	for pass := s.queue.take(); len(pass) > 0; pass = s.queue.take() {
		for len(pass) > 0 {
			if l := pass[0]; s.start(l) {
				heap.Fix(&pass, 0)
			} else {
				heap.Pop(&pass)
				s.queue.drop(l)
			}
		}
	}
}

// start gives machines to the first job of a subqueue, or gives it back. It reports whether there is another one to be looked at.
func (s *scheduler) start(l *subqueue) (more bool) {
	j := l.jobs[0]
	l.waits = forNothing
	grow, ok := s.mayTake(l)
	if !ok {
		return false
	}
	var r *run
	v := refusal{reason: reasons.Resources, waits: forMachines, short: 1}
	if !slices.ContainsFunc(l.pools, (*pool).full) {
		r, v = s.place(j, grow)
	}
	if r == nil && v.back && j.waitsOn(s.now()) {
		v.back, v.waits = false, forCloud
	}
	if r == nil && !v.back {
		s.tell(j, v)
		if l.since.IsZero() {
			l.since = s.now()
		}
		if l.waits, l.short = v.waits, v.short; v.waits == forCloud || v.waits == forMachines && l.lets(s.now(), s.t.Overtake) {
			s.startBehind(l)
		}
		return false
	}
	heap.Pop(&l.jobs)
	j.subqueue, l.since = nil, time.Time{}
	if r != nil {
		s.bind(j, r)
	} else {
		s.giveBack(j, v)
	}
	return len(l.jobs) > 0
}

// tell has a job show why it waits.
func (s *scheduler) tell(j *job, v refusal) {
	if v.detail == "" && j.Kept != nil {
		v.detail = j.whyKept()
	}
	if j.Reason != v.reason || j.Detail != v.detail {
		j.Reason, j.Detail = v.reason, v.detail
		s.put(j)
	}
}

// mayTake reports whether a subqueue's first job may take machines, though claims that were made before it wait in other subqueues: what they wait for is kept for them.
// grow: new machines, too.
func (s *scheduler) mayTake(l *subqueue) (grow, ok bool) {
	grow = true
	for _, p := range l.pools {
		for other := range p.subqueues {
			if other == l || other.waits != forMachines || !before(other.jobs[0], l.jobs[0]) {
				continue
			}
			if other.meets(l) {
				if !other.lets(s.now(), s.t.Overtake) {
					return false, false
				}
				grow = false
			}
			grow = grow && other.short <= max(p.Max-p.machines, 0)
		}
	}
	return grow, true
}

// meets reports whether two subqueues want machines of the same node group.
func (l *subqueue) meets(other *subqueue) bool {
	return slices.ContainsFunc(l.wants, func(a want) bool {
		return slices.ContainsFunc(other.wants, func(b want) bool {
			return a.Partition == b.Partition && (a.Offering == b.Offering || a.Offering == "" || b.Offering == "")
		})
	})
}

// startBehind gives machines that are there to jobs behind a subqueue's first, which cannot use them. Of alike jobs of a user only the first that does not fit is tried.
func (s *scheduler) startBehind(l *subqueue) {
	type like struct {
		user  string
		needs uint64
	}
	failed := map[like]bool{}
	later := slices.Clone(l.jobs[1:])
	slices.SortFunc(later, func(a, b *job) int { return cmp.Or(cmp.Compare(a.Claim, b.Claim), cmp.Compare(a.id(), b.id())) })
	for _, j := range later {
		if slices.ContainsFunc(l.pools, (*pool).full) {
			return
		}
		of := like{j.User.Name, j.Job.Needs().ID()}
		if failed[of] {
			continue
		}
		r, _ := s.place(j, false)
		if r == nil {
			failed[of] = true
			continue
		}
		heap.Remove(&l.jobs, slices.Index(l.jobs, j))
		j.subqueue = nil
		s.bind(j, r)
	}
}
