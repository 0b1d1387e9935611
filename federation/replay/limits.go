package replay

import (
	"slices"
	"time"

	"fsub/federation"
	"fsub/federation/place"
)

// Limits keep jobs back: see [federation.Limits].
type Limits interface {
	Check(now time.Time, j *federation.Job, o *federation.Offer) federation.Reason
	Start(now time.Time, j *federation.Job, o *federation.Offer)
	End(now time.Time, id federation.JobID)
}

// offer tells the planner of job i, unless a limit keeps it back. It reports whether the planner was told.
func (r *run) offer(i int) bool {
	j := &r.cfg.Jobs[i]
	if r.keep(i, nil) {
		return false
	}
	r.world.SetJob(place.Waiting{Job: j.Job, Expected: r.know.expect(j), Refused: r.cfg.Refused[j.ID]})
	return true
}

// keep reports whether a limit keeps job i back, which is noted then.
func (r *run) keep(i int, o *federation.Offer) bool {
	if r.cfg.Limits == nil {
		return false
	}
	why := r.cfg.Limits.Check(r.now, r.cfg.Jobs[i].Job, o)
	if why == "" {
		return false
	}
	r.kept = append(r.kept, i)
	r.res.Jobs[i].Reason, r.res.Jobs[i].Limited = why, true
	return true
}

// allows reports whether no limit keeps a job from what the plan has for it. Else the planner forgets it until something has ended.
func (r *run) allows(d *federation.Decision) bool {
	if !r.keep(r.index[d.Job], d.Offers[0]) {
		return true
	}
	r.world.DropJob(d.Job)
	return false
}

// keepOthers has the planner forget those that wait and are kept back for what is known of them anywhere, so that it need not find out one by one. It reports whether
// there is time for another plan.
func (r *run) keepOthers() bool {
	select {
	case <-r.cfg.Done:
		return false
	default:
	}
	kept := make(map[int]bool, len(r.kept))
	for _, i := range r.kept {
		kept[i] = true
	}
	for i := range r.next {
		if id := r.cfg.Jobs[i].ID; r.wait[id] && !kept[i] && r.keep(i, nil) {
			r.world.DropJob(id)
		}
	}
	return true
}

// reconsider offers what limits have kept back, when something has ended or a day has begun. It reports whether there is any.
func (r *run) reconsider(ended bool) (changed bool) {
	day := dayOf(r.now)
	if len(r.kept) == 0 || !ended && day.Equal(r.day) {
		r.day = day
		return false
	}
	kept := r.kept
	slices.Sort(kept)
	r.kept, r.day = nil, day
	for _, i := range kept {
		changed = r.offer(i) || changed
	}
	return changed
}

func dayOf(t time.Time) time.Time { return t.UTC().Truncate(24 * time.Hour) }

// endedBefore gives back what is reserved for a job that ran at the beginning.
func (r *run) endedBefore(e *end) {
	if r.cfg.Limits == nil {
		return
	}
	for _, s := range e.held {
		id, other := r.cfg.Numbers[s.site][s.held.Job]
		if !other {
			id = s.held.Job
		}
		r.cfg.Limits.End(e.at, id)
	}
}
