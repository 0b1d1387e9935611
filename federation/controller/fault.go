package controller

import (
	"log/slog"
	"time"

	"fsub/federation/decision"
	"fsub/federation/place"
)

// A panic of placement is a defect, and one job or one site has brought it to light: the jobs of all others need not wait until it is mended.
// What it happened over is put aside, and the next plan is made without it.

// asideFor is how long a job is put aside: with a change at its sites it may be placed without trouble, and its panics are to be few.
const asideFor = 10 * time.Minute

// faults are reported and counted.
type faults struct {
	log     *slog.Logger
	metrics *metrics
}

func (fs faults) tell(f *place.Fault) {
	fs.metrics.faults.Inc()
	fs.log.Error("placement failed", "job", f.Job, "site", f.Site, "err", f.Value, "stack", f.Stack)
}

// makePlan returns what is to be done now. If placement fails, that is nothing.
//
// Each time at which it plans is another for a job that waits: so the whole queue would be looked at again each time. The time that placement goes by may
// therefore be old by as much as passes between two plans without a cause, as long as nothing else wants the whole queue looked at.
func (pl *planner) makePlan(now time.Time) (decisions []decision.Decision) {
	w := pl.queue.world
	f := w.Guard(func() {
		if w.Whole() || now.Sub(pl.clock) >= pl.t.PlanAgain {
			pl.clock = now
			w.SetTime(now.UTC())
		}
		decisions = w.Decide()
		pl.keeps(w)
	})
	if f != nil {
		decisions = nil
		pl.queue.faults = append(pl.queue.faults, f)
	}
	for _, f := range pl.queue.faults {
		pl.faults.tell(f)
		pl.putAside(f)
	}
	pl.queue.faults = nil
	return decisions
}

// putAside keeps what a plan failed over out of the next ones: a job for a while, unless it is changed; what a site says of itself until it says
// something new. If nothing is known to be the cause the next plan comes when it would have come anyway.
func (pl *planner) putAside(f *place.Fault) {
	j := pl.jobs.Of(f.Job)
	if o := pl.arrays.offered[f.Job]; o != nil {
		j = o.array
	}
	if j != nil {
		j.hinder().asideUntil = pl.now().Add(asideFor)
		pl.queue.look(j)
		pl.batch.eventf(j, "%v; it is put aside for %v, or until it is changed", f, asideFor)
		pl.agenda.plan = true
	}
	if s := pl.sites.byName[f.Site]; s != nil && f.Job == 0 {
		s.unread = s.Seen
		pl.agenda.plan = true
	}
}
