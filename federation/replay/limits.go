package replay

import (
	"fmt"
	"slices"
	"time"

	"fsub/federation"
	"fsub/federation/decision"
	"fsub/federation/place"
	"fsub/federation/reasons"
)

// Limits keep jobs back: see [federation.Limits].
type Limits interface {
	Check(now time.Time, j *federation.Job, o *decision.Offer) reasons.Reason
	Start(now time.Time, j *federation.Job, o *decision.Offer)
	End(now time.Time, id federation.JobID)
}

// limited is what a replay keeps of the jobs that limits keep back.
type limited struct {
	kept  []int          // the jobs
	kins  []int          // by job, from 1: those of a number are alike and of one association; 0: not asked for yet
	named map[string]int // kins by what their jobs are
	here  map[int]int    // how many of a kin the planner knows
	shut  map[int]bool   // kins of which one was kept back at this time: it keeps the others back too
	tries map[int]int    // in how many plans of this time one of a kin was kept back for what it was to get
}

// mostTries is in how many plans of one time jobs that are alike may be kept back for what each was to get. Then what the last one was to get counts for all: there may be
// thousands.
const mostTries = 8

// mostAlike is how many jobs that were kept back the planner is told of that are alike: when they have begun, it is told of more.
const mostAlike = 64

// kin is the number of those that limits and the planner treat as they do job i.
func (r *run) kin(i int) int {
	l := &r.limited
	if l.kins == nil {
		l.kins, l.named, l.here, l.shut, l.tries = make([]int, len(r.cfg.Jobs)), map[string]int{}, map[int]int{}, map[int]bool{}, map[int]int{}
	}
	if l.kins[i] == 0 {
		j := r.cfg.Jobs[i].Job
		name := fmt.Sprintf("%s %s %s %s %v %s", j.User, j.Spec.Account, j.Spec.QOS, j.Spec.Reservation, r.cfg.Expected[j.ID], j.Spec.Likeness(nil))
		if len(r.cfg.Refused[j.ID]) > 0 {
			name = j.ID.String()
		}
		if l.named[name] == 0 {
			l.named[name] = len(l.named) + 1
		}
		l.kins[i] = l.named[name]
	}
	return l.kins[i]
}

// offer tells the planner of job i, unless a limit keeps it back. It reports whether the planner was told.
func (r *run) offer(i int) bool {
	j := &r.cfg.Jobs[i]
	if r.keep(i, nil) {
		return false
	}
	r.world.SetJob(place.Waiting{Job: j.Job, Expected: r.know.expect(j), Refused: r.cfg.Refused[j.ID]})
	if r.cfg.Limits != nil {
		r.limited.here[r.kin(i)]++
	}
	return true
}

// keep reports whether a limit keeps job i back, which is noted then.
func (r *run) keep(i int, o *decision.Offer) bool {
	if r.cfg.Limits == nil {
		return false
	}
	why := r.cfg.Limits.Check(r.now, r.cfg.Jobs[i].Job, o)
	if why == "" {
		return false
	}
	r.limited.kept = append(r.limited.kept, i)
	r.limited.shut[r.kin(i)] = true
	r.res.Jobs[i].Reason, r.res.Jobs[i].Limited = why, true
	return true
}

// forget has the planner forget job i, until something has ended.
func (r *run) forget(i int) {
	r.world.DropJob(r.cfg.Jobs[i].ID)
	r.limited.here[r.kin(i)]--
}

// allows reports whether no limit keeps a job from what the plan has for it. Else the planner forgets it.
func (r *run) allows(d *decision.Decision) bool {
	i := r.index[d.Job]
	if !r.keep(i, d.Offers[0]) {
		return true
	}
	r.forget(i)
	return false
}

// keepOthers has the planner forget those that wait and are kept back for what is known of them anywhere, or in the end for what those like them were to get, so that it need not find
// out one by one. refused is what was to be got. It reports whether there is time for another plan.
func (r *run) keepOthers(refused map[int]*decision.Offer) bool {
	select {
	case <-r.cfg.Done:
		return false
	default:
	}
	kept := make(map[int]bool, len(r.limited.kept))
	for _, i := range r.limited.kept {
		kept[i] = true
	}
	for k := range refused {
		if r.limited.tries[k]++; r.limited.tries[k] < mostTries {
			delete(refused, k)
		}
	}
	for i := range r.next {
		if r.wait[r.cfg.Jobs[i].ID] && !kept[i] && r.keep(i, refused[r.kin(i)]) {
			r.forget(i)
		}
	}
	return true
}

// reconsider offers what limits have kept back, when something has ended or a day has begun. It reports whether there is any.
func (r *run) reconsider(ended bool) (changed bool) {
	day := dayOf(r.now)
	if len(r.limited.kept) == 0 || !ended && day.Equal(r.day) {
		r.day = day
		return false
	}
	r.day = day
	clear(r.limited.shut)
	clear(r.limited.tries)
	return r.refill()
}

// refill offers what limits have kept back, some of each kin. It reports whether there is any.
func (r *run) refill() (changed bool) {
	l := &r.limited
	kept := l.kept
	slices.Sort(kept)
	l.kept = nil
	for _, i := range kept {
		if k := r.kin(i); l.shut[k] || l.here[k] >= mostAlike {
			l.kept = append(l.kept, i)
		} else {
			changed = r.offer(i) || changed
		}
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
