package simsite

import (
	"slices"

	"fsub/federation"
)

// groupKey tells the groups of the queue apart: jobs with one need and one limit fit or do not fit together.
type groupKey struct {
	need  *need
	limit int64
}

// group is the jobs of one key that could start now, by priority.
type group struct {
	jobs []*job
}

func first(a, b *job) int {
	if a.prio != b.prio {
		if a.prio > b.prio {
			return -1
		}
		return 1
	}
	return a.seq - b.seq
}

// enqueue lets the scheduler see a pending job, if nothing else keeps it back.
func (s *Site) enqueue(j *job) {
	if j.state != federation.Pending || j.queued || j.held != federation.NotHeld || s.throttled(j) {
		return
	}
	if j.begin > s.now {
		s.push(j.begin, event{kind: evBegin, job: j, gen: j.gen})
		return
	}
	if j.eligible == 0 {
		j.eligible = s.now
		if j.row != nil {
			j.row.Eligible = stamp(s.now)
		}
	}
	k := groupKey{j.need, j.limit}
	g := s.groups[k]
	if g == nil {
		g = &group{}
		s.groups[k] = g
	}
	at, _ := slices.BinarySearchFunc(g.jobs, j, first)
	g.jobs = slices.Insert(g.jobs, at, j)
	j.queued = true
	if at == 0 {
		s.passDue = true
		if j.need.switches > 0 {
			s.push(s.now+int64(j.need.switchWait)+1, event{kind: evPass})
		}
	}
}

// dequeue takes a job out of the scheduler's sight.
func (s *Site) dequeue(j *job) {
	if !j.queued {
		return
	}
	j.queued = false
	k := groupKey{j.need, j.limit}
	g := s.groups[k]
	if len(g.jobs) > 0 && g.jobs[0] == j {
		g.jobs[0] = nil
		g.jobs = g.jobs[1:]
		s.passDue = true
	} else if at, ok := slices.BinarySearchFunc(g.jobs, j, first); ok {
		g.jobs = slices.Delete(g.jobs, at, at+1)
	}
	if len(g.jobs) == 0 {
		delete(s.groups, k)
	}
}

// schedule starts what fits: jobs by priority, and a later one when an earlier one does not fit.
func (s *Site) schedule() {
	for s.passDue && !s.down {
		s.passDue = false
		s.pass()
	}
}

func (s *Site) pass() {
	var open []*group
	for _, g := range s.groups {
		open = append(open, g)
	}
	for len(open) > 0 {
		best := 0
		for i := 1; i < len(open); i++ {
			if first(open[i].jobs[0], open[best].jobs[0]) < 0 {
				best = i
			}
		}
		g := open[best]
		j := g.jobs[0]
		if !s.tryStart(j) || len(g.jobs) == 0 {
			open[best] = open[len(open)-1]
			open = open[:len(open)-1]
		}
	}
	s.passDue = false
}

func (s *Site) tryStart(j *job) bool {
	for _, p := range j.need.parts {
		if shares := s.place(j, j.need, p); shares != nil {
			s.start(j, p, shares)
			return true
		}
	}
	return false
}
