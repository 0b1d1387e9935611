package controller

import (
	"cmp"
	"slices"
	"time"

	"fsub/federation"
	"fsub/federation/decision"
	"fsub/federation/place"
	"fsub/federation/reasons"
)

// planner binds jobs of the queue to sites, by what placement decides.
type planner struct {
	now        func() time.Time
	t          Timing
	inline     bool // see Config.Inline
	metrics    *metrics
	faults     faults
	sites      *roster
	jobs       *jobTable
	batch      *pendingBatch
	agenda     *agenda
	queue      *queue
	arrays     *arrays
	life       *life
	watch      *watch
	attempts   *attempts
	packs      *packs
	briefing   *briefing
	candidates *candidates
	planned    func()             // called after each plan
	keeps      func(*place.World) // takes in what a plan keeps for gangs; nil: there is no plan, for no job waits

	next  time.Time // no plan before
	last  time.Time
	clock time.Time // that placement was told last
}

// reconcile plans if there is a cause to plan and the last plan is not too recent.
func (pl *planner) reconcile() {
	now := pl.now()
	due := pl.queue.times.first()
	if now.Before(pl.next) || !pl.agenda.plan && (due.IsZero() || now.Before(due)) && now.Sub(pl.last) < pl.t.PlanAgain || !pl.watch.lookedAround(now) {
		return
	}
	pl.agenda.plan, pl.last = false, now
	began := time.Now()
	pl.briefing.all(now)
	pl.consider(now)
	if n := pl.queue.world.Len(); n > 0 {
		decisions := pl.makePlan(now)
		pl.metrics.planned(time.Since(began), n)
		for i := range decisions {
			subject{job: pl.arrays.jobOf(decisions[i].Job)}.do(func() { pl.decide(&decisions[i]) })
		}
		pl.arrays.planned(pl.candidates.setReason)
	} else {
		pl.keeps(nil)
	}
	gap := pl.t.PlanGap
	if took := time.Since(began); took > gap && !pl.inline { // at most half of the time goes into planning
		gap = took
	}
	pl.next = now.Add(gap)
	pl.planned()
}

// consider looks at the jobs to which something has happened. Where a job can never start, those that wait for it are told in the same round, however many follow one another.
func (pl *planner) consider(now time.Time) {
	for again := true; again; again = pl.candidates.foreseen {
		pl.candidates.foreseen = false
		for _, j := range pl.queue.take(now) {
			subject{job: j.ID}.do(func() { pl.candidates.consider(j, now) })
		}
	}
	pl.briefing.workflows.arrange()
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// decide carries one decision of a plan out.
func (pl *planner) decide(d *decision.Decision) {
	if o := pl.arrays.offered[d.Job]; o != nil {
		pl.decideTask(o, d)
		return
	}
	j := pl.jobs.Of(d.Job)
	if j == nil || j.live() {
		return
	}
	if d.Bind {
		if reason := pl.candidates.overQuota(j, &j.Job, d.Offers[0], pl.now()); reason != "" {
			pl.queue.world.DropJob(j.ID)
			pl.candidates.setReason(j, reason)
		} else if pl.mayBind(j) {
			pl.attempts.bind(j, *d)
		}
		return
	}
	if len(j.refused) > 0 && d.Impossible() {
		// It was accepted because some site looked right, and every such site has refused it.
		for _, why := range place.WhyNowhere(d.Rejections) {
			pl.batch.eventf(j, "no site can run it: %s", why)
		}
		pl.life.end(j, federation.Failed, reasons.BadConstraints, pl.now())
		return
	}
	pl.candidates.setReason(j, d.Reason)
	pl.queue.told.Tell(d, pl.now())
}

// mayBind reports whether a part may be bound: others of its array may have been, since the plan was begun.
func (pl *planner) mayBind(p *job) bool {
	limit := p.limit()
	return limit == 0 || p.array.running() < limit
}

// decideTask carries out what a plan says of a task that waits in an array.
func (pl *planner) decideTask(o *offered, d *decision.Decision) {
	j := o.array
	if !d.Bind {
		if len(j.refused) > 0 && d.Impossible() {
			for _, why := range place.WhyNowhere(d.Rejections) {
				pl.batch.eventf(j, "no site can run its tasks: %s", why)
			}
			pl.life.endRest(j, federation.Failed, reasons.BadConstraints, pl.now())
		} else {
			pl.arrays.waits(o, d.Reason)
		}
		return
	}
	if !j.rest.Has(o.task.Part.Index) || j.Whole.Limit > 0 && j.running() >= j.Whole.Limit {
		return
	}
	if reason := pl.candidates.overQuota(j, o.task, d.Offers[0], pl.now()); reason != "" {
		pl.arrays.withdraw(j)
		pl.candidates.setReason(j, reason)
		return
	}
	if pl.packs.packsAt(j, d.Offers[0].Site) {
		pl.packs.bind(o, *d)
	} else {
		task := *o.task
		task.Spec, task.Demand = j.specOfTasks(), j.Demand
		pl.attempts.bind(pl.arrays.addPart(j, &task), *d)
	}
	if len(j.offers) == 0 && j.rest.Len() > 0 && (j.Whole.Limit == 0 || j.running() < j.Whole.Limit) {
		pl.agenda.plan = true // there may be room for more than were offered
	}
}

func sortByID(jobs []*job) {
	slices.SortFunc(jobs, func(a, b *job) int { return cmp.Compare(a.ID, b.ID) })
}
