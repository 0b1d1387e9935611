package controller

import (
	"context"
	"log/slog"
	"time"

	"fsub/federation"
	"fsub/federation/decision"
)

// mostForetold bounds the jobs at one site of which a start is foretold that the site does not tell: each costs a look at its past waits.
const mostForetold = 500

// Starts returns when jobs that wait are expected to start: by the plan, by what the site says where they wait, or by what is foretold of its queue. It may be
// some seconds old; else it waits for the round under way.
func (v *View) Starts(ctx context.Context) (decision.Starts, error) {
	return v.starts.ask(ctx, v)
}

// forecasts answer, in a round, what is asked about the future of jobs.
type forecasts struct {
	now       func() time.Time
	log       *slog.Logger
	faults    faults
	sites     *roster
	jobs      *jobTable
	limits    *limits
	runs      *runTimes
	queue     *queue
	arrays    *arrays
	depends   *dependencies
	comparing *comparing
	promises  *promises
}

func (fc *forecasts) starts() decision.Starts {
	all, now := decision.Starts{}, fc.now().UTC()
	if fc.queue.world.Len() == 0 { // no plan was made lately
		fc.queue.world.SetTime(now)
	}
	if f := fc.queue.world.Guard(func() { fc.startsPlanned(all) }); f != nil {
		fc.faults.tell(f)
	}
	for _, site := range fc.sites.all {
		fc.startsAt(site, all, now)
	}
	fc.foretellRest(all, now)
	return all
}

// startsPlanned adds the jobs of which the plan knows when they start.
func (fc *forecasts) startsPlanned(all decision.Starts) {
	for job, o := range fc.queue.world.Next() {
		if j := fc.jobs.Of(fc.arrays.jobOf(job.ID)); j == nil || fc.overBudget(j, o) { // nothing says when its budget suffices
			continue
		}
		s := o.Begins()
		id := fc.arrays.jobOf(job.ID)
		if old, known := all[id]; !known || s.At.Before(old.At) {
			all[id] = s
		}
	}
}

// startsAt adds the jobs that wait at a site.
func (fc *forecasts) startsAt(s *site, all decision.Starts, now time.Time) {
	said := map[federation.JobID]time.Time{}
	if s.Seen != nil {
		for i := range s.Seen.Waiting {
			if w := &s.Seen.Waiting[i]; w.Ours && w.Start.After(now) {
				said[w.Job] = w.Start.UTC()
			}
		}
	}
	free := fc.freeAt(s.Name)
	looks := mostForetold
	for id, j := range s.jobs {
		if j.State != federation.Pending || j.Held != federation.NotHeld || j.att == nil || len(j.att.Decision.Offers) == 0 ||
			j.att.State != federation.AttemptIntended && j.att.State != federation.AttemptSubmitted {
			continue
		}
		o := j.att.Decision.Offers[0]
		if at, ok := said[id]; ok {
			all[id] = decision.Start{Site: s.Name, At: at, Of: "from when the site expects to start it", Total: o.Total, Price: o.Price()}
			continue
		}
		if s.Outlook != nil && looks > 0 {
			looks--
			if f := fc.left(s, j, free[id]); f != nil {
				all[id] = f.Start(o, 1, now)
				continue
			}
		}
		sent := o.Begins()
		sent.Of = "from the forecast when it was sent"
		if sent = fc.notBefore(s, sent, free[id]); sent.At.After(now) {
			all[id] = sent
		}
	}
}

// notBefore is a start at a site, or what it comes to where nodes are not free before a time by the limits of what holds them.
func (fc *forecasts) notBefore(s *site, start decision.Start, free time.Time) decision.Start {
	now := fc.now().UTC()
	wait := free.Sub(now)
	if wait <= 0 {
		return start
	}
	p50, p90 := wait, wait
	if s.Outlook != nil {
		p50, p90 = s.Outlook.Bounds(wait)
	}
	return start.NotBefore(now.Add(p50), now.Add(p90), "from when the jobs that run there are expected to end")
}

// freeAt is when the nodes of jobs that wait at a site can be free at the soonest, by the time limits of what holds them.
func (fc *forecasts) freeAt(site federation.SiteName) map[federation.JobID]time.Time {
	free := map[federation.JobID]time.Time{}
	if f := fc.queue.world.Guard(func() {
		for id, at := range fc.queue.world.Held(site) {
			if was, twice := free[id]; !twice || at.Before(was) {
				free[id] = at
			}
		}
	}); f != nil {
		fc.log.Error("placement failed", "site", site, "err", f)
	}
	return free
}

// left is how much longer a job waits at a site, which says no more than that it does; nil: nothing is known. Its nodes are free at some time, or at once.
func (fc *forecasts) left(s *site, j *job, free time.Time) *decision.Foreseen {
	f := s.Outlook.Left(j.ID, fc.asksAt(s, j))
	if wait := free.Sub(fc.now()); f != nil && wait > 0 {
		f = f.NotBefore(s.Outlook.Bounds(wait))
	}
	return f
}
