package controller

import (
	"cmp"
	"slices"
	"time"

	"fsub/federation"
	"fsub/sbatch"
)

// planJobs binds jobs of the queue to sites, if there is a cause to plan and the last plan is not too recent.
func (c *Controller) planJobs() {
	now := c.now()
	due := !c.due.IsZero() && !now.Before(c.due)
	if now.Before(c.nextPlan) || !c.planDirty && !due && now.Sub(c.lastPlan) < c.t.PlanAgain || !c.watch.lookedAround(now) {
		return
	}
	c.planDirty, c.lastPlan, c.due = false, now, time.Time{}
	began := time.Now()
	if candidates := c.candidates(); len(candidates) > 0 {
		p := c.makePlan(candidates)
		c.metrics.planned(time.Since(began), len(p.Decisions))
		for i := range p.Decisions {
			c.decide(&p.Decisions[i])
		}
	}
	c.arrays.planned()
	gap := c.t.PlanGap
	if took := time.Since(began); took > gap && !c.cfg.Inline { // at most half of the time goes into planning
		gap = took
	}
	c.nextPlan = now.Add(gap)
}

// planAt has a plan made at a time, if none is made before.
func (c *Controller) planAt(t time.Time) {
	if c.due.IsZero() || t.Before(c.due) {
		c.due = t
	}
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// candidates are the jobs that may be bound now, in order. Jobs that may not are given their reason.
func (c *Controller) candidates() []*federation.Job {
	now := c.now()
	var out []*federation.Job
	for _, j := range c.queue.ordered() {
		reason := c.blocked(j, now)
		if reason == "" && j.spreads() {
			var parts []*federation.Job
			if parts, reason = c.arrays.offer(j, now); len(parts) > 0 {
				out = append(out, parts...)
				continue
			}
		}
		if reason == "" {
			out = append(out, &j.Job)
		} else if !j.State.Ended() { // by its deadline or its dependency
			c.setReason(j, reason)
		}
	}
	return out
}

// blocked says why a job may not be bound yet, "" if it may.
func (c *Controller) blocked(j *job, now time.Time) federation.Reason {
	switch {
	case !j.Spec.Deadline.IsZero() && now.After(j.Spec.Deadline):
		c.arrays.endRest(j, federation.Deadline, federation.ReasonDeadline, now)
		return federation.ReasonDeadline
	case j.Held == federation.HeldAdmin:
		return federation.ReasonHeldAdmin
	case j.Held != federation.NotHeld:
		return federation.ReasonHeldUser
	case now.Before(j.Spec.Begin):
		c.planAt(j.Spec.Begin)
		return federation.ReasonBeginTime
	case now.Before(j.asideUntil):
		c.planAt(j.asideUntil)
		return federation.ReasonFault
	}
	reason := j.depends.reason(now)
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
	j := c.jobs[d.Job]
	if part, ok := c.arrays.offered[d.Job]; ok {
		c.decidePart(part, d)
		return
	}
	if j == nil || j.live() {
		return
	}
	if d.Bind {
		if c.mayBind(j) {
			c.bind(j, *d)
		}
		return
	}
	if d.Spread && j.Whole != nil {
		c.arrays.spread(j, "no site can start all of them now")
		return
	}
	if len(j.refused) > 0 && d.Impossible() {
		// It was accepted because some site looked right, and every such site has refused it.
		for _, r := range d.Rejections {
			c.event(j, "no site can run it: %s: %s %s", r.Site, r.Reason, r.Text())
		}
		c.end(j, federation.Failed, federation.ReasonBadConstraints, c.now())
		return
	}
	c.setReason(j, d.Reason)
}

// mayBind reports whether a part may be bound: others of its array may have been, since the plan was begun.
func (c *Controller) mayBind(p *job) bool {
	limit := p.limit()
	return limit == 0 || p.array.running() < limit
}

// decidePart carries out what a plan says of a task that waits in a spread array.
func (c *Controller) decidePart(o offeredPart, d *federation.Decision) {
	j := o.array
	if !d.Bind {
		if len(j.refused) > 0 && d.Impossible() {
			for _, r := range d.Rejections {
				c.event(j, "no site can run its tasks: %s: %s %s", r.Site, r.Reason, r.Text())
			}
			c.arrays.endRest(j, federation.Failed, federation.ReasonBadConstraints, c.now())
		} else {
			c.setReason(j, d.Reason)
		}
		return
	}
	if _, waits := slices.BinarySearch(j.rest, o.part.Part.Index); !waits || j.Whole.Limit > 0 && j.running() >= j.Whole.Limit {
		return
	}
	c.bind(c.arrays.addPart(j, o.part), *d)
}

// snapshot is what placement may know, as of now. Pointers in it are the controller's own: it is used within the round.
func (c *Controller) snapshot(candidates []*federation.Job) federation.Snapshot {
	bound := c.boundBySite()
	s := federation.Snapshot{Now: c.now().UTC(), Jobs: candidates, Refused: c.refusals(candidates)}
	for _, st := range c.sites {
		view := st.Site
		view.Bound = bound[st.Name]
		if st.unread != nil && st.unread == st.Seen {
			view.Seen = nil
		}
		s.Sites = append(s.Sites, &view)
	}
	return s
}

// boundBySite lists, for every site, the attempts that its last observation does not show as running, but for those that placement cannot look at.
func (c *Controller) boundBySite() map[federation.SiteName][]federation.Bound {
	bound := map[federation.SiteName][]federation.Bound{}
	for _, s := range c.sites {
		running := map[federation.JobID]int{}
		if s.Seen != nil && len(s.jobs) > 0 {
			for _, r := range s.Seen.Running {
				running[r.Job]++
			}
		}
		for _, j := range s.jobs {
			if c.now().Before(j.asideUntil) {
				continue
			}
			if n := j.units() - running[j.ID]; n > 0 {
				bound[s.Name] = append(bound[s.Name], federation.Bound{Job: &j.Job, Units: n, Partition: j.att.Partition, Since: j.att.Created})
			}
		}
		slices.SortFunc(bound[s.Name], func(x, y federation.Bound) int { return cmp.Compare(x.Job.ID, y.Job.ID) })
	}
	return bound
}

// units is how many things of the job may still run: its tasks that have not ended, or 1.
func (j *job) units() int {
	if j.size == 0 {
		return 1
	}
	n := j.size
	for _, t := range j.tasks {
		if t.State.Ended() {
			n--
		}
	}
	return n
}

// refusals are the sites that need not be asked again for a while, by job.
func (c *Controller) refusals(candidates []*federation.Job) map[federation.JobID]map[federation.SiteName]federation.Rejection {
	out := map[federation.JobID]map[federation.SiteName]federation.Rejection{}
	for _, job := range candidates {
		j := c.jobs[job.ID]
		if part, ok := c.arrays.offered[job.ID]; ok {
			j = part.array
		}
		if len(j.refused) == 0 {
			continue
		}
		if !c.now().Before(j.refusedUntil) {
			j.refused = nil
			continue
		}
		c.planAt(j.refusedUntil)
		out[job.ID] = j.refused
	}
	return out
}

func sortByID(jobs []*job) {
	slices.SortFunc(jobs, func(a, b *job) int { return cmp.Compare(a.ID, b.ID) })
}
