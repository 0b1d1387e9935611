package controller

import (
	"container/heap"
	"slices"
	"time"

	"fsub/federation"
	"fsub/federation/fairshare"
	"fsub/federation/place"
	"fsub/federation/predict"
)

// queue holds the jobs without a live attempt. Those that may be bound now stand in placement's World, too; the others wait for a time, for
// another job or for a user. Whatever may change that calls look, and the next plan considers the job: to one that nothing has
// happened to, a plan does nothing, however many there are.
type queue struct {
	now       func() time.Time
	sites     *roster
	runs      *runTimes
	fairShare *fairshare.Shares // nil: --nice and the order of submission order it
	world     *place.World
	n         int
	tasks     int          // that wait, where a job that is no array counts as one
	arrays    map[*job]int // those in the queue, with what they count for in tasks
	marked    []*job
	times     times
	told      *predict.Told
	faults    []*place.Fault // of placement, since the last plan was begun
}

func newQueue(now func() time.Time, policy place.Policy, f *fairshare.Shares, told *predict.Told, sites *roster, runs *runTimes) *queue {
	policy.MaxOffers = keptOffers // who asks for all has one job planned: see planFor
	q := &queue{now: now, sites: sites, runs: runs, fairShare: f, world: place.NewWorld(policy, 0), arrays: map[*job]int{}, times: times{next: map[*job]time.Time{}}, told: told}
	if told == nil {
		q.told = &predict.Told{}
	}
	if f != nil {
		q.world.SetOrder(f)
	}
	return q
}

// add puts a job into the queue.
func (q *queue) add(j *job) {
	if !j.queued {
		j.queued = true
		q.n++
		if !j.spreads() {
			q.tasks++
		}
	}
	q.count(j)
	q.look(j)
}

// count brings the number of waiting tasks in line with what is left of an array in the queue.
func (q *queue) count(j *job) {
	if j.queued && j.spreads() {
		q.tasks += j.rest.Len() - q.arrays[j]
		q.arrays[j] = j.rest.Len()
	}
}

// drop takes a job out of the queue.
func (q *queue) drop(j *job) {
	if j.queued {
		j.queued = false
		q.n--
		if j.spreads() {
			q.tasks -= q.arrays[j]
			delete(q.arrays, j)
		} else {
			q.tasks--
		}
	}
	delete(q.times.next, j)
	q.world.DropJob(j.ID)
	q.left(j.ID)
}

func (q *queue) len() int { return q.n }

// look has a job considered before the next plan, because it has changed, or something that it waits for has.
func (q *queue) look(j *job) {
	if !j.marked {
		j.marked = true
		q.marked = append(q.marked, j)
	}
}

// take returns the jobs that are to be considered now, in order.
func (q *queue) take(now time.Time) []*job {
	for _, j := range q.times.until(now) {
		q.look(j)
	}
	marked := q.marked
	q.marked = nil
	for _, j := range marked {
		j.marked = false
	}
	slices.SortFunc(marked, func(a, b *job) int {
		if before(a, b) {
			return -1
		}
		return 1
	})
	return marked
}

func before(a, b *job) bool {
	if x, y := place.Priority(&a.Job), place.Priority(&b.Job); x != y {
		return x > y
	}
	return a.ID < b.ID
}

// tell has placement know of a job that may be bound now.
func (q *queue) tell(j place.Waiting) {
	if f := q.world.Guard(func() { q.world.SetJob(j) }); f != nil {
		q.faults = append(q.faults, f)
	}
}

// claim has placement know that a site has the job's attempt, and how much of it may still wait there. A job that placement has failed over
// is kept from it for a while.
func (q *queue) claim(j *job) {
	if q.sites.byName[j.att.Site] == nil {
		return
	}
	if q.now().Before(j.asideUntil) {
		q.world.Release(j.att.Site, j.ID)
		q.times.add(j, j.asideUntil)
		return
	}
	q.world.Claim(j.att.Site, federation.Bound{Job: &j.Job, Units: j.units(), Partition: j.att.Partition, Since: j.att.Created, Preempt: j.att.Decision.Preempt})
}

// times are when jobs are to be looked at. Of each job the next time counts.
type times struct {
	next map[*job]time.Time
	heap timeHeap
}

// add has a job looked at at a time, or before.
func (t *times) add(j *job, at time.Time) {
	if old, ok := t.next[j]; ok && !at.Before(old) {
		return
	}
	t.next[j] = at
	heap.Push(&t.heap, jobTime{at, j})
	if len(t.heap) > 2*len(t.next)+64 { // most are of jobs that do not wait for them any more
		t.heap = slices.DeleteFunc(t.heap, func(e jobTime) bool { return !t.next[e.job].Equal(e.at) })
		heap.Init(&t.heap)
	}
}

// first is the next time of all; zero if there is none.
func (t *times) first() time.Time {
	for len(t.heap) > 0 {
		e := t.heap[0]
		if next, ok := t.next[e.job]; ok && next.Equal(e.at) {
			return e.at
		}
		heap.Pop(&t.heap)
	}
	return time.Time{}
}

// until takes out the jobs whose time has come.
func (t *times) until(now time.Time) (jobs []*job) {
	for {
		at := t.first()
		if at.IsZero() || now.Before(at) {
			return jobs
		}
		j := heap.Pop(&t.heap).(jobTime).job
		delete(t.next, j)
		jobs = append(jobs, j)
	}
}

type jobTime struct {
	at  time.Time
	job *job
}

type timeHeap []jobTime

func (h timeHeap) Len() int           { return len(h) }
func (h timeHeap) Less(i, k int) bool { return h[i].at.Before(h[k].at) }
func (h timeHeap) Swap(i, k int)      { h[i], h[k] = h[k], h[i] }
func (h *timeHeap) Push(e any)        { *h = append(*h, e.(jobTime)) }
func (h *timeHeap) Pop() any {
	old := *h
	e := old[len(old)-1]
	*h = old[:len(old)-1]
	return e
}
