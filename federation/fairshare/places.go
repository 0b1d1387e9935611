package fairshare

import (
	"time"

	"fsub/federation"
	"fsub/federation/accounts"
	"fsub/federation/jobmap"
)

// places number the jobs of each association by start-time fair queueing: a job comes one place behind the last of its association, but not before the
// place that the queue has come to. A job keeps its place while it waits. One that was bound before and comes back has had its turn, and stands before those that came later.
type places struct {
	byJob jobmap.Map[seat]
	last  map[accounts.Key]uint32
	now   uint32 // of the job bound last

	who  map[accounts.Key]int32 // numbers of associations ...
	keys []accounts.Key         // ... and whose they are
	tree *accounts.Tree         // in which the seats were looked up
}

// seat is a job's place, and the number of its association.
type seat struct {
	place uint32
	who   int32  // -1: to be looked up
	since uint32 // Unix time from which it waits: its submission, or --begin
}

func (s seat) came() time.Time { return time.Unix(int64(s.since), 0) }

// lastPlace is the highest place; there are fewer than that many jobs in the life of a daemon, or order ends to be fair there.
const lastPlace = 1<<28 - 1

func newPlaces() places {
	return places{last: map[accounts.Key]uint32{}, who: map[accounts.Key]int32{}}
}

// of is a job's seat in a tree.
func (p *places) of(t *accounts.Tree, j *federation.Job) seat {
	if p.tree != t { // other accounts may be charged
		p.tree = t
		for id, s := range p.byJob.All() {
			p.byJob.Set(id, seat{s.place, -1, s.since})
		}
	}
	s, ok := p.byJob.Get(j.ID)
	if ok && s.who >= 0 {
		return s
	}
	k := KeyOf(t, j)
	switch {
	case ok:
	case j.Attempt > 0: // place 0: all that were bound since, too, may have come later
	default:
		s.place = min(max(p.now, p.last[k])+1, lastPlace)
		p.last[k] = s.place
	}
	if !ok {
		s.since = uint32(max(j.Submit.Unix(), j.Spec.Begin.Unix(), 0))
	}
	if s.who, ok = p.who[k]; !ok {
		s.who = int32(len(p.who))
		p.who[k], p.keys = s.who, append(p.keys, k)
	}
	p.byJob.Set(j.ID, s)
	return s
}

func (p *places) bound(id federation.JobID) {
	p.now = max(p.now, p.byJob.Of(id).place)
	p.byJob.Delete(id)
}

func (p *places) left(id federation.JobID) { p.byJob.Delete(id) }
