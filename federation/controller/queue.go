package controller

import (
	"slices"

	"fsub/federation/place"
)

// queue holds the jobs without a live attempt, in order of priority, then ID. Jobs that left it are only marked, and are
// swept out when it is next read.
type queue struct {
	jobs   []*job
	in     map[*job]bool
	sorted bool
}

func (q *queue) add(j *job) {
	if q.in == nil {
		q.in = map[*job]bool{}
	}
	if q.in[j] {
		return
	}
	q.sorted = q.sorted && (len(q.jobs) == 0 || before(q.jobs[len(q.jobs)-1], j))
	q.in[j] = true
	q.jobs = append(q.jobs, j)
}

func (q *queue) drop(j *job) { delete(q.in, j) }

func (q *queue) len() int { return len(q.in) }

// ordered returns the jobs in the queue. The slice is good until the next call.
func (q *queue) ordered() []*job {
	if len(q.in) != len(q.jobs) {
		seen := make(map[*job]bool, len(q.in))
		q.jobs = slices.DeleteFunc(q.jobs, func(j *job) bool {
			gone := !q.in[j] || seen[j] // a job that left and came back stands twice
			seen[j] = true
			return gone
		})
	}
	if !q.sorted {
		slices.SortFunc(q.jobs, func(a, b *job) int {
			if before(a, b) {
				return -1
			}
			return 1
		})
		q.sorted = true
	}
	return q.jobs
}

func before(a, b *job) bool {
	if x, y := place.Priority(&a.Job), place.Priority(&b.Job); x != y {
		return x > y
	}
	return a.ID < b.ID
}
