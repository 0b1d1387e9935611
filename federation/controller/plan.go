package controller

import (
	"cmp"
	"slices"
	"time"

	"fsub/federation"
	"fsub/federation/place"
	"fsub/sbatch"
)

// planJobs binds jobs of the queue to sites, if there is a cause to plan and the last plan is not too recent.
func (c *Controller) planJobs() {
	now := c.now()
	due := c.queue.times.first()
	if now.Before(c.nextPlan) || !c.planDirty && (due.IsZero() || now.Before(due)) && now.Sub(c.lastPlan) < c.t.PlanAgain || !c.watch.lookedAround(now) {
		return
	}
	c.planDirty, c.lastPlan = false, now
	began := time.Now()
	c.tellSites()
	c.queue.share(now)
	if c.cfg.Quota != nil {
		c.queue.world.SetPreempting(c.cfg.Quota.Preempting())
		c.queue.world.SetGuarantees(c.cfg.Quota.Guarantees())
	}
	c.passRuns(now)
	for _, j := range c.queue.take(now) {
		subject{job: j.ID}.do(func() { c.consider(j, now) })
	}
	if n := c.queue.world.Len(); n > 0 {
		decisions := c.makePlan(now)
		c.metrics.planned(time.Since(began), n)
		for i := range decisions {
			subject{job: c.jobOfOffer(decisions[i].Job)}.do(func() { c.decide(&decisions[i]) })
		}
		c.arrays.planned(c.setReason)
	}
	gap := c.t.PlanGap
	if took := time.Since(began); took > gap && !c.cfg.Inline { // at most half of the time goes into planning
		gap = took
	}
	c.nextPlan = now.Add(gap)
	c.view.starts.outdate()
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// tellSites has placement know of the sites that have changed.
func (c *Controller) tellSites() {
	c.queue.world.KeepSites(func(name federation.SiteName) bool { return c.byName[name] != nil })
	for _, s := range c.sites {
		s.expire(c.now())
		s.Ahead = s.pace.ahead(c.now())
		c.foresee(s)
		s.Payers = c.payers()
		seen := s.Seen
		if s.unread != nil && s.unread == seen {
			seen = nil
		}
		if t := s.told; t == nil || t.Seen != seen || !placedAlike(t, &s.Site) {
			site := s.Site
			site.Seen, s.told = seen, &site
			c.queue.world.SetSite(&site)
		}
	}
}

// consider brings what placement knows of a job in line with what the job is now. One that may not be bound is given its reason.
func (c *Controller) consider(j *job, now time.Time) {
	if j.live() {
		c.queue.claim(j)
		return
	}
	if !j.queued {
		return
	}
	reason := c.blocked(j, now)
	if !j.queued { // by its deadline or its dependency
		return
	}
	c.flee(j, now)
	if j.comesBack(now) {
		c.arrays.withdraw(j)
	}
	if len(j.refused) > 0 {
		c.queue.times.add(j, j.refusedUntil)
	}
	if reason != "" || j.spreads() {
		c.queue.world.DropJob(j.ID)
	} else {
		until, spent := j.spent(now)
		if spent {
			c.queue.times.add(j, until)
		}
		c.queue.tell(place.Waiting{Job: &j.Job, Refused: j.refused, Expected: c.expected(&j.Job), Spent: spent})
	}
	switch {
	case reason != "":
		c.arrays.withdraw(j)
	case j.spreads():
		reason = c.arrays.offer(j, now)
	}
	if reason != "" && !j.State.Ended() {
		c.setReason(j, reason)
	}
}

// blocked says why a job may not be bound yet, "" if it may, and has it considered again when a time that it waits for has come.
func (c *Controller) blocked(j *job, now time.Time) federation.Reason {
	if end := j.Spec.Deadline; !end.IsZero() {
		if now.After(end) {
			c.arrays.endRest(j, federation.Deadline, federation.ReasonDeadline, now)
			return federation.ReasonDeadline
		}
		c.queue.times.add(j, end.Add(1))
	}
	switch {
	case j.Held != federation.NotHeld:
		return j.heldReason()
	case now.Before(j.Spec.Begin):
		c.queue.times.add(j, j.Spec.Begin)
		return federation.ReasonBeginTime
	case c.comparing.holds(j):
		return federation.ReasonRestored
	case now.Before(j.asideUntil):
		c.queue.times.add(j, j.asideUntil)
		return federation.ReasonFault
	}
	if reason := c.overQuota(j, &j.Job, nil, now); reason != "" {
		return reason
	}
	reason := j.depends.reason(now)
	if next := j.depends.next(now); !next.IsZero() {
		c.queue.times.add(j, next)
	}
	if reason == federation.ReasonDependencyNever && j.Spec.More != nil && j.Spec.More.KillOnInvalidDep == sbatch.Yes {
		c.arrays.endRest(j, federation.Cancelled, reason, now)
	}
	if limit := j.limit(); reason == "" && limit > 0 && j.array.running() >= limit {
		return reasonTaskLimit
	}
	return reason
}

func (c *Controller) setReason(j *job, r federation.Reason) {
	if j.Reason != r {
		j.Reason = r
		c.batch.job(j)
		c.components.follow(j)
	}
}

// decide carries one decision of a plan out.
func (c *Controller) decide(d *federation.Decision) {
	if o := c.arrays.offered[d.Job]; o != nil {
		c.decideTask(o, d)
		return
	}
	j := c.jobs.Of(d.Job)
	if j == nil || j.live() {
		return
	}
	if d.Bind {
		if reason := c.overQuota(j, &j.Job, d.Offers[0], c.now()); reason != "" {
			c.queue.world.DropJob(j.ID)
			c.setReason(j, reason)
		} else if c.mayBind(j) {
			c.bind(j, *d)
		}
		return
	}
	if len(j.refused) > 0 && d.Impossible() {
		// It was accepted because some site looked right, and every such site has refused it.
		for _, why := range place.WhyNowhere(d.Rejections) {
			c.event(j, "no site can run it: %s", why)
		}
		c.end(j, federation.Failed, federation.ReasonBadConstraints, c.now())
		return
	}
	c.setReason(j, d.Reason)
}

// jobOfOffer is the job that a decision is about: of a task that waits in an array, the array.
func (c *Controller) jobOfOffer(id federation.JobID) federation.JobID {
	if o := c.arrays.offered[id]; o != nil {
		return o.array.ID
	}
	return id
}

// mayBind reports whether a part may be bound: others of its array may have been, since the plan was begun.
func (c *Controller) mayBind(p *job) bool {
	limit := p.limit()
	return limit == 0 || p.array.running() < limit
}

// decideTask carries out what a plan says of a task that waits in an array.
func (c *Controller) decideTask(o *offered, d *federation.Decision) {
	j := o.array
	if !d.Bind {
		if len(j.refused) > 0 && d.Impossible() {
			for _, why := range place.WhyNowhere(d.Rejections) {
				c.event(j, "no site can run its tasks: %s", why)
			}
			c.arrays.endRest(j, federation.Failed, federation.ReasonBadConstraints, c.now())
		} else {
			c.arrays.waits(o, d.Reason)
		}
		return
	}
	if !j.rest.Has(o.task.Part.Index) || j.Whole.Limit > 0 && j.running() >= j.Whole.Limit {
		return
	}
	if reason := c.overQuota(j, o.task, d.Offers[0], c.now()); reason != "" {
		c.arrays.withdraw(j)
		c.setReason(j, reason)
		return
	}
	c.bind(c.arrays.addPart(j, o.task), *d)
	if len(j.offers) == 0 && j.rest.Len() > 0 && (j.Whole.Limit == 0 || j.running() < j.Whole.Limit) {
		c.planDirty = true // there may be room for more than were offered
	}
}

func sortByID(jobs []*job) {
	slices.SortFunc(jobs, func(a, b *job) int { return cmp.Compare(a.ID, b.ID) })
}
