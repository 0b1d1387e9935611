package controller

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"time"

	"fsub/federation"
)

// A site orders what waits there by its own fair-share, which knows nothing of the other sites'. So that it does not undo our order, our jobs there
// exchange their priorities among each other by --nice: the first of ours gets the highest that one of ours has, the second the next one. Jobs of
// others see the same priorities as before, of other jobs. What a user has asked for with --nice goes into our order and into the site's
// priority; what is added here goes when the job is the only one left.

const (
	rankEach  = 2 * time.Second  // between two rankings of a site, at least
	rankMost  = 16               // jobs told in one ranking
	rankAgain = time.Minute      // the site is not told the same of a job before this
	rankLater = 10 * time.Minute // after it has refused
	maxNice   = 1 << 30          // more no site takes
)

// siteOrder has the sites start our jobs in our order.
type siteOrder struct {
	now    func() time.Time
	t      Timing
	log    *slog.Logger
	sites  *roster
	calls  *calls
	points func(*job) int64
	of     map[federation.SiteName]*siteRanks
}

// siteRanks is what was said of jobs at one site.
type siteRanks struct {
	busy bool
	next time.Time
	told map[federation.JobID]toldNice
}

type toldNice struct {
	nice int64
	at   time.Time
}

// ranked is the end of telling a site.
type ranked struct {
	nice map[federation.JobID]int64
	err  error
}

// waitsThere is a job of ours that waits for nodes at a site.
type waitsThere struct {
	*job
	points, priority, nice int64
}

// own is the priority that the site gives it by itself, with the nice that its user has asked for.
func (w *waitsThere) own() int64 { return w.priority + w.nice - int64(w.Spec.Nice) }

// reconcile tells the sites whose time has come.
func (sr *siteOrder) reconcile() {
	now := sr.now()
	for _, s := range sr.sites.all {
		r := sr.of[s.Name]
		if r == nil {
			r = &siteRanks{told: map[federation.JobID]toldNice{}}
			sr.of[s.Name] = r
		}
		if s.can.Ranker == nil || !s.Answering || s.breaker.open || r.busy || now.Before(r.next) || s.Seen == nil || len(s.jobs) == 0 {
			continue
		}
		r.next = now.Add(rankEach)
		want := map[federation.JobID]int64{}
		for _, all := range sr.waiting(s) {
			rank(all, want)
		}
		sr.tell(s, r, want, now)
	}
}

// waiting are our jobs that wait for nodes at a site, by partition, each partition's in our order.
func (sr *siteOrder) waiting(s *site) map[string][]waitsThere {
	out := map[string][]waitsThere{}
	for i := range s.Seen.Waiting {
		w := &s.Seen.Waiting[i]
		j := s.jobs[w.Job]
		if j == nil || !w.Ours || w.Idle || w.Priority <= 1 || j.State != federation.Pending || j.att.State != federation.AttemptSubmitted || j.Cancel || j.Held != federation.NotHeld {
			continue
		}
		out[w.Partition] = append(out[w.Partition], waitsThere{j, sr.points(j), w.Priority, w.Nice})
	}
	for _, all := range out {
		slices.SortFunc(all, func(a, b waitsThere) int {
			return cmp.Or(cmp.Compare(b.points, a.points), a.att.Created.Compare(b.att.Created), cmp.Compare(a.ID, b.ID))
		})
	}
	return out
}

// rank adds to want the nice of those jobs that are to have another one. all is in our order. Where the site's order is ours and near enough to what it is to
// be, nothing is: priorities move all the time.
func rank(all []waitsThere, want map[federation.JobID]int64) {
	own := make([]int64, len(all))
	for i := range all {
		own[i] = all[i].own()
	}
	slices.SortFunc(own, func(a, b int64) int { return cmp.Compare(b, a) })
	slack := int64(0)
	if len(own) > 1 {
		slack = (own[0] - own[len(own)-1]) / 20
	}
	inOrder := true
	for i := range all {
		if i > 0 {
			before, j := &all[i-1], &all[i]
			inOrder = inOrder && (before.priority > j.priority || before.priority == j.priority && before.att.SiteJobID < j.att.SiteJobID)
			most := own[i-1]
			if before.att.SiteJobID > j.att.SiteJobID {
				most-- // of equal ones the site takes the lower number first
			}
			own[i] = min(own[i], most)
		}
		off := all[i].priority - own[i]
		inOrder = inOrder && max(off, -off) <= slack
	}
	if inOrder {
		return
	}
	for i := range all {
		j := &all[i]
		nice := min(max(j.priority+j.nice-max(own[i], 2), -maxNice), maxNice)
		if nice != j.nice {
			want[j.ID] = nice
		}
	}
}

// tell has the site give jobs another nice.
func (sr *siteOrder) tell(s *site, r *siteRanks, want map[federation.JobID]int64, now time.Time) {
	refs := map[federation.JobID]federation.JobRef{}
	for _, id := range slices.Sorted(maps.Keys(want)) {
		if t := r.told[id]; len(refs) == rankMost || t.nice == want[id] && now.Sub(t.at) < rankAgain {
			delete(want, id)
			continue
		}
		refs[id] = s.jobs[id].Ref(s.jobs[id].att)
	}
	for id, t := range r.told {
		if s.jobs[id] == nil || now.Sub(t.at) >= rankAgain {
			delete(r.told, id)
		}
	}
	if len(want) == 0 {
		return
	}
	r.busy = true
	ranker := s.can.Ranker
	sr.calls.add(s, ranked{}, func(ctx context.Context) any {
		out := ranked{nice: want}
		for _, id := range slices.Sorted(maps.Keys(want)) {
			if err := ranker.SetNice(ctx, refs[id], want[id]); err != nil && !errors.Is(err, federation.ErrConflict) && !errors.Is(err, federation.ErrNotFound) {
				out.err = err
				break
			}
		}
		return out
	})
}

// take takes in what the site said.
func (sr *siteOrder) take(s *site, v ranked) {
	r := sr.of[s.Name]
	r.busy = false
	if v.err != nil {
		r.next = sr.now().Add(sr.t.RetryMax)
		if !errors.Is(v.err, federation.ErrUnavailable) {
			r.next = sr.now().Add(rankLater)
		}
		sr.log.Warn("the site does not order our jobs as we do", "site", s.Name, "err", v.err)
		return
	}
	for id, nice := range v.nice {
		r.told[id] = toldNice{nice, sr.now()}
		if j := s.jobs[id]; j != nil {
			sr.log.Debug("job ranked", "job", id, "site", s.Name, "nice", nice)
		}
	}
}
