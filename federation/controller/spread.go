package controller

import (
	"maps"
	"slices"
	"time"

	"fsub/federation"
	"fsub/sbatch"
)

// An array is spread when no single site can start all of it at once and more than one can run it, or when a site
// does not take arrays of its size. Its tasks are then bound one by one, as they can start, each as a job of its
// own. So a limit of tasks (--array=0-99%5) holds over all sites together, and a task that is requeued may run
// elsewhere.
//
// The array's own record stays alive until its last task has ended. What it shows as tasks are those jobs.

// tasksAhead bounds the tasks of one array that one plan looks at.
const tasksAhead = 1000

// arrays are the arrays whose tasks are bound one by one.
type arrays struct {
	*shared
	ids     jobIDs
	queue   *queue
	depends *dependencies
	owner   jobEnder
	tasks   taskActor

	live    map[federation.JobID]*job        // those that have not ended
	shrunk  map[*job]bool                    // those that tasks were taken from in this round
	offered map[federation.JobID]offeredPart // the tasks in the plan that is being made
}

// taskActor does what a user asked for with one task, or with those of an array that wait.
type taskActor interface {
	carryOutOne(j *job, r federation.Request)
}

func newArrays(c *shared, q *queue, d *dependencies, owner jobEnder) *arrays {
	return &arrays{shared: c, ids: jobIDs{shared: c}, queue: q, depends: d, owner: owner,
		live: map[federation.JobID]*job{}, shrunk: map[*job]bool{}, offered: map[federation.JobID]offeredPart{}}
}

// spread begins to bind an array task by task. What is left of it after a requeue counts as it did before.
func (c *arrays) spread(j *job, why string) {
	j.Whole.Spread = true
	j.taskJobs = map[int]*job{}
	for i, t := range j.past {
		j.tasks[i] = t
	}
	j.past = nil
	c.live[j.ID] = j
	if err := j.readRest(); err != nil { // checked when it was submitted
		c.log.Error("stored array cannot be read", "job", j.ID, "err", err)
	}
	c.event(j, "its tasks are bound one by one: %s", why)
	c.batch.job(j)
	c.planDirty = true
	c.ids.lack()
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
	for _, p := range j.taskJobs {
		if p.live() {
			n++
		}
	}
	return n
}

// limit is how many tasks of the array that j is a task of may run at once, 0 for all, and for other jobs.
func (j *job) limit() int {
	if j.array == nil {
		return 0
	}
	return j.array.Whole.Limit
}

// wantIDs is how many tasks may become jobs before the store is read again: by a plan, and by requests about
// single tasks.
func (c *arrays) wantIDs(requests []federation.Request) int {
	n := 0
	for _, r := range requests {
		if j := c.jobs[r.Job]; j != nil && j.spreads() {
			n += len(r.Tasks)
		}
	}
	for _, j := range c.live {
		n += min(len(j.rest), tasksAhead)
	}
	return n
}

// planned forgets what was offered to a plan that has been carried out.
func (c *arrays) planned() {
	c.ids.offered = 0
	clear(c.offered)
}

// offer returns, as jobs that do not exist yet, those tasks of a spread array that may start now. The reason says
// why there are none.
func (c *arrays) offer(j *job, now time.Time) ([]*federation.Job, federation.Reason) {
	room := min(len(j.rest), tasksAhead, c.ids.left())
	if limit := j.Whole.Limit; limit > 0 {
		if limit -= j.running(); limit <= 0 {
			return nil, reasonTaskLimit
		}
		room = min(room, limit)
	}
	if room <= 0 {
		c.ids.lack()
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
		jobs = append(jobs, j.makeTaskJob(c.ids.offer(), index))
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

// writeShrunk brings what is left of the arrays that tasks were taken from into their records. Large arrays are
// written once a round, however many of their tasks were bound in it.
func (c *arrays) writeShrunk() {
	shrunk := slices.Collect(maps.Keys(c.shrunk))
	sortByID(shrunk)
	for _, j := range shrunk {
		if len(j.rest) == 0 && !j.Cancel {
			j.Reason = federation.ReasonNone // nothing of it waits; the jobs of its tasks have reasons of their own
		}
		c.writeRest(j)
		if len(j.rest) == 0 {
			c.queue.drop(j)
		}
	}
}

func (c *arrays) writeRest(j *job) {
	delete(c.shrunk, j)
	array := ""
	if len(j.rest) > 0 {
		array = federation.FormatArray(j.rest, j.Whole.Limit)
	}
	j.setArray(array)
	c.batch.job(j)
}

// dropRest lets the tasks that wait never start. They stay in the array's record, which shows them as cancelled.
func (c *arrays) dropRest(j *job) {
	if !j.Cancel { // the second time rest is empty, and the record is to keep what it names
		c.writeRest(j)
	}
	j.Cancel, j.rest = true, nil
	c.queue.drop(j)
	c.batch.job(j)
}
