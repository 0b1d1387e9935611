package controller

import (
	"context"
	"maps"
	"slices"
	"time"

	"fsub/federation"
	"fsub/sbatch"
)

// An array is spread when no single site can start all of it at once and more than one can run it, or when a site does not take
// arrays of its size. Its tasks are then bound one by one, as they can start, each as a job of its own: a part. So a limit of tasks
// (--array=0-99%5) holds over all sites together, and a task that is requeued may run elsewhere.
//
// The array's own record stays alive until its last task has ended. What it shows as tasks are its parts.

// partsAhead bounds the tasks of one array that one plan looks at.
const partsAhead = 1000

// spread begins to bind an array task by task. What is left of it after a requeue counts as it did before.
func (c *Controller) spread(j *job, why string) {
	j.Whole.Spread = true
	j.parts = map[int]*job{}
	for i, t := range j.past {
		j.tasks[i] = t
	}
	j.past = nil
	c.arrays[j.ID] = j
	if err := j.readRest(); err != nil { // checked when it was submitted
		c.log.Error("stored array cannot be read", "job", j.ID, "err", err)
	}
	c.event(j, "its tasks are bound one by one: %s", why)
	c.batch.job(j)
	c.planDirty = true
	c.lackIDs()
}

// lackIDs has the store read before the next plan, which reserves IDs for parts: they would have to wait for the next cause to plan. It does so
// once in a while only, for there may be none to be had.
func (c *Controller) lackIDs() {
	if now := c.now(); now.Sub(c.idsWanted) >= c.t.Retry {
		c.idsWanted, c.lastRead, c.planDirty = now, time.Time{}, true
	}
}

// spreads reports whether j is an array whose tasks are bound one by one.
func (j *job) spreads() bool { return j.Whole != nil && j.Whole.Spread }

// readRest reads which tasks of a spread array have not been bound yet. Of one that was cancelled none will be.
func (j *job) readRest() error {
	j.rest = nil
	if j.Spec.Array == "" || j.Cancel || j.State.Ended() {
		return nil
	}
	var err error
	j.rest, err = federation.ArrayIndices(j.Spec.Array)
	return err
}

// wholeOf describes an array that is as it was submitted.
func wholeOf(spec string) *federation.ArrayWhole {
	indices, err := federation.ArrayIndices(spec)
	if err != nil || len(indices) == 0 {
		return nil
	}
	return &federation.ArrayWhole{
		Count: len(indices), Min: indices[0], Max: indices[len(indices)-1], Step: federation.ArrayStep(spec), Limit: federation.ArrayLimit(spec),
	}
}

// running is how many tasks of a spread array count against its limit: those that are at a site.
func (j *job) running() int {
	n := 0
	for _, p := range j.parts {
		if p.live() {
			n++
		}
	}
	return n
}

// limit is how many tasks of the array that a part belongs to may run at once, 0 for all, and for what is no part.
func (j *job) limit() int {
	if j.array == nil {
		return 0
	}
	return j.array.Whole.Limit
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
				c.event(j, "no site can run its tasks: %s: %s %s", r.Site, r.Reason, r.Detail)
			}
			c.endRest(j, federation.Failed, federation.ReasonBadConstraints, c.now())
		} else {
			c.setReason(j, d.Reason)
		}
		return
	}
	if _, waits := slices.BinarySearch(j.rest, o.part.Part.Index); !waits || j.Whole.Limit > 0 && j.running() >= j.Whole.Limit {
		return
	}
	c.bind(c.addPart(j, o.part), *d)
}

// reserveIDs makes sure that there are IDs for the parts that the next plan may make.
func (c *Controller) reserveIDs(ctx context.Context, n int) {
	if n -= len(c.ids); n <= 0 || c.now().Before(c.idsAgain) {
		return
	}
	ids, err := c.store.ReserveIDs(ctx, max(n, 64))
	if err != nil {
		c.log.Error("reserve job IDs for the tasks of arrays", "err", err)
		c.idsAgain = c.now().Add(c.t.Retry)
		return
	}
	c.ids = append(c.ids, ids...)
}

// wantIDs is how many parts may be made before the store is read again: by a plan, and by requests about single tasks.
func (c *Controller) wantIDs(requests []federation.Request) int {
	n := 0
	for _, r := range requests {
		if j := c.jobs[r.Job]; j != nil && j.spreads() {
			n += len(r.Tasks)
		}
	}
	for _, j := range c.arrays {
		n += min(len(j.rest), partsAhead)
	}
	return n
}

// offerParts returns, as jobs that do not exist yet, those tasks of a spread array that may start now. The reason says why there
// are none.
func (c *Controller) offerParts(j *job, now time.Time) ([]*federation.Job, federation.Reason) {
	room := min(len(j.rest), partsAhead, len(c.ids)-c.idsOffered)
	if limit := j.Whole.Limit; limit > 0 {
		if limit -= j.running(); limit <= 0 {
			return nil, reasonTaskLimit
		}
		room = min(room, limit)
	}
	if room <= 0 {
		c.lackIDs()
		return nil, federation.ReasonPriority
	}
	jobs := make([]federation.Job, 0, room)
	var out []*federation.Job
	reason := federation.ReasonPriority
	var never []int
	for _, index := range j.rest {
		if len(jobs) == room {
			break
		}
		if r := j.depends.taskReason(index, now); r != "" {
			reason = r
			if r == federation.ReasonDependencyNever {
				never = append(never, index)
			}
			continue
		}
		jobs = append(jobs, j.makePart(c.ids[c.idsOffered], index))
		c.idsOffered++
		p := &jobs[len(jobs)-1]
		c.offered[p.ID] = offeredPart{j, p}
		out = append(out, p)
	}
	if len(never) > 0 && j.Spec.More != nil && j.Spec.More.KillOnInvalidDep == sbatch.Yes {
		c.event(j, "tasks %s can never start, for the tasks that they wait for have failed: cancelled", federation.FormatArray(never, 0))
		c.cancelRest(j, never)
	}
	return out, reason
}

const reasonTaskLimit federation.Reason = "JobArrayTaskLimit"

// writeShrunk brings what is left of the arrays that parts were taken from into their records. Large arrays are written once a
// round, however many of their tasks were bound in it.
func (c *Controller) writeShrunk() {
	shrunk := slices.Collect(maps.Keys(c.shrunk))
	sortByID(shrunk)
	for _, j := range shrunk {
		if len(j.rest) == 0 && !j.Cancel {
			j.Reason = federation.ReasonNone // nothing of it waits; its parts have reasons of their own
		}
		c.writeRest(j)
		if len(j.rest) == 0 {
			c.queue.drop(j)
		}
	}
}

func (c *Controller) writeRest(j *job) {
	delete(c.shrunk, j)
	j.Spec.Array = ""
	if len(j.rest) > 0 {
		j.Spec.Array = federation.FormatArray(j.rest, j.Whole.Limit)
	}
	c.batch.job(j)
}

// dropRest lets the tasks that wait never start. They stay in the array's record, which shows them as cancelled.
func (c *Controller) dropRest(j *job) {
	if !j.Cancel { // the second time rest is empty, and the record is to keep what it names
		c.writeRest(j)
	}
	j.Cancel, j.rest = true, nil
	c.queue.drop(j)
	c.batch.job(j)
}
