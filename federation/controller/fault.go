package controller

import (
	"time"

	"fsub/federation"
	"fsub/federation/place"
)

// planner is what the controller asks package place; see [place.Planner].
type planner interface {
	Plan(federation.Snapshot, place.Policy) federation.Plan
	Judge(federation.Snapshot, place.Policy, *federation.Job) federation.Decision
	Try(federation.Snapshot, place.Policy, *federation.Job) federation.Trial
	Guard(do func()) *place.Fault
}

// A panic of placement is a defect, and one job or one site has brought it to light: the jobs of all others need not wait until it is mended.
// What it happened over is put aside, and the next plan is made without it.

// asideFor is how long a job is put aside: with a change at its sites it may be placed without trouble, and its panics are to be few.
const asideFor = 10 * time.Minute

// makePlan decides about candidates; if placement fails, about none of them.
func (c *Controller) makePlan(candidates []*federation.Job) (p federation.Plan) {
	s := c.snapshot(candidates)
	if f := c.plan.Guard(func() { p = c.plan.Plan(s, c.policy) }); f != nil {
		c.tellFault(f)
		c.putAside(f)
	}
	return p
}

func (c *Controller) tellFault(f *place.Fault) {
	c.metrics.faults.Inc()
	c.log.Error("placement failed", "job", f.Job, "site", f.Site, "err", f.Value, "stack", f.Stack)
}

// putAside keeps what a plan failed over out of the next ones: a job for a while, unless it is changed; what a site says of itself until it says
// something new. If nothing is known to be the cause the next plan comes when it would have come anyway.
func (c *Controller) putAside(f *place.Fault) {
	j := c.jobs[f.Job]
	if part, ok := c.arrays.offered[f.Job]; ok {
		j = part.array
	}
	if j != nil {
		j.asideUntil = c.now().Add(asideFor)
		c.event(j, "%v; it is put aside for %v, or until it is changed", f, asideFor)
		c.planDirty = true
	}
	if s := c.byName[f.Site]; s != nil && f.Job == 0 {
		s.unread = s.Seen
		c.planDirty = true
	}
}

// askPlanner has do ask placement about the sites as published, for somebody who waits for the answer. Its error is a [place.Fault].
func (c *Controller) askPlanner(do func(planner)) error {
	c.view.planMu.Lock()
	defer c.view.planMu.Unlock()
	if f := c.view.planner.Guard(func() { do(c.view.planner) }); f != nil {
		c.tellFault(f)
		return f
	}
	return nil
}
