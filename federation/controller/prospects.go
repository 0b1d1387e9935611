package controller

import (
	"context"
	"slices"
	"strings"
	"time"

	"fsub/federation"
	"fsub/federation/place"
	"fsub/federation/reasons"
	"fsub/federation/share"
)

// Prospects returns the federation as it is, with the first jobs of the queue, at most so many. It waits for the round under way.
func (v *View) Prospects(ctx context.Context, most int) (*federation.Prospects, error) {
	to := make(chan *federation.Prospects, 1)
	if err := v.afterRound(ctx, func(now *forecasts) { to <- now.prospects(most) }); err != nil {
		return nil, err
	}
	return <-to, nil
}

// afterRound has the controller do something when the round under way is over, and waits for it.
func (v *View) afterRound(ctx context.Context, do func(*forecasts)) error {
	done := make(chan struct{})
	v.mu.Lock()
	v.after = append(v.after, func(now *forecasts) { do(now); close(done) })
	v.mu.Unlock()
	v.Wake()
	defer share.Idle(ctx)()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// answer does what was to be done after the round.
func (v *View) answer(now *forecasts) {
	v.mu.Lock()
	after := v.after
	v.after = nil
	v.mu.Unlock()
	for _, do := range after {
		do(now)
	}
	v.starts.answer(v.now, now.starts)
	v.spendings.answer(v.now, now.spendings)
}

func (fc *forecasts) prospects(most int) *federation.Prospects {
	now := fc.now()
	o := &federation.Prospects{Now: now, Ends: map[federation.SiteName]map[federation.JobID]time.Time{}, Numbers: map[federation.SiteName]map[federation.JobID]federation.JobID{}}
	for _, s := range fc.sites.all {
		site := s.Site
		site.Bound = nil
		o.Sites = append(o.Sites, &site)
		o.Ends[s.Name] = map[federation.JobID]time.Time{}
		sent := fc.queue.world.Bound(s.Name)
		for _, b := range sent[:min(len(sent), most-len(o.Waiting))] {
			job := *b.Job
			o.Waiting = append(o.Waiting, federation.Prospect{Job: &job, Expected: fc.runs.expected(&job), At: s.Name})
		}
		for _, j := range s.jobs {
			if a := j.att; a != nil && a.State == federation.AttemptStarted && !a.Started.IsZero() {
				number := numberAt(j)
				o.Ends[s.Name][number] = fc.likelyEnd(j, now)
				if number != j.ID {
					if o.Numbers[s.Name] == nil {
						o.Numbers[s.Name] = map[federation.JobID]federation.JobID{}
					}
					o.Numbers[s.Name][number] = j.ID
				}
			}
		}
	}
	for _, w := range fc.queue.world.Waiting(most - len(o.Waiting)) {
		o.Waiting = append(o.Waiting, federation.Prospect{Job: w.Job, Expected: w.Expected, Refused: w.Refused})
	}
	o.More = max(0, fc.queue.world.Len()-len(o.Waiting))
	var limited []federation.Prospect
	for _, j := range fc.jobs.All() {
		if j.queued && !j.live() && (isLimit(j.Reason) || j.Reason == reasons.AccountBudget) && len(limited) < most {
			job := j.Job
			limited = append(limited, federation.Prospect{Job: &job, Expected: fc.runs.expected(&job), Limited: true, Reason: j.Reason})
		}
	}
	slices.SortFunc(limited, func(a, b federation.Prospect) int {
		if place.Priority(a.Job) != place.Priority(b.Job) {
			return int(place.Priority(b.Job) - place.Priority(a.Job))
		}
		return int(a.Job.ID) - int(b.Job.ID)
	})
	o.Waiting = append(o.Waiting, limited...)
	if fc.limits.book != nil {
		prices := map[federation.SiteName]map[string]float64{}
		for _, site := range o.Sites {
			prices[site.Name] = site.Prices
		}
		for i := range o.Waiting {
			w := &o.Waiting[i]
			w.Under = fc.limits.book.Under(w.Job)
		}
		o.Accounts, o.Limits = fc.limits.book.Accounts(), fc.limits.book.Trial(now, o.Waiting, fc.limits.fraction, prices)
	}
	return o
}

// isLimit reports whether a reason is that of a limit of the account tree.
func isLimit(r reasons.Reason) bool {
	return r != reasons.SubmitLimit && (strings.HasPrefix(string(r), "Assoc") || strings.HasPrefix(string(r), "QOS"))
}

// numberAt is what a job's site calls it.
func numberAt(j *job) federation.JobID {
	if j.att.SiteJobID != 0 {
		return federation.JobID(j.att.SiteJobID)
	}
	return j.ID
}

// likelyEnd is when a run is expected to have ended: as jobs like it, or, if it runs for longer than half of them, after half as long again.
func (fc *forecasts) likelyEnd(j *job, now time.Time) time.Time {
	return j.att.Started.Add(max(fc.runs.lasts(j, max(now.Sub(j.att.Started), 0)).P50, time.Minute))
}
