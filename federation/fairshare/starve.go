package fairshare

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"fsub/federation"
)

// starving puts jobs before all others that have waited for longer than [Policy.StarveAfter]: shares, QOS and expected work may put others before a job for ever, and its age counts
// for no more than Age. Of each association one job is put first within StarveAfter, the one that has waited longest: so a user whose thousands of jobs wait gains
// little by it, and the k-th oldest of an association is put first when it has waited for k times StarveAfter, and [orderAgain], at the latest. A job stays first until it
// has started; those put first before it go before it.
type starving struct {
	points map[federation.JobID]int64 // of those put first; replaced, not changed
	since  map[federation.JobID]time.Time
	last   map[int32]time.Time // by association: when one of its jobs was put first
	looked time.Time
	n      int64
}

// starvePoints are more than anything else comes to: those of the first job that is put first.
const starvePoints = 1 << 33

func newStarving() starving {
	return starving{since: map[federation.JobID]time.Time{}, last: map[int32]time.Time{}}
}

// look puts jobs first, some time after it did so last. late are the associations, by number, whose jobs go last whatever they have waited.
func (v *starving) look(now time.Time, after time.Duration, p *places, late func(who int32) bool) (changed bool) {
	if after <= 0 || now.Sub(v.looked) < min(after, orderAgain) {
		return false
	}
	v.looked = now
	points := maps.Clone(v.points)
	for id, since := range v.since {
		if _, waits := p.byJob.Get(id); !waits && now.Sub(since) > after { // it has started, or is at a site, where its place counts still
			delete(points, id)
			delete(v.since, id)
		}
	}
	type oldest struct {
		id federation.JobID
		seat
	}
	first := map[int32]oldest{}
	for id, s := range p.byJob.All() {
		if now.Sub(s.came()) < after || !v.since[id].IsZero() {
			continue
		}
		if s.who < 0 { // the tree has changed: the queue is looked through before the next pass
			v.looked = time.Time{}
			continue
		}
		if at, ok := v.last[s.who]; ok && now.Sub(at) < after || late(s.who) {
			continue
		}
		if f, ok := first[s.who]; !ok || cmp.Or(cmp.Compare(s.since, f.since), cmp.Compare(id, f.id)) < 0 {
			first[s.who] = oldest{id, s}
		}
	}
	for _, f := range slices.SortedFunc(maps.Values(first), func(a, b oldest) int { return cmp.Or(cmp.Compare(a.since, b.since), cmp.Compare(a.id, b.id)) }) {
		if points == nil {
			points = map[federation.JobID]int64{}
		}
		points[f.id], v.since[f.id], v.last[f.who] = starvePoints-v.n, now, now
		v.n++
	}
	changed = len(first) > 0 || len(points) != len(v.points)
	v.points = points
	return changed
}
