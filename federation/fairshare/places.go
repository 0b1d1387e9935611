package fairshare

import (
	"fsub/federation"
	"fsub/federation/accounts"
)

// places number the jobs of each association by start-time fair queueing: a job comes one place behind the last of its association, but not before the
// place that the queue has come to. A job keeps its place while it waits.
type places struct {
	byJob map[federation.JobID]uint32
	last  map[accounts.Key]uint32
	now   uint32 // of the job bound last
}

// lastPlace is the highest place; there are fewer than that many jobs in the life of a daemon, or order ends to be fair there.
const lastPlace = 1<<28 - 1

func newPlaces() places {
	return places{byJob: map[federation.JobID]uint32{}, last: map[accounts.Key]uint32{}}
}

func (p *places) of(k accounts.Key, id federation.JobID) uint32 {
	if n, ok := p.byJob[id]; ok {
		return n
	}
	n := min(max(p.now, p.last[k])+1, lastPlace)
	p.byJob[id], p.last[k] = n, n
	return n
}

func (p *places) bound(id federation.JobID) {
	p.now = max(p.now, p.byJob[id])
	delete(p.byJob, id)
}

func (p *places) left(id federation.JobID) { delete(p.byJob, id) }
