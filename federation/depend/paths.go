package depend

import (
	"container/heap"
	"maps"
	"slices"
	"time"

	"fsub/federation"
)

// Paths tell how long the rest of a workflow takes from each of its jobs on: the job's own time and the longest path of the jobs that wait for it. Of a path
// only that is worked out again which a change can have altered, when [Paths.Settle] is called. A dependency on a job with a higher number, as only an update
// can make it, does not count: so there are no rings, and a job is looked at once after all that wait for it.
type Paths struct {
	jobs  map[federation.JobID]*onPath
	stale staleJobs
}

// onPath is a job of a workflow.
type onPath struct {
	id            federation.JobID
	takes, left   time.Duration
	before, after []*onPath // what it waits for, and what waits for it; those that are gone may be among them
	gone, stale   bool
}

// NewPaths returns Paths without jobs.
func NewPaths() *Paths { return &Paths{jobs: map[federation.JobID]*onPath{}} }

// Set tells of a job that takes so long and waits for others, or that this has changed. Jobs that are not known are passed over.
func (p *Paths) Set(id federation.JobID, takes time.Duration, on []federation.JobID) {
	j := p.jobs[id]
	if j == nil {
		j = &onPath{id: id}
		p.jobs[id] = j
	}
	for _, b := range j.before {
		b.after = slices.DeleteFunc(b.after, func(a *onPath) bool { return a == j })
		p.mark(b)
	}
	j.takes, j.before = takes, nil
	for _, x := range on {
		if b := p.jobs[x]; b != nil && x < id && !slices.Contains(j.before, b) {
			j.before, b.after = append(j.before, b), append(b.after, j)
			p.mark(b)
		}
	}
	p.mark(j)
}

// Takes tells that a job is expected to take something else by now.
func (p *Paths) Takes(id federation.JobID, d time.Duration) {
	if j := p.jobs[id]; j != nil && j.takes != d {
		j.takes = d
		p.mark(j)
	}
}

// Drop tells that a job has ended.
func (p *Paths) Drop(id federation.JobID) {
	j := p.jobs[id]
	if j == nil {
		return
	}
	delete(p.jobs, id)
	j.gone = true
	for _, b := range j.before {
		p.mark(b)
	}
}

// Left is how long the longest path from a job on takes, the job included, as of the last Settle; 0: the job is not known.
func (p *Paths) Left(id federation.JobID) time.Duration {
	if j := p.jobs[id]; j != nil {
		return j.left
	}
	return 0
}

// Jobs are all that are known, in no order.
func (p *Paths) Jobs() []federation.JobID { return slices.Collect(maps.Keys(p.jobs)) }

func (p *Paths) mark(j *onPath) {
	if !j.stale && !j.gone {
		j.stale = true
		heap.Push(&p.stale, j)
	}
}

// Settle works out what has changed since, and returns the jobs from which the longest path takes another time than before.
func (p *Paths) Settle() (changed []federation.JobID) {
	for len(p.stale) > 0 {
		j := heap.Pop(&p.stale).(*onPath)
		j.stale = false
		if j.gone {
			continue
		}
		j.after = slices.DeleteFunc(j.after, func(a *onPath) bool { return a.gone })
		longest := time.Duration(0)
		for _, a := range j.after {
			longest = max(longest, a.left)
		}
		if left := j.takes + longest; left != j.left {
			j.left = left
			changed = append(changed, j.id)
			for _, b := range j.before {
				p.mark(b)
			}
		}
	}
	return changed
}

// staleJobs is a heap: the job with the highest number comes first, after which all others came.
type staleJobs []*onPath

func (h staleJobs) Len() int           { return len(h) }
func (h staleJobs) Less(i, k int) bool { return h[i].id > h[k].id }
func (h staleJobs) Swap(i, k int)      { h[i], h[k] = h[k], h[i] }
func (h *staleJobs) Push(x any)        { *h = append(*h, x.(*onPath)) }
func (h *staleJobs) Pop() any {
	old := *h
	j := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return j
}
