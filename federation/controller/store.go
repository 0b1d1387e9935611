package controller

import (
	"context"

	"fsub/federation"
)

// readStore takes up what was written by others: new jobs, requests, operators' words. The store is the only door:
// whatever wakes the controller, it looks here, so nothing is lost if a wake-up is.
func (c *Controller) readStore(ctx context.Context) {
	// Requests come first: the jobs that they are about were written before them, so they are among the jobs read after.
	requests, err := c.store.Requests(ctx)
	if err != nil {
		c.log.Error("read requests", "err", err)
		return
	}
	if err := c.readJobs(ctx); err != nil {
		c.log.Error("read new jobs", "err", err)
		return
	}
	c.reserveIDs(ctx, c.wantIDs(requests))
	for _, r := range requests {
		if !c.requests[r.Seq] {
			c.requests[r.Seq] = true
			c.carryOut(r)
		}
	}
	states, err := c.store.SiteState(ctx)
	if err != nil {
		c.log.Error("read the states of the sites", "err", err)
		return
	}
	c.takeSiteStates(states)
}

// readJobs takes up the jobs that are new. One that has ended in a round which is not committed yet still looks pending in the
// store: it is not new.
func (c *Controller) readJobs(ctx context.Context) error {
	jobs, err := c.store.Jobs(ctx, federation.JobQuery{SinceRev: c.lastRev, States: []federation.State{federation.Pending}})
	if err != nil {
		return err
	}
	rev := c.lastRev
	for i := range jobs {
		rev = max(rev, jobs[i].Rev)
		if id := jobs[i].ID; c.jobs[id] != nil || c.ended[id] != nil {
			continue
		}
		j, err := c.addJob(ctx, jobs[i])
		if err != nil {
			return err // lastRev stays: all are read again, and those that were taken up are known
		}
		if j.Component != nil {
			continue
		}
		c.queue.add(j)
		c.planDirty = c.planDirty || j.Held == federation.NotHeld
		c.metrics.taken()
	}
	c.lastRev = rev
	return nil
}

// commit writes what the round has changed. If that fails, everything is kept for the next try, and no call is made.
func (c *Controller) commit(ctx context.Context) bool {
	if c.batch.empty() {
		return true
	}
	b := &c.batch.order
	if err := c.store.Commit(ctx, b); err != nil {
		c.log.Error("write to the store", "err", err, "jobs", len(b.Jobs), "attempts", len(b.Attempts))
		return false
	}
	for _, seq := range b.Done {
		delete(c.requests, seq)
	}
	c.view.settled(b.Done)
	if len(b.Requests) > 0 {
		c.Wake()
	}
	for _, j := range b.Jobs {
		if j.State.Ended() {
			c.view.jobEnded()
			break
		}
	}
	c.batch = newPendingBatch()
	clear(c.ended)
	return true
}
