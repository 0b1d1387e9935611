package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"fsub/federation"
	"fsub/federation/depend"
	"fsub/federation/reasons"
)

// dependency is what a job waits for. The federation resolves it itself, so that it holds across sites; a site never sees it.
type dependency struct {
	any    bool // one term is enough
	terms  []waitTerm
	met    int   // of terms, those with a delay aside
	never  int   // of terms: those that will not be met any more
	delays []int // the terms with a delay

	job   federation.JobID // that waits
	names *namesakes       // singleton: those before it are waited for
}

type waitTerm struct {
	depend.Term
	met   bool
	never bool
	// foreseen: it is never met as things stand, since its job can never start. What that one waits for may still be changed.
	foreseen bool
	from     time.Time // for after:J+minutes: when J started

	byTask *job // aftercorr of an array: the other array. It is asked for each task, never for the whole
}

// reason says why the job still waits, "" if it need not.
func (d *dependency) reason(now time.Time) reasons.Reason {
	all, met := len(d.terms), d.met
	if d.names != nil {
		all++
		if !d.names.before(d.job) {
			met++
		}
	}
	for _, i := range d.delays {
		if t := &d.terms[i]; t.met && !now.Before(t.from.Add(t.Delay)) {
			met++
		}
	}
	switch {
	case met == all, d.any && met > 0:
		return ""
	case d.never == all, !d.any && d.never > 0:
		return reasons.DependencyNever
	}
	return reasons.Dependency
}

// add appends a term, and returns its place.
func (d *dependency) add(t waitTerm) int {
	d.terms = append(d.terms, t)
	i := len(d.terms) - 1
	if t.Delay > 0 {
		d.delays = append(d.delays, i)
	}
	d.count(i, 1)
	return i
}

// settle brings a term in line with the job that it waits for.
func (d *dependency) settle(i int, on *job) {
	d.count(i, -1)
	d.terms[i].settle(on)
	d.count(i, 1)
}

// count counts what has become of a term n times.
func (d *dependency) count(i, n int) {
	switch t := &d.terms[i]; {
	case t.byTask != nil:
		d.met += n
	case t.never:
		d.never += n
	case t.met && t.Delay == 0:
		d.met += n
	}
}

// next is when a delay will have passed; zero: none has begun.
func (d *dependency) next(now time.Time) (next time.Time) {
	for _, i := range d.delays {
		if t := &d.terms[i]; t.met {
			if at := t.from.Add(t.Delay); now.Before(at) && (next.IsZero() || at.Before(next)) {
				next = at
			}
		}
	}
	return next
}

// taskReason says why one task of an array still waits for the tasks of the same index that it depends on, "" if it need not.
func (d *dependency) taskReason(index int, now time.Time) reasons.Reason {
	met, never, all := 0, 0, 0
	for i := range d.terms {
		t := &d.terms[i]
		if t.byTask == nil {
			continue
		}
		all++
		switch state := t.byTask.taskState(index); {
		case state == federation.Completed:
			met++
		case state.Ended(), t.byTask.hopeless && t.byTask.task(index) == nil:
			never++
		}
	}
	switch {
	case met == all, d.any && met > 0:
		return ""
	case never == all, !d.any && never > 0:
		return reasons.DependencyNever
	}
	return reasons.Dependency
}

// broken reports whether what others have come to keeps the job from ever starting, or task index of it if that is not negative, and not only that they can never start themselves.
func (d *dependency) broken(index int) bool {
	never, all := 0, 0
	for i := range d.terms {
		switch t := &d.terms[i]; {
		case index < 0:
			all++
			if t.never && !t.foreseen {
				never++
			}
		case t.byTask != nil:
			all++
			if state := t.byTask.taskState(index); state.Ended() && state != federation.Completed {
				never++
			}
		}
	}
	if index < 0 && d.names != nil {
		all++
	}
	return never > 0 && (!d.any || never == all)
}

// taskState is that of task i of an array; for one that there never was all of the array stands, as in Slurm.
func (j *job) taskState(i int) federation.State {
	if t := j.task(i); t != nil {
		return t.State
	}
	if j.State.Ended() {
		return j.ranAs()
	}
	return federation.Pending
}

// task is what is known of task i of an array; nil: it waits, or there is none.
func (j *job) task(i int) *federation.Task {
	if t := j.tasks[i]; t != nil {
		return t
	}
	if t, ok := j.CancelledTask(i); ok {
		return &t
	}
	return nil
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
	task := on.task(t.Task)
	state, start := on.State, on.Start
	t.foreseen = on.hopeless && task == nil && !state.Ended() // it does not start, and so does not end
	t.never = t.foreseen
	if task != nil {
		state, start = task.State, task.Start
	} else if t.Task >= 0 && !on.State.Ended() {
		return
	}
	switch t.Kind {
	case depend.After: // once is enough: a requeue takes nothing back
		if !t.met {
			t.met = (state.Started() || state.Ended()) && (t.Task >= 0 || !on.tasksWait())
			t.from = start
		}
		t.never = t.never && !t.met
	case depend.AfterAny:
		t.met = state.Ended()
	case depend.AfterOK:
		t.met = state == federation.Completed
		t.never = t.never || state.Ended() && !t.met
	case depend.AfterNotOK:
		t.met = state.Ended() && state != federation.Completed
		t.never = t.never || state == federation.Completed
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
	log    *slog.Logger
	store  Store
	jobs   *jobTable
	queue  *queue
	agenda *agenda

	names     names
	waits     map[federation.JobID][]waiting // by the job that they depend on
	workflows *workflows                     // nil: they do not matter
}

// waiting is a term of a job that waits.
type waiting struct {
	job  *job
	term int
}

// add registers what j waits for, and settles what has happened already. It fails if the store does.
func (ds *dependencies) add(ctx context.Context, j *job) error {
	ds.names.join(j)
	if j.Spec.Dependency == "" || j.Attempt > 0 && !j.spreads() {
		ds.workflows.add(j, nil)
		return nil
	}
	parsed, err := depend.Parse(j.Spec.Dependency)
	if err != nil { // checked when it was submitted
		ds.log.Error("stored dependency cannot be read", "job", j.ID, "err", err)
		return nil
	}
	d := &j.hinder().depends
	d.any, d.job = parsed.Any, j.ID
	earlier := map[federation.JobID]*job{}
	all := make([]*job, 0, len(parsed.Terms))
	for _, t := range parsed.Terms {
		if t.Kind == depend.Singleton {
			if counts(j) {
				d.names = ds.names.want(j)
			}
			continue
		}
		on := cmp.Or(ds.jobs.Of(t.Job), ds.jobs.ended[t.Job], earlier[t.Job])
		if on == nil {
			if on, err = ds.earlier(ctx, t.Job); err != nil {
				return fmt.Errorf("read job %d, which it depends on: %w", t.Job, err)
			}
			earlier[t.Job] = on
		}
		if on.tasks == nil && (t.Task >= 0 || t.Kind == depend.AfterCorr) && earlier[t.Job] != nil {
			on.join().tasks = map[int]*federation.Task{}
			if err := ds.readTasks(ctx, on); err != nil {
				return fmt.Errorf("read the tasks of job %d, which it depends on: %w", t.Job, err)
			}
		}
		ds.waitFor(j, t, on)
		all = append(all, on)
	}
	ds.workflows.add(j, all)
	return nil
}

// earlier reads a job that ended some time ago.
func (ds *dependencies) earlier(ctx context.Context, id federation.JobID) (*job, error) {
	stored, err := ds.store.Job(ctx, id)
	if errors.Is(err, federation.ErrNotFound) { // purged long ago: it counts as having ended well
		stored, err = federation.Job{ID: id, State: federation.Completed}, nil
	}
	if err != nil {
		return nil, err
	}
	return newJob(stored), nil
}

// readTasks reads the tasks of an array that has ended.
func (ds *dependencies) readTasks(ctx context.Context, on *job) error {
	tasks, err := ds.store.Tasks(ctx, on.ID)
	if err != nil && !errors.Is(err, federation.ErrNotFound) {
		return err
	}
	for i := range tasks {
		on.tasks[tasks[i].Index] = &tasks[i]
	}
	jobs, err := ds.store.Jobs(ctx, federation.JobQuery{IDs: []federation.JobID{on.ID}})
	for i := range jobs {
		if p := &jobs[i]; p.Part != nil {
			t := p.Task()
			on.tasks[t.Index] = &t
		}
	}
	return err
}

// waitFor adds a term to what j waits for and brings it in line with the job that it names.
func (ds *dependencies) waitFor(j *job, t depend.Term, on *job) {
	term := j.hinder().depends.add(termOf(j, t, on))
	if !on.State.Ended() {
		ds.waits[on.ID] = append(ds.waits[on.ID], waiting{j, term})
	}
}

// termOf is a term of what j waits for, in line with the job that it names.
func termOf(j *job, t depend.Term, on *job) waitTerm {
	w := waitTerm{Term: t}
	switch {
	case t.Kind == depend.AfterBB:
		w.Kind = depend.AfterAny
	case t.Kind == depend.AfterCorr && (j.Whole == nil || on.Whole == nil || t.Task >= 0):
		w.Kind = depend.AfterOK // there are no tasks that correspond
	case t.Kind == depend.AfterCorr:
		w.byTask = on
	}
	w.settle(on)
	return w
}

// changed settles what waits for j, which has started or ended, or of which a task has.
func (ds *dependencies) changed(j *job) {
	if j.State.Ended() {
		ds.lookAt(ds.names.leave(j.ID))
		ds.workflows.ended(j.ID)
	}
	all := ds.waits[j.ID]
	if len(all) == 0 {
		return
	}
	for _, w := range all {
		w.job.hinder().depends.settle(w.term, j)
		ds.queue.look(w.job)
	}
	if j.State.Ended() {
		delete(ds.waits, j.ID)
	}
	ds.agenda.plan = true
}

// foresee notes whether a job that waits can never start, as things stand, since what it depends on can never be met. Those that wait for it cannot either. It reports whether
// that has changed.
func (ds *dependencies) foresee(j *job, never bool) bool {
	if j.hopeless == never {
		return false
	}
	j.hinder().hopeless = never
	ds.changed(j)
	return true
}

// lookAt has a job looked at that comes first among its namesakes now, which it may have waited for.
func (ds *dependencies) lookAt(first federation.JobID) {
	if j := ds.jobs.Of(first); j != nil && j.depends.names != nil {
		ds.queue.look(j)
		ds.agenda.plan = true
	}
}

// findNamesakes looks for the jobs that new singletons wait for.
func (ds *dependencies) findNamesakes() {
	for _, id := range ds.names.find(&ds.jobs.Map) {
		ds.lookAt(id)
	}
}

// anew forgets what j waits for, and registers what its Spec says now.
func (ds *dependencies) anew(j *job) {
	for i := range j.depends.terms {
		id := j.depends.terms[i].Job
		if ds.waits[id] = slices.DeleteFunc(ds.waits[id], func(w waiting) bool { return w.job == j }); len(ds.waits[id]) == 0 {
			delete(ds.waits, id)
		}
	}
	j.hinder().depends = dependency{}
	if err := ds.add(context.Background(), j); err != nil {
		ds.log.Error("take over a new dependency", "job", j.ID, "err", err)
	}
}
