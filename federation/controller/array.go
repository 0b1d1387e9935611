package controller

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"fsub/federation"
	"fsub/federation/action"
	"fsub/federation/reasons"
	"fsub/sbatch"
)

// An array is its tasks. They are bound one by one, as they can start, each as a job of its own with a number of its
// own; what merely waits costs nothing. So a limit of tasks (--array=0-99%5) holds over all sites together, and a
// task that is requeued may run elsewhere.
//
// The array's own record stays alive until its last task has ended. What it shows as tasks are those jobs.

// Bounds of the tasks that placement knows of before they are jobs: of one array, and of all together, where there are not too many arrays.
const (
	tasksAhead    = 1000
	allTasksAhead = 20_000
	fewTasksAhead = 16
	packedAhead   = 10_000 // those that share jobs
)

// ahead is how many waiting tasks of an array placement knows of.
func (ar *arrays) ahead(j *job) int {
	return min(j.rest.Len(), tasksAhead, max(fewTasksAhead, allTasksAhead/max(len(ar.live), 1)))
}

// arrays are the arrays and the jobs that their tasks become.
type arrays struct {
	now   func() time.Time
	log   *slog.Logger
	jobs  *jobTable
	batch *pendingBatch
	runs  *runTimes
	queue *queue
	ids   jobIDs

	live    map[federation.JobID]*job     // those that have not ended
	shrunk  map[*job]bool                 // those that tasks were taken from in this round
	offered map[federation.JobID]*offered // the tasks that placement knows of, by the numbers that they would have
	short   map[*job]bool                 // those of which not all could be offered for want of numbers
	decided []*job                        // those of which a task waits for another reason, by the plan that is being carried out
}

// ended forgets an array that has ended.
func (ar *arrays) ended(j *job) {
	ar.withdraw(j)
	delete(ar.shrunk, j)
	delete(ar.live, j.ID)
}

// add takes up an array. One that an earlier version has handed over to a site as a whole stays there as it is, and is followed to its end.
func (ar *arrays) add(j *job) {
	j.join().tasks = map[int]*federation.Task{}
	switch {
	case j.State.Ended():
	case !j.Whole.Spread && j.Site != "":
		j.join().whole, _ = federation.ArrayIndices(j.Spec.Array) // checked when it was submitted
	default:
		ar.spread(j)
	}
}

// spread binds an array's tasks one by one from now on. What is left of it after a requeue counts as it did before.
func (ar *arrays) spread(j *job) {
	f := j.join()
	f.taskJobs, f.whole = map[int]*job{}, nil
	ar.live[j.ID] = j
	if err := j.readRest(); err != nil { // checked when it was submitted
		ar.log.Error("stored array cannot be read", "job", j.ID, "err", err)
	}
	if !j.Whole.Spread {
		j.Whole.Spread = true
		ar.batch.job(j)
	}
}

// spreads reports whether j is an array whose tasks are bound one by one: each, but for what wholearray.go is there for.
func (j *job) spreads() bool { return j.Whole != nil && j.Whole.Spread }

// readRest reads which tasks of an array have not been bound yet. Of one that was cancelled none will be.
func (j *job) readRest() error {
	j.join().rest = federation.TaskSet{}
	if j.Spec.Array == "" || j.Cancel || j.State.Ended() {
		return nil
	}
	array, err := federation.ReadArray(j.Spec.Array)
	j.join().rest = array.Set()
	return err
}

// wholeOf describes an array that is as it was submitted.
func wholeOf(spec string) *federation.ArrayWhole {
	indices, err := federation.ArrayIndices(spec)
	if err != nil || len(indices) == 0 {
		return nil
	}
	return &federation.ArrayWhole{
		Count: len(indices), Min: indices[0], Max: indices[len(indices)-1], Step: arrayStep(spec), Limit: federation.ArrayLimit(spec),
	}
}

// running is how many tasks of an array count against its limit: those that are at a site.
func (j *job) running() int {
	n := 0
	var packs map[*job]int
	for _, p := range j.taskJobs {
		switch {
		case !p.live():
		case p.in == nil:
			n++
		case packs[p.in] < p.in.pack.side:
			if packs == nil {
				packs = map[*job]int{}
			}
			packs[p.in]++
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

// setArray replaces what is left of an array.
func (j *job) setArray(array string) {
	j.EditSpec(func(spec *sbatch.Spec) { spec.Array = array })
}

// wantIDs is how many tasks may become jobs before the store is read again: by a plan, and by requests about
// single tasks.
func (ar *arrays) wantIDs(requests []action.Request) int {
	n := 0
	for i := range requests {
		r := &requests[i]
		if j := ar.jobs.Of(r.Job); n < tasksARound && j != nil && j.spreads() && splits(r.Kind) && !j.meansRest(r) {
			n += min(r.Tasks.Len(), tasksAtOnce)
		}
	}
	now := ar.now()
	for _, j := range ar.live {
		if j.Held != federation.NotHeld || now.Before(j.Spec.Begin) || j.depends.reason(now) != "" {
			continue // none of it is offered
		}
		ahead := ar.ahead(j)
		if size, _ := j.packSize(); size > 1 {
			ahead += min(ahead*size, j.rest.Len(), packedAhead)
		}
		n += max(ahead-len(j.offers), 0)
	}
	return n
}

// splits reports whether waiting tasks become jobs of their own if kind is done to some of an array's.
func splits(kind action.Kind) bool {
	switch kind {
	case action.Hold, action.Release, action.Top, action.Update:
		return true
	}
	return false
}

// reserveIDs makes sure that there are numbers for the tasks that may become jobs soon.
func (ar *arrays) reserveIDs(ctx context.Context, requests []action.Request) {
	if ar.ids.reserve(ctx, ar.wantIDs(requests)) {
		for j := range ar.short {
			ar.queue.look(j)
		}
		clear(ar.short)
	}
}

const reasonTaskLimit reasons.Reason = "JobArrayTaskLimit"

// writeShrunk brings what is left of the arrays that tasks were taken from into their records. Large arrays are
// written once a round, however many of their tasks were bound in it.
func (ar *arrays) writeShrunk() {
	shrunk := slices.Collect(maps.Keys(ar.shrunk))
	sortByID(shrunk)
	for _, j := range shrunk {
		if j.rest.Len() == 0 && !j.Cancel {
			j.Reason = reasons.None // nothing of it waits; the jobs of its tasks have reasons of their own
		}
		ar.writeRest(j)
		ar.queue.count(j)
		if j.rest.Len() == 0 {
			ar.queue.drop(j)
			ar.withdraw(j)
		}
	}
}

func (ar *arrays) writeRest(j *job) {
	delete(ar.shrunk, j)
	array := ""
	if j.rest.Len() > 0 {
		array = j.rest.Format(j.Whole.Limit)
	}
	j.setArray(array)
	ar.batch.job(j)
}

// dropRest lets the tasks that wait never start. They stay in the array's record, which shows them as cancelled.
func (ar *arrays) dropRest(j *job) {
	if !j.Cancel { // the second time rest is empty, and the record is to keep what it names
		ar.writeRest(j)
	}
	j.Cancel, j.join().rest = true, federation.TaskSet{}
	ar.queue.drop(j)
	ar.withdraw(j)
	ar.batch.job(j)
}

// arrayStep is what SLURM_ARRAY_TASK_STEP is for an --array value: the first step that is written in it, 1 if there is none (24.11).
func arrayStep(spec string) int {
	list, _, _ := strings.Cut(spec, "%")
	at := strings.IndexByte(list, ':')
	if at < 0 {
		return 1
	}
	digits := list[at+1:]
	if end := strings.IndexFunc(digits, func(r rune) bool { return r < '0' || r > '9' }); end >= 0 {
		digits = digits[:end]
	}
	n, _ := strconv.Atoi(digits)
	return n
}
