// Package whatif compares what becomes of the jobs that wait as things are with what would become of them if something were different: the same planner over an
// [Edit] of the same [federation.Prospects], both played forward in virtual time (package replay) with the run times that are expected. [Compare] is all there is.
package whatif

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"fsub/federation"
	"fsub/federation/decision"
	"fsub/federation/place"
	"fsub/federation/reasons"
	"fsub/federation/replay"
)

// Change is what an edit means for one job.
type Change struct {
	Job           *federation.Job
	Before, After Fate
}

// Fate is where and when a job starts, and what its run is expected to cost. Start is zero if it does not start within the horizon.
type Fate struct {
	Site   federation.SiteName
	Pool   string
	Start  time.Time
	End    time.Time
	Cost   decision.Dollars
	Reason reasons.Reason // why it does not
	// Limited: the reason is a limit or a budget of the account tree. Unless another value of one is asked about, it is taken to keep the job back throughout.
	Limited bool
}

// Answer is what an edit means.
type Answer struct {
	Now     time.Time
	Until   time.Time // how far it was played
	Jobs    int       // that were looked at
	More    int       // that wait behind these and were not
	Changes []Change  // of jobs that start at another time or elsewhere; those that it matters to most first
	// Of the jobs that start both ways.
	MeanWaitBefore, MeanWaitAfter time.Duration
	CostBefore, CostAfter         decision.Dollars
	StartBefore, StartAfter       int // how many start within the horizon
}

// ErrTooMuch: there was no time to play it to its end.
var ErrTooMuch = errors.New("too much to work out in the time there is: ask about fewer jobs (--jobs), or a nearer horizon")

// Compare plays them forward with and without an edit, for a horizon at most, and answers for the jobs that told says; nil: for all. done ends it before with ErrTooMuch.
func Compare(o *federation.Prospects, e Edit, policy place.Policy, horizon time.Duration, told func(*federation.Job) bool, done <-chan struct{}) (*Answer, error) {
	edited, changed, err := e.apply(o, policy)
	if err != nil {
		return nil, err
	}
	a := &Answer{Now: o.Now, Until: o.Now.Add(horizon), More: o.More}
	asItIs := *o
	if asItIs.Limits = nil; len(e.Limit)+len(e.QOS) == 0 {
		edited.Limits = nil // what a limit keeps back stays so
	} else if asItIs.Limits, err = o.Limits.With(nil, nil); err != nil {
		return nil, err
	}
	before, err := play(&asItIs, policy, func(*federation.Prospect) bool { return false }, horizon, done)
	if err != nil {
		return nil, err
	}
	after, err := play(edited, changed, e.lifts, horizon, done)
	if err != nil {
		return nil, err
	}
	jobs := map[federation.JobID]*federation.Job{}
	for i := range o.Waiting {
		if j := o.Waiting[i].Job; told == nil || told(j) {
			jobs[j.ID] = j
		}
	}
	if told != nil {
		a.More = 0 // of whom they are is not known
	}
	a.compare(jobs, before, after)
	return a, nil
}

// play plays them forward.
func play(o *federation.Prospects, p place.Policy, lifted func(*federation.Prospect) bool, horizon time.Duration, done <-chan struct{}) (map[federation.JobID]Fate, error) {
	cfg := replay.Config{
		Sites: o.Sites, Policy: p, Order: replay.Given, At: o.Now, Until: o.Now.Add(horizon), Ends: o.Ends, Done: done,
		Expected: map[federation.JobID]*decision.Expected{}, Refused: map[federation.JobID]map[federation.SiteName]decision.Rejection{},
	}
	cfg.Sites = slices.DeleteFunc(slices.Clone(cfg.Sites), func(s *federation.Site) bool { return s.Seen == nil }) // nothing is known of what is there
	if o.Limits != nil {
		free := exempt{o.Limits, map[federation.JobID]bool{}}
		for i := range o.Waiting {
			if w := &o.Waiting[i]; lifted(w) {
				free.jobs[w.Job.ID] = true
			}
		}
		cfg.Limits, cfg.Numbers = free, o.Numbers
	}
	fates := map[federation.JobID]Fate{}
	for i := range o.Waiting {
		w := &o.Waiting[i]
		if w.Limited && o.Limits == nil && !lifted(w) {
			fates[w.Job.ID] = Fate{Reason: w.Reason, Limited: true}
			continue
		}
		job := *w.Job
		job.Submit = o.Now
		cfg.Jobs = append(cfg.Jobs, replay.Job{Job: &job, Run: lasts(w, &p)})
		cfg.Expected[job.ID], cfg.Refused[job.ID] = w.Expected, w.Refused
	}
	if len(cfg.Jobs) == 0 {
		return fates, nil
	}
	r, err := replay.Run(cfg)
	if err != nil {
		return nil, err
	}
	select {
	case <-done:
		return nil, ErrTooMuch
	default:
	}
	for i := range r.Jobs {
		j := &r.Jobs[i]
		fates[j.Job.ID] = Fate{Site: j.Site, Pool: j.Pool, Start: j.Start, End: j.End, Cost: j.Cost, Reason: j.Reason, Limited: j.Limited}
	}
	return fates, nil
}

// lasts is how long a job is played to run.
func lasts(w *federation.Prospect, p *place.Policy) time.Duration {
	if w.Expected != nil {
		return max(w.Expected.P50, time.Second)
	}
	if l := w.Job.Needs().TimeLimit; l > 0 && l < 365*24*time.Hour {
		return max(time.Duration(float64(l)*p.Share()), time.Second)
	}
	return place.DefaultPolicy().DefaultRun
}

// small is a difference of starts that does not matter.
const small = time.Minute

func (a *Answer) compare(jobs map[federation.JobID]*federation.Job, before, after map[federation.JobID]Fate) {
	var waitBefore, waitAfter time.Duration
	both := 0
	for id, b := range before {
		if jobs[id] == nil {
			continue
		}
		f := after[id]
		a.Jobs++
		if !b.Start.IsZero() {
			a.StartBefore++
		}
		if !f.Start.IsZero() {
			a.StartAfter++
		}
		if !b.Start.IsZero() && !f.Start.IsZero() {
			both++
			waitBefore += b.Start.Sub(a.Now)
			waitAfter += f.Start.Sub(a.Now)
			a.CostBefore += b.Cost
			a.CostAfter += f.Cost
		}
		if b.Start.IsZero() != f.Start.IsZero() || b.Site != f.Site || b.Start.Sub(f.Start).Abs() >= small {
			a.Changes = append(a.Changes, Change{Job: jobs[id], Before: b, After: f})
		}
	}
	if both > 0 {
		a.MeanWaitBefore, a.MeanWaitAfter = waitBefore/time.Duration(both), waitAfter/time.Duration(both)
	}
	slices.SortFunc(a.Changes, func(x, y Change) int {
		return cmp.Or(cmp.Compare(a.matter(&y), a.matter(&x)), cmp.Compare(x.Job.ID, y.Job.ID))
	})
}

// matter is by how much a change moves a job's start. One that does not start any more, or starts now, has it moved beyond the horizon.
func (a *Answer) matter(c *Change) time.Duration {
	start := func(f *Fate) time.Time {
		if f.Start.IsZero() {
			return a.Until
		}
		return f.Start
	}
	return start(&c.Before).Sub(start(&c.After)).Abs()
}
