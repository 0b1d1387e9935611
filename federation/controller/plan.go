package controller

import (
	"cmp"
	"slices"
	"time"

	"fsub/federation"
	"fsub/federation/place"
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
	briefing   *briefing
	candidates *candidates
	planned    func() // called after each plan

	next  time.Time // no plan before
	last  time.Time
	clock time.Time // that placement was told last
}

// reconcile plans if there is a cause to plan and the last plan is not too recent.
func (c *planner) reconcile() {
	now := c.now()
	due := c.queue.times.first()
	if now.Before(c.next) || !c.agenda.plan && (due.IsZero() || now.Before(due)) && now.Sub(c.last) < c.t.PlanAgain || !c.watch.lookedAround(now) {
		return
	}
	c.agenda.plan, c.last = false, now
	began := time.Now()
	c.briefing.all(now)
	for _, j := range c.queue.take(now) {
		subject{job: j.ID}.do(func() { c.candidates.consider(j, now) })
	}
	if n := c.queue.world.Len(); n > 0 {
		decisions := c.makePlan(now)
		c.metrics.planned(time.Since(began), n)
		for i := range decisions {
			subject{job: c.arrays.jobOf(decisions[i].Job)}.do(func() { c.decide(&decisions[i]) })
		}
		c.arrays.planned(c.candidates.setReason)
	}
	gap := c.t.PlanGap
	if took := time.Since(began); took > gap && !c.inline { // at most half of the time goes into planning
		gap = took
	}
	c.next = now.Add(gap)
	c.planned()
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// decide carries one decision of a plan out.
func (c *planner) decide(d *federation.Decision) {
	if o := c.arrays.offered[d.Job]; o != nil {
		c.decideTask(o, d)
		return
	}
	j := c.jobs.Of(d.Job)
	if j == nil || j.live() {
		return
	}
	if d.Bind {
		if reason := c.candidates.overQuota(j, &j.Job, d.Offers[0], c.now()); reason != "" {
			c.queue.world.DropJob(j.ID)
			c.candidates.setReason(j, reason)
		} else if c.mayBind(j) {
			c.attempts.bind(j, *d)
		}
		return
	}
	if len(j.refused) > 0 && d.Impossible() {
		// It was accepted because some site looked right, and every such site has refused it.
		for _, why := range place.WhyNowhere(d.Rejections) {
			c.batch.eventf(j, "no site can run it: %s", why)
		}
		c.life.end(j, federation.Failed, federation.ReasonBadConstraints, c.now())
		return
	}
	c.candidates.setReason(j, d.Reason)
}

// mayBind reports whether a part may be bound: others of its array may have been, since the plan was begun.
func (c *planner) mayBind(p *job) bool {
	limit := p.limit()
	return limit == 0 || p.array.running() < limit
}

// decideTask carries out what a plan says of a task that waits in an array.
func (c *planner) decideTask(o *offered, d *federation.Decision) {
	j := o.array
	if !d.Bind {
		if len(j.refused) > 0 && d.Impossible() {
			for _, why := range place.WhyNowhere(d.Rejections) {
				c.batch.eventf(j, "no site can run its tasks: %s", why)
			}
			c.life.endRest(j, federation.Failed, federation.ReasonBadConstraints, c.now())
		} else {
			c.arrays.waits(o, d.Reason)
		}
		return
	}
	if !j.rest.Has(o.task.Part.Index) || j.Whole.Limit > 0 && j.running() >= j.Whole.Limit {
		return
	}
	if reason := c.candidates.overQuota(j, o.task, d.Offers[0], c.now()); reason != "" {
		c.arrays.withdraw(j)
		c.candidates.setReason(j, reason)
		return
	}
	c.attempts.bind(c.arrays.addPart(j, o.task), *d)
	if len(j.offers) == 0 && j.rest.Len() > 0 && (j.Whole.Limit == 0 || j.running() < j.Whole.Limit) {
		c.agenda.plan = true // there may be room for more than were offered
	}
}

func sortByID(jobs []*job) {
	slices.SortFunc(jobs, func(a, b *job) int { return cmp.Compare(a.ID, b.ID) })
}
