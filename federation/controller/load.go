package controller

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"fsub/federation"
	"fsub/federation/reasons"
)

// loader takes up jobs that the store has: all live ones at the start, new ones later.
type loader struct {
	now      func() time.Time
	log      *slog.Logger
	store    Store
	metrics  *metrics
	sites    *roster
	jobs     *jobTable
	agenda   *agenda
	asides   *aside
	limits   *limits
	preempts *preempts
	queue    *queue
	arrays   *arrays
	depends  *dependencies
	life     *life
	moves    *moves
}

// load reads the live jobs and their attempts. An attempt that was only intended may have reached its site or not.
func (ld *loader) load(ctx context.Context, also func([]federation.Job) error) error {
	loaded, arrays, err := ld.loadJobs(ctx, also)
	if err != nil {
		return err
	}
	attempts, err := ld.store.LiveAttempts(ctx)
	if err != nil {
		return fmt.Errorf("read the live attempts: %w", err)
	}
	if err := ld.loadTasks(ctx, arrays); err != nil {
		return err
	}
	if err := ld.loadTaskJobs(ctx); err != nil {
		return err
	}
	for i := range attempts {
		ld.attach(&attempts[i])
	}
	for _, j := range loaded { // in order, as they are in the queue unless somebody has given them priorities
		waits := !j.live() && j.Component == nil && (!j.spreads() || j.rest.Len() > 0)
		if waits {
			ld.queue.add(j)
		}
		if waits || j.live() && j.att.Number > 1 { // which may come back to the queue
			if err := ld.recallLast(ctx, j); err != nil {
				return fmt.Errorf("read the attempts of job %d: %w", j.ID, err)
			}
		}
	}
	for _, j := range ld.jobs.All() {
		if j.spreads() {
			ld.life.endIfDone(j, ld.now()) // the last task has ended in a batch that the array's end was not in
		}
	}
	return nil
}

// loadJobs takes up the live jobs in order of their ID, so that a job comes after those that it may depend on. It returns them, and the arrays among them.
func (ld *loader) loadJobs(ctx context.Context, also func([]federation.Job) error) (loaded []*job, arrays []federation.JobID, err error) {
	err = ld.store.LiveJobs(ctx, func(jobs []federation.Job) error {
		if also != nil {
			if err := also(jobs); err != nil {
				return err
			}
		}
		for i := range jobs {
			if ld.asides.leavesOut(&jobs[i]) {
				continue
			}
			var j *job
			var err error
			if (subject{job: jobs[i].ID}).do(func() { j, err = ld.life.addJob(ctx, jobs[i]) }); err != nil {
				return err
			}
			loaded = append(loaded, j)
			if jobs[i].Whole != nil || jobs[i].Spec.Array != "" {
				arrays = append(arrays, jobs[i].ID)
			}
		}
		return nil
	})
	return loaded, arrays, err
}

func (ld *loader) loadTasks(ctx context.Context, arrays []federation.JobID) error {
	if len(arrays) == 0 {
		return nil
	}
	tasks, err := ld.store.TasksOf(ctx, arrays)
	if err != nil {
		return fmt.Errorf("read the tasks of live arrays: %w", err)
	}
	for id, ts := range tasks {
		j := ld.jobs.Of(id)
		for i := range ts {
			j.tasks[ts[i].Index] = &ts[i]
		}
		ld.depends.changed(j)
	}
	return nil
}

// loadTaskJobs joins the arrays that are spread with the jobs of their tasks, those that have ended too.
func (ld *loader) loadTaskJobs(ctx context.Context) error {
	var arrays []federation.JobID
	for _, j := range ld.jobs.All() {
		if j.spreads() {
			arrays = append(arrays, j.ID)
		}
	}
	if len(arrays) == 0 {
		return nil
	}
	all, err := ld.store.Jobs(ctx, federation.JobQuery{IDs: arrays})
	if err != nil {
		return fmt.Errorf("read the tasks of live arrays: %w", err)
	}
	for i := range all {
		task := &all[i]
		if task.Part == nil {
			continue
		}
		if p := ld.jobs.Of(task.ID); p != nil {
			ld.arrays.link(p)
		} else {
			t := task.Task()
			ld.jobs.Of(t.Job).tasks[t.Index] = &t
		}
	}
	for _, id := range arrays {
		ld.depends.changed(ld.jobs.Of(id))
	}
	return nil
}

// attach gives a job its live attempt back after a restart.
func (ld *loader) attach(a *federation.Attempt) {
	j := ld.jobs.Of(a.Job)
	if ld.asides.has(a.Job) {
		return
	}
	if j == nil {
		// The job has ended and its attempt has not: the two are written together, so this is a defect. What the site
		// still has of it is found as an orphan.
		ld.log.Error("live attempt of a job that has ended", "job", a.Job, "attempt", a.Number, "site", a.Site)
		return
	}
	if a.Decision.Pack != nil {
		ld.attachPacked(j, a)
		return
	}
	j.try().att = a
	j.try().unsure = a.State == federation.AttemptIntended
	if a.Kept != nil {
		j.try().kept = a.Kept
	}
	ld.limits.reserve(j)
	ld.preempts.note(j)
	s := ld.sites.byName[a.Site]
	if s == nil {
		ld.log.Error("attempt at a site that is not configured; it keeps the job until the site is back", "job", a.Job, "site", a.Site)
		return
	}
	s.jobs[j.ID] = j
	ld.queue.claim(j)
}

// recallLast finds out, for a new daemon, where a job that went back to the queue must not go yet: where its last run may still live, because it was
// forgotten, or whence it was taken.
func (ld *loader) recallLast(ctx context.Context, j *job) error {
	if j.Attempt == 0 {
		return nil
	}
	attempts, err := ld.store.Attempts(ctx, j.ID)
	if err != nil {
		return err
	}
	for i := range attempts {
		ld.moves.recall(j, &attempts[i])
		if attempts[i].Kept != nil {
			j.try().kept = attempts[i].Kept
		}
		if attempts[i].Moved != nil {
			j.try().moved = attempts[i].Moved
		}
		ld.life.runs.outlasts(j.ID, &attempts[i])
	}
	if n := len(attempts); n > 0 && j.Reason == reasons.Forgotten && attempts[n-1].State == federation.AttemptForgotten {
		j.mayLive(&attempts[n-1], attempts[n-1].Ended)
	}
	return nil
}

// readJobs takes up the jobs that are new. One that has ended in a round which is not committed yet still looks
// pending in the store: it is not new.
func (ld *loader) readJobs(ctx context.Context, n storeNews) error {
	known := func(id federation.JobID) bool { return ld.jobs.known(id) || ld.asides.has(id) }
	q := federation.JobQuery{IDs: slices.DeleteFunc(n.jobs, known), Alone: true, States: []federation.State{federation.Pending}}
	if len(q.IDs) == 0 && !n.anew {
		return nil
	}
	jobs, err := ld.store.Jobs(ctx, q)
	if err != nil {
		return err
	}
	for i := range jobs {
		if known(jobs[i].ID) {
			continue
		}
		j, err := ld.life.addJob(ctx, jobs[i])
		if err != nil {
			return err // the mark stays: all are read again, and those that were taken up are known
		}
		if j.Component != nil {
			continue
		}
		ld.queue.add(j)
		ld.agenda.plan = ld.agenda.plan || j.Held == federation.NotHeld
		ld.metrics.taken()
	}
	return nil
}
