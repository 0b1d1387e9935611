package cloud

import (
	"cmp"
	"container/heap"
	"slices"
	"time"

	"fsub/federation"
)

// schedule fulfils claims for as long as there are machines, in their order.
func (q *queue) schedule() {
	for _, p := range q.fleet.pools {
		p.allowed = nil
	}
	for len(q.looking) > 0 {
		pass := firsts(q.looking)
		q.looking = nil
		pass = slices.DeleteFunc(pass, func(l *line) bool { l.looking = false; return len(l.jobs) == 0 })
		heap.Init(&pass)
		for len(pass) > 0 {
			if l := pass[0]; q.start(l) {
				heap.Fix(&pass, 0)
			} else {
				heap.Pop(&pass)
				q.drop(l)
			}
		}
	}
}

// firsts is a heap of lines by the claims of their first jobs.
type firsts []*line

// start gives machines to the first job of a line, or gives it back. It reports whether there is another one to be looked at.
func (q *queue) start(l *line) (more bool) {
	j := l.jobs[0]
	l.waits = forNothing
	grow, ok := q.mayTake(l)
	if !ok {
		return false
	}
	var r *run
	v := refusal{reason: federation.ReasonResources, waits: forMachines, short: 1}
	if !slices.ContainsFunc(l.pools, (*pool).full) {
		r, v = q.place(j, grow)
	}
	if r == nil && !v.back {
		q.tell(j, v)
		if l.since.IsZero() {
			l.since = q.now()
		}
		if l.waits, l.short = v.waits, v.short; v.waits == forCloud || v.waits == forMachines && l.lets(q.now(), q.t.Overtake) {
			q.startBehind(l)
		}
		return false
	}
	heap.Pop(&l.jobs)
	j.line, l.since = nil, time.Time{}
	if r != nil {
		q.bind(j, r)
	} else {
		q.giveBack(j, v)
	}
	return len(l.jobs) > 0
}

// tell has a job show why it waits.
func (q *queue) tell(j *job, v refusal) {
	if j.Reason != v.reason || j.Detail != v.detail {
		j.Reason, j.Detail = v.reason, v.detail
		q.put(j)
	}
}

// mayTake reports whether a line's first job may take machines, though claims that were made before it wait in other lines: what they wait for is kept for them.
// grow: new machines, too.
func (q *queue) mayTake(l *line) (grow, ok bool) {
	grow = true
	for _, p := range l.pools {
		for other := range p.lines {
			if other == l || other.waits != forMachines || !before(other.jobs[0], l.jobs[0]) {
				continue
			}
			if other.meets(l) {
				if !other.lets(q.now(), q.t.Overtake) {
					return false, false
				}
				grow = false
			}
			grow = grow && other.short <= max(p.Max-p.machines, 0)
		}
	}
	return grow, true
}

// meets reports whether two lines want machines of the same node group.
func (l *line) meets(other *line) bool {
	return slices.ContainsFunc(l.wants, func(a want) bool {
		return slices.ContainsFunc(other.wants, func(b want) bool {
			return a.Partition == b.Partition && (a.Offering == b.Offering || a.Offering == "" || b.Offering == "")
		})
	})
}

// startBehind gives machines that are there to jobs behind a line's first, which cannot use them. Of alike jobs of a user only the first that does not fit is tried.
func (q *queue) startBehind(l *line) {
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
		r, _ := q.place(j, false)
		if r == nil {
			failed[of] = true
			continue
		}
		heap.Remove(&l.jobs, slices.Index(l.jobs, j))
		j.line = nil
		q.bind(j, r)
	}
}

func (h firsts) Len() int { return len(h) }

func (h firsts) Less(i, j int) bool { return before(h[i].jobs[0], h[j].jobs[0]) }

func (h firsts) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

func (h *firsts) Push(x any) { *h = append(*h, x.(*line)) }

func (h *firsts) Pop() any {
	old := *h
	*h = old[:len(old)-1]
	return nil
}
