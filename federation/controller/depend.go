package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"fsub/federation"
)

// dependency is what a job waits for. The federation resolves it itself, so that it holds across sites; a site never sees it.
type dependency struct {
	any   bool // one term is enough
	terms []waitTerm
}

type waitTerm struct {
	federation.DependTerm
	met   bool
	never bool
	from  time.Time // for after:J+minutes: when J started

	byTask *job // aftercorr of an array: the other array. It is asked for each task, never for the whole
}

// reason says why the job still waits, "" if it need not.
func (d *dependency) reason(now time.Time) federation.Reason {
	if len(d.terms) == 0 {
		return ""
	}
	met, never := 0, 0
	for i := range d.terms {
		t := &d.terms[i]
		switch {
		case t.byTask != nil:
			met++
		case t.never:
			never++
		case t.met && !now.Before(t.from.Add(t.Delay)):
			met++
		}
	}
	switch {
	case met == len(d.terms), d.any && met > 0:
		return ""
	case never == len(d.terms), !d.any && never > 0:
		return federation.ReasonDependencyNever
	}
	return federation.ReasonDependency
}

// next is when a delay will have passed; zero: none has begun.
func (d *dependency) next(now time.Time) (next time.Time) {
	for i := range d.terms {
		if t := &d.terms[i]; t.met {
			if at := t.from.Add(t.Delay); now.Before(at) && (next.IsZero() || at.Before(next)) {
				next = at
			}
		}
	}
	return next
}

// taskReason says why one task of an array still waits for the tasks of the same index that it depends on, "" if it need not.
func (d *dependency) taskReason(index int, now time.Time) federation.Reason {
	reason := federation.Reason("")
	for i := range d.terms {
		t := &d.terms[i]
		if t.byTask == nil {
			continue
		}
		state := federation.Pending
		on := t.byTask.tasks[index]
		if on != nil {
			state = on.State
		}
		if on == nil && t.byTask.State.Ended() { // for a task that there never was all of the array stands, as in Slurm
			state = t.byTask.ranAs()
		}
		switch {
		case state == federation.Completed:
			if d.any {
				return ""
			}
		case state.Ended():
			if !d.any {
				return federation.ReasonDependencyNever
			}
			reason = federation.ReasonDependencyNever
		default:
			if reason == "" {
				reason = federation.ReasonDependency
			}
		}
	}
	return reason
}

// ranAs is COMPLETED if all tasks of an array that have started did so, and what waited of it was not cancelled at the end.
func (j *job) ranAs() federation.State {
	if j.Cancel {
		return federation.Cancelled
	}
	for _, t := range j.tasks {
		if !t.Start.IsZero() && t.State != federation.Completed {
			return t.State
		}
	}
	return federation.Completed
}

// settle brings the term in line with the job that it waits for.
func (t *waitTerm) settle(on *job) {
	if t.byTask != nil {
		return
	}
	task := on.tasks[t.Task]
	state, start := on.State, on.Start
	if task != nil {
		state, start = task.State, task.Start
	} else if t.Task >= 0 && !on.State.Ended() {
		return
	}
	switch t.Kind {
	case federation.DependAfter: // once is enough: a requeue takes nothing back
		if !t.met {
			t.met = (state.Started() || state.Ended()) && (t.Task >= 0 || !on.tasksWait())
			t.from = start
		}
	case federation.DependAfterAny:
		t.met = state.Ended()
	case federation.DependAfterOK:
		t.met = state == federation.Completed
		t.never = state.Ended() && !t.met
	case federation.DependAfterNotOK:
		t.met = state.Ended() && state != federation.Completed
		t.never = state == federation.Completed
	}
}

// tasksWait reports whether a task of an array has not started yet.
func (j *job) tasksWait() bool {
	if j.State.Ended() {
		return false
	}
	for _, t := range j.tasks {
		if t.State == federation.Pending {
			return true
		}
	}
	return j.rest.Len() > 0
}

// dependencies know which jobs wait for which.
type dependencies struct {
	*shared
	queue *queue
	waits map[federation.JobID][]*job // by the job that they depend on
}

func newDependencies(c *shared, q *queue) *dependencies {
	return &dependencies{shared: c, queue: q, waits: map[federation.JobID][]*job{}}
}

// add registers what j waits for, and settles what has happened already. It fails if the store does.
func (c *dependencies) add(ctx context.Context, j *job) error {
	if j.Spec.Dependency == "" || j.Attempt > 0 && !j.spreads() {
		return nil
	}
	parsed, err := federation.ParseDependency(j.Spec.Dependency)
	if err != nil { // checked when it was submitted
		c.log.Error("stored dependency cannot be read", "job", j.ID, "err", err)
		return nil
	}
	j.hinder().depends.any = parsed.Any
	for _, t := range parsed.Terms {
		if t.Kind == federation.DependSingleton {
			c.onNamesakes(j)
			continue
		}
		if err := c.on(ctx, j, t); err != nil {
			return err
		}
	}
	return nil
}

// onNamesakes is --dependency=singleton: j waits for the earlier jobs of its user and name.
func (c *dependencies) onNamesakes(j *job) {
	for _, other := range c.jobs {
		if other.ID < j.ID && other.Part == nil && other.Component == nil && other.User == j.User && other.Spec.Name == j.Spec.Name {
			c.waitFor(j, federation.DependTerm{Kind: federation.DependAfterAny, Job: other.ID, Task: -1}, other)
		}
	}
}

func (c *dependencies) on(ctx context.Context, j *job, t federation.DependTerm) error {
	on := c.jobs[t.Job]
	if on == nil {
		on = c.ended[t.Job]
	}
	if on != nil {
		c.waitFor(j, t, on)
		return nil
	}
	stored, err := c.store.Job(ctx, t.Job)
	if errors.Is(err, federation.ErrNotFound) { // purged long ago: it counts as having ended well
		stored, err = federation.Job{ID: t.Job, State: federation.Completed}, nil
	}
	on = newJob(stored)
	on.join().tasks = map[int]*federation.Task{}
	if err == nil && (t.Task >= 0 || t.Kind == federation.DependAfterCorr) {
		err = c.readTasks(ctx, on)
	}
	if err != nil {
		return fmt.Errorf("read job %d, which it depends on: %w", t.Job, err)
	}
	c.waitFor(j, t, on)
	return nil
}

// readTasks reads the tasks of an array that has ended.
func (c *dependencies) readTasks(ctx context.Context, on *job) error {
	tasks, err := c.store.Tasks(ctx, on.ID)
	if err != nil && !errors.Is(err, federation.ErrNotFound) {
		return err
	}
	for i := range tasks {
		on.tasks[tasks[i].Index] = &tasks[i]
	}
	jobs, err := c.store.Jobs(ctx, federation.JobQuery{IDs: []federation.JobID{on.ID}})
	for i := range jobs {
		if p := &jobs[i]; p.Part != nil {
			t := p.Task()
			on.tasks[t.Index] = &t
		}
	}
	return err
}

// waitFor adds a term to what j waits for and brings it in line with the job that it names.
func (c *dependencies) waitFor(j *job, t federation.DependTerm, on *job) {
	w := waitTerm{DependTerm: t}
	switch {
	case t.Kind == federation.DependAfterBB:
		w.Kind = federation.DependAfterAny
	case t.Kind == federation.DependAfterCorr && (j.Whole == nil || on.Whole == nil || t.Task >= 0):
		w.Kind = federation.DependAfterOK // there are no tasks that correspond
	case t.Kind == federation.DependAfterCorr:
		w.byTask = on
	}
	w.settle(on)
	j.hinder().depends.terms = append(j.depends.terms, w)
	if !on.State.Ended() {
		c.waits[on.ID] = append(c.waits[on.ID], j)
	}
}

// changed settles what waits for j, which has started or ended, or of which a task has.
func (c *dependencies) changed(j *job) {
	waiting := c.waits[j.ID]
	if len(waiting) == 0 {
		return
	}
	for _, w := range waiting {
		for i := range w.depends.terms {
			if t := &w.depends.terms[i]; t.Job == j.ID {
				t.settle(j)
			}
		}
		c.queue.look(w)
	}
	if j.State.Ended() {
		delete(c.waits, j.ID)
	}
	c.planDirty = true
}

// anew forgets what j waits for, and registers what its Spec says now.
func (c *dependencies) anew(j *job) {
	for id, waiting := range c.waits {
		c.waits[id] = slices.DeleteFunc(waiting, func(w *job) bool { return w == j })
	}
	j.hinder().depends = dependency{}
	if err := c.add(context.Background(), j); err != nil {
		c.log.Error("take over a new dependency", "job", j.ID, "err", err)
	}
}

// checkDependency reports as *federation.SlurmError what is wrong with a job's dependency.
func (c *shared) checkDependency(j *federation.Job) error {
	refuse := func(detail string) error {
		return &federation.SlurmError{Kind: federation.ErrInvalid, Number: 2038, Text: "Job dependency problem", Detail: detail}
	}
	parsed, err := federation.ParseDependency(j.Spec.Dependency)
	if err != nil {
		return refuse(err.Error())
	}
	for _, t := range parsed.Terms {
		if t.Kind == federation.DependSingleton {
			continue
		}
		if _, err := c.store.Job(context.Background(), t.Job); err != nil {
			return refuse(fmt.Sprintf("job %d is not known; look with squeue or sacct", t.Job))
		}
	}
	return nil
}
