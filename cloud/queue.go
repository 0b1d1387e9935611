package cloud

import (
	"cmp"
	"container/heap"
	"slices"
	"time"

	"fsub/federation"
	"fsub/federation/reasons"
)

// queue is the jobs whose claims wait to be fulfilled. It ranks nothing: of claims on the same machines the one that placement made first is first, and
// those behind it wait until it has been fulfilled or given back, which the scheduler does.
type queue struct {
	*base
	pools     *pools
	begins    map[*job]bool // that wait for their time
	subqueues map[string]*subqueue
	looking   []*subqueue // whose first claim may be fulfilled now
}

func newQueue(b *base, p *pools) *queue {
	return &queue{base: b, pools: p, begins: map[*job]bool{}, subqueues: map[string]*subqueue{}}
}

// subqueue is the jobs with claims on the same node groups. If its first finds no machines, no other takes them: so an event costs about as much as there are subqueues,
// however many jobs wait.
type subqueue struct {
	key     string
	wants   []want // of each of its jobs
	jobs    byClaim
	pools   []*pool
	looking bool
	waits   waiting   // what its first job was found to wait for
	since   time.Time // since when; zero: it does not
	short   int       // how many machines the pool has no room for that this one needs; 0: that is not what it lacks
}

// waiting is what a job waits for.
type waiting int

const (
	forNothing  waiting = iota // that is known
	forMachines                // that others have: who comes later on the same ones does not get them before
	forNodes                   // that it has named
	forCloud                   // until this may be asked again: who is behind may have what is there
)

// byClaim is a heap of jobs by the number of their claims; those of a version that did not count them go by their IDs.
type byClaim []*job

// Those that keep machines come first: nobody else can have these.
func before(a, b *job) bool {
	if x, y := a.Kept != nil, b.Kept != nil; x != y {
		return x
	}
	return cmp.Or(cmp.Compare(a.Claim, b.Claim), cmp.Compare(a.id(), b.id())) < 0
}

func (r byClaim) Len() int           { return len(r) }
func (r byClaim) Less(i, j int) bool { return before(r[i], r[j]) }
func (r byClaim) Swap(i, j int)      { r[i], r[j] = r[j], r[i] }
func (r *byClaim) Push(x any)        { *r = append(*r, x.(*job)) }
func (r *byClaim) Pop() any {
	old := *r
	j := old[len(old)-1]
	old[len(old)-1] = nil
	*r = old[:len(old)-1]
	return j
}

// enqueue lets a pending job's claim be fulfilled, if nothing but machines is missing.
func (q *queue) enqueue(j *job) {
	if j.State != federation.Pending || j.run != nil || j.subqueue != nil {
		return
	}
	switch {
	case j.Job.Held != federation.NotHeld:
		j.Reason = reasons.HeldUser
		if j.Job.Held == federation.HeldAdmin {
			j.Reason = reasons.HeldAdmin
		}
		return
	case j.begin().After(q.now()):
		j.Reason = reasons.BeginTime
		q.begins[j] = true
		return
	}
	delete(q.begins, j)
	l := q.subqueueOf(j)
	j.subqueue = l
	j.Reason, j.Detail = reasons.Priority, ""
	heap.Push(&l.jobs, j)
	if l.jobs[0] == j {
		l.waits, l.since = forNothing, time.Time{}
	}
	if l.jobs[0] == j || l.waits == forCloud || l.lets(q.now(), q.t.Overtake) {
		q.try(l)
	}
}

// dequeue takes a job out of its subqueue.
func (q *queue) dequeue(j *job) {
	delete(q.begins, j)
	l := j.subqueue
	if l == nil {
		return
	}
	j.subqueue = nil
	i := slices.Index(l.jobs, j)
	heap.Remove(&l.jobs, i)
	if i == 0 {
		q.pass(l)
	}
	q.drop(l)
}

// begin lets jobs in whose time has come.
func (q *queue) begin(now time.Time) {
	for j := range q.begins {
		if !j.begin().After(now) {
			q.enqueue(j)
		}
	}
}

// lets reports whether jobs may have what room there is on shared machines though an earlier claim waits for more: it does not for long.
func (l *subqueue) lets(now time.Time, within time.Duration) bool {
	return now.Sub(l.since) < within && !slices.ContainsFunc(l.pools, func(p *pool) bool { return !p.Shared })
}

// pass has the next of a subqueue looked at, and subqueues that waited behind its first.
func (q *queue) pass(l *subqueue) {
	if l.waits == forMachines {
		for _, p := range l.pools {
			p.wake()
		}
	}
	l.waits, l.since = forNothing, time.Time{}
	q.try(l)
}

// drop forgets a subqueue that has no jobs.
func (q *queue) drop(l *subqueue) {
	if len(l.jobs) > 0 {
		return
	}
	delete(q.subqueues, l.key)
	for _, p := range l.pools {
		delete(p.subqueues, l)
	}
}

// subqueueOf is the subqueue of a job, made if it is new. One that names its nodes has a subqueue with those who name the same: what it waits for are these.
func (q *queue) subqueueOf(j *job) *subqueue {
	key := ""
	for i, w := range j.Wants {
		key += w.Partition + "\x00" + w.Offering + "\x00"
		if s := j.needs(i); s.NodeList != "" {
			key += s.NodeList + "\x00"
		}
	}
	l := q.subqueues[key]
	if l == nil {
		l = &subqueue{key: key, wants: j.Wants}
		for _, w := range j.Wants {
			if p := q.pools.named(w.Partition); p != nil && !slices.Contains(l.pools, p) {
				l.pools = append(l.pools, p)
				p.subqueues[l] = true
			}
		}
		q.subqueues[key] = l
	}
	return l
}

// try has a subqueue looked at in the next pass.
func (q *queue) try(l *subqueue) {
	if !l.looking && len(l.jobs) > 0 {
		l.looking = true
		q.looking = append(q.looking, l)
	}
}

// take returns the subqueues that are to be looked at now, in a heap by their first claims.
func (q *queue) take() firsts {
	for _, p := range q.pools.all {
		if !p.woken {
			continue
		}
		p.woken = false
		for l := range p.subqueues {
			q.try(l)
		}
	}
	lines := firsts(q.looking)
	q.looking = nil
	lines = slices.DeleteFunc(lines, func(l *subqueue) bool { l.looking = false; return len(l.jobs) == 0 })
	heap.Init(&lines)
	return lines
}

// firsts is a heap of subqueues by the claims of their first jobs.
type firsts []*subqueue

func (h firsts) Len() int { return len(h) }

func (h firsts) Less(i, j int) bool { return before(h[i].jobs[0], h[j].jobs[0]) }

func (h firsts) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

func (h *firsts) Push(x any) { *h = append(*h, x.(*subqueue)) }

func (h *firsts) Pop() any {
	old := *h
	*h = old[:len(old)-1]
	return nil
}
