package controller

import (
	"time"

	"fsub/federation"
	"fsub/federation/depend"
)

// workflows know what is still to run of workflows, from each of their jobs on: see [fairshare.Policy.CriticalPath]. A workflow is the jobs of a group that depend on each other.
type workflows struct {
	jobs  *jobTable
	runs  *runTimes
	queue *queue
	paths *depend.Paths

	again []federation.JobID // of which it is to be asked again how long they run
}

// newWorkflows returns nil if the order of the queue does not depend on workflows.
func newWorkflows(jobs *jobTable, runs *runTimes, q *queue) *workflows {
	if q.fairShare == nil || !q.fairShare.Critical() {
		return nil
	}
	w := &workflows{jobs: jobs, runs: runs, queue: q, paths: depend.NewPaths()}
	q.fairShare.Paths(w.paths.Left)
	return w
}

func groupOf(j *job) string {
	if j.Spec.Fed == nil {
		return ""
	}
	return j.Spec.Fed.Group
}

// add tells of a job of a group, and of what it waits for.
func (w *workflows) add(j *job, on []*job) {
	if w == nil || groupOf(j) == "" {
		return
	}
	var ids []federation.JobID
	for _, b := range on {
		if groupOf(b) == groupOf(j) {
			ids = append(ids, b.ID)
		}
	}
	w.paths.Set(j.ID, w.runs.lasts(j, 0).P50, ids)
}

func (w *workflows) ended(id federation.JobID) {
	if w != nil {
		w.paths.Drop(id)
	}
}

// left is how long the longest path from a job on takes; 0: it is in no workflow.
func (w *workflows) left(id federation.JobID) time.Duration {
	if w == nil {
		return 0
	}
	return w.paths.Left(id)
}

// foretold is how many jobs are asked again at a time how long they run.
const foretold = 2000

// foretell takes in how long some of the jobs are expected to run by now. In time all have their turn.
func (w *workflows) foretell() {
	if w == nil {
		return
	}
	if len(w.again) == 0 {
		w.again = w.paths.Jobs()
	}
	n := min(foretold, len(w.again))
	for _, id := range w.again[:n] {
		if j := w.jobs.Of(id); j != nil {
			w.paths.Takes(id, w.runs.lasts(j, 0).P50)
		}
	}
	w.again = w.again[n:]
}

// arrange gives the jobs of the queue the places that they have by their paths.
func (w *workflows) arrange() {
	if w == nil {
		return
	}
	lengthened := w.paths.Settle()
	for _, id := range lengthened {
		j := w.jobs.Of(id)
		if j == nil || !j.spreads() {
			continue
		}
		for _, o := range j.offers {
			lengthened = append(lengthened, o.task.ID)
		}
		for _, t := range j.taskJobs {
			lengthened = append(lengthened, t.ID)
		}
	}
	w.queue.world.Rerank(w.queue.fairShare.Arrange(lengthened))
}
