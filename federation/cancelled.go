package federation

import (
	"slices"
	"time"
)

// CancelledTasks are tasks of an array that were cancelled while they waited, by the same user. A million of them take the memory of a few ranges: they are
// one thing in the store and in listings.
type CancelledTasks struct {
	Tasks    TaskSet
	End      time.Time // when they were cancelled, of those that were joined the last one
	Cancel   bool      // CancelBy has asked for it; else they could never have started
	CancelBy uint32
}

// maxCancelled is how many CancelledTasks an array has before those of the same user are joined.
const maxCancelled = 64

// WithCancelled is w with more tasks that were cancelled while they waited. It shares nothing with w that changes.
func (w *ArrayWhole) WithCancelled(more CancelledTasks) *ArrayWhole {
	with := *w
	with.Cancelled = slices.Clone(w.Cancelled)
	for i := range slices.Backward(with.Cancelled) {
		c := &with.Cancelled[i]
		if c.Cancel == more.Cancel && c.CancelBy == more.CancelBy && (c.End.Equal(more.End) || len(with.Cancelled) >= maxCancelled) {
			c.Tasks, c.End = c.Tasks.Or(&more.Tasks), more.End
			return &with
		}
	}
	with.Cancelled = append(with.Cancelled, more)
	return &with
}

// CancelledSet are all tasks of j, if it is an array, that were cancelled by name while they waited.
func (j *Job) CancelledSet() (all TaskSet) {
	if j.Whole != nil {
		for i := range j.Whole.Cancelled {
			all = all.Or(&j.Whole.Cancelled[i].Tasks)
		}
	}
	return all
}

// CancelledTask is task i of j, if j is an array of which that task was cancelled by name while it waited.
func (j *Job) CancelledTask(i int) (Task, bool) {
	if j.Whole != nil {
		for k := range j.Whole.Cancelled {
			if c := &j.Whole.Cancelled[k]; c.Tasks.Has(i) {
				return c.task(j.ID, i), true
			}
		}
	}
	return Task{}, false
}

func (c *CancelledTasks) task(array JobID, i int) Task {
	return Task{Job: array, Index: i, State: Cancelled, End: c.End, Cancel: c.Cancel, CancelBy: c.CancelBy}
}

// fewCancelled is up to how many tasks [CancelledTasks.Few] are.
const fewCancelled = 16

// Few are the tasks one by one, if they are few; nil: they are too many.
func (c *CancelledTasks) Few(array JobID) (tasks []Task) {
	if c.Tasks.Len() <= fewCancelled {
		for i := range c.Tasks.All() {
			tasks = append(tasks, c.task(array, i))
		}
	}
	return tasks
}
