package controller

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"fsub/federation"
	"fsub/federation/fragment"
	"fsub/federation/health"
	"fsub/federation/lifecycle"
	"fsub/federation/reasons"
)

// life is what becomes of jobs: they are taken up, go back to the queue, and end.
type life struct {
	now        func() time.Time
	t          Timing
	log        *slog.Logger
	store      Store
	metrics    *metrics
	sites      *roster
	jobs       *jobTable
	batch      *pendingBatch
	agenda     *agenda
	limits     *limits
	queue      *queue
	arrays     *arrays
	depends    *dependencies
	components *components
	charges    *charges
	rules      lifecycle.Rules
	judge      func(*federation.Job) error // why no site can ever run a job
	runs       *runTimes
	asked      *fragment.Asked
}

// addJob takes up a job that the store has. It is in the queue only after queue.add.
func (l *life) addJob(ctx context.Context, stored federation.Job) (*job, error) {
	j := newJob(stored)
	if j.Spec.Array != "" && j.Whole == nil {
		j.Whole = wholeOf(j.Spec.Array)
	}
	if j.Whole != nil {
		l.arrays.add(j)
	}
	if err := l.depends.add(ctx, j); err != nil {
		return nil, fmt.Errorf("job %d: %w", j.ID, err)
	}
	l.jobs.Set(j.ID, j)
	l.noteSize(j)
	if j.Component != nil {
		l.components.link(j)
	}
	return j, nil
}

// noteSize counts what a new job asks for. An array asks for what each of its tasks does; those that have become jobs are counted with it.
func (l *life) noteSize(j *job) {
	switch size := j.Needs().Size(0); {
	case j.Part != nil:
	case j.Whole != nil:
		l.asked.Add(j.Submit, size.GPUs(), j.Whole.Count)
	default:
		l.asked.Add(j.Submit, size.GPUs(), 1)
	}
}

// end makes a job's state final.
func (l *life) end(j *job, state federation.State, reason reasons.Reason, at time.Time) {
	if j.pack != nil {
		l.endPack(j, state, reason, at)
		return
	}
	j.State, j.Reason, j.Held, j.Holder = state, reason, federation.NotHeld, nil
	j.End = at.UTC()
	if j.End.IsZero() {
		j.End = l.now().UTC()
	}
	l.batch.job(j)
	l.jobs.Delete(j.ID)
	l.jobs.ended[j.ID] = j
	l.queue.drop(j)
	l.queue.told.Forget(j.ID)
	l.runs.outlasted.Delete(j.ID)
	l.arrays.ended(j)
	for _, k := range l.components.endWith(j, j.End) {
		l.end(k, j.State, j.Reason, j.End)
	}
	l.depends.changed(j)
	if j.array != nil {
		l.taskChanged(j)
	}
	l.agenda.plan = true
	l.metrics.ended(state)
	l.log.Info("job ended", "job", j.ID, "state", state, "site", j.Site, "cost", j.Cost.Dollars())
}

// requeue puts a job back into the federation's queue after an attempt that did not run it to its end.
func (l *life) requeue(j *job, reason reasons.Reason) {
	j.State, j.Reason = federation.Pending, reason
	j.Start, j.End, j.Pause, j.Nodes = time.Time{}, time.Time{}, nil, ""
	j.Site, j.Partition = "", ""
	if j.att != nil {
		j.try().over()
	}
	l.batch.job(j)
	l.components.follow(j)
	if j.whole != nil {
		l.arrayBack(j)
		return
	}
	l.queue.add(j)
	l.agenda.plan = true
	if j.array != nil {
		l.taskChanged(j)
	}
}

// finishAttempt ends the job's live attempt, whatever happens to the job.
func (l *life) finishAttempt(j *job, to federation.AttemptState, note string) {
	a := j.att
	if to != federation.AttemptEnded {
		l.charges.lost(j)
	}
	if err := a.Move(to); err != nil {
		l.log.Error("attempt", "err", err)
		a.State = to
	}
	a.Note = note
	l.limits.unreserve(j)
	if a.Ended.IsZero() {
		a.Ended = l.now().UTC()
	}
	if s := l.sites.byName[a.Site]; s != nil {
		delete(s.jobs, j.ID)
		l.queue.world.Release(s.Name, j.ID)
		s.observeSoon(l.now().Add(l.t.Observe / 10))
	}
	if !a.SiteSubmit.IsZero() {
		j.try().older = append(j.older, a.SiteSubmit)
	}
	l.batch.attempt(a)
}

// refused ends the job's live attempt, which its site did not take.
func (l *life) refused(j *job, err error) {
	l.finishAttempt(j, federation.AttemptRefused, err.Error())
	j.att.Class, j.att.Code = federation.ClassCapacity, health.CodeCapacity
}

// lose gives up the job's live attempt, of which its site says no more: if it had started the requeue rules decide, else the job goes back to the queue.
func (l *life) lose(j *job, started bool, code federation.FailureCode, note string) {
	if j.pack != nil {
		l.losePack(j, code, note)
		return
	}
	j.att.Class, j.att.Code = federation.ClassSite, code
	l.finishAttempt(j, federation.AttemptForgotten, note)
	l.batch.eventf(j, "%s", note)
	if !started {
		l.backToQueue(j, reasons.Forgotten)
		return
	}
	l.siteFailure(j, federation.NodeFail, reasons.Forgotten)
}

// backToQueue returns a job to the queue, or ends it if it was to be cancelled.
func (l *life) backToQueue(j *job, reason reasons.Reason) {
	if j.pack != nil {
		l.packBack(j, reason)
		return
	}
	if j.Cancel {
		l.end(j, federation.Cancelled, reasons.None, l.now())
		return
	}
	l.requeue(j, reason)
}

// siteFailure follows the requeue rules after a failure that is not the job's own: again if it may be requeued,
// else it ends.
func (l *life) siteFailure(j *job, state federation.State, reason reasons.Reason) {
	out := l.rules.AfterFailure(&j.Job, state, func() ([]federation.Attempt, error) { return l.store.Attempts(context.Background(), j.ID) })
	if out.Why != "" {
		l.batch.eventf(j, "%s", out.Why)
	}
	if out.Next != lifecycle.Again {
		if !l.retry(j, out.State) {
			l.end(j, out.State, reason, l.now())
		}
		return
	}
	j.Restarts++
	l.requeue(j, reason)
}

// retry puts a job back into the queue that has ended badly, if it says that it is to be run again then. It reports whether it did.
func (l *life) retry(j *job, state federation.State) bool {
	if j.Spec.Retries() == nil || j.whole != nil || j.Component != nil || len(j.Spec.Het) > 0 {
		return false
	}
	r := lifecycle.RetryAfter(&j.Job, state, j.ExitStatus, func() ([]federation.Attempt, error) { return l.store.Attempts(context.Background(), j.ID) })
	if r.Again && r.Grows {
		larger, spec := j.Job, r.Spec
		spec.Dependency = "" // it was met
		larger.SetSpec(spec)
		if err := l.judge(&larger); err != nil {
			r.Again = false
			r.Why = fmt.Sprintf("not run again: %s, with which it could never run: %v", r.Why, err)
		}
	}
	if r.Why != "" {
		l.batch.eventf(j, "%s", r.Why)
	}
	if !r.Again {
		return false
	}
	if r.Grows {
		j.SetSpec(r.Spec)
		l.batch.spec(j)
	}
	l.runs.outlasts(j.ID, j.att)
	if s := l.sites.byName[j.att.Site]; s != nil && s.remembersIDs() {
		j.avoid(j.att, l.now().Add(l.t.MinJobAge), l.now())
	}
	j.ExitStatus = 0
	j.Restarts++
	l.requeue(j, reasons.BeginTime)
	return true
}
