package controller

import (
	"context"
	"time"

	"fsub/federation"
	"fsub/federation/decision"
	"fsub/federation/depend"
	"fsub/federation/place"
)

// triedID is the number of a job that is only tried: no other has it.
const triedID = federation.LastJobID + 1

// Try tells when and where j would start if it were submitted now: in its turn among the jobs of the queue, within the limits and budgets of the account tree, and not before what it
// depends on is over. It fails as Judge does. Where the controller is busy for too long it is told of j alone, by the sites as published.
func (v *View) Try(ctx context.Context, j *federation.Job) (t decision.Trial, err error) {
	if err := v.Judge(j); err != nil {
		return decision.Trial{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, waitsIn)
	defer cancel()
	to := make(chan *decision.Trial, 1)
	if v.afterRound(ctx, func(now *forecasts) { to <- now.tried(j) }) == nil {
		if t := <-to; t != nil {
			return *t, nil
		}
	}
	err = v.ask(v.shown.Load(), func(w *place.World) { t = w.Try(asTask(j), v.runs.expected(j)) })
	return t, err
}

// tried is Try by what the controller knows now; nil if placement fails.
func (fc *forecasts) tried(j *federation.Job) *decision.Trial {
	now := fc.now().UTC()
	task := *asTask(j)
	task.ID = triedID
	if task.Submit.IsZero() {
		task.Submit = now
	}
	var t decision.Trial
	if fault := fc.queue.world.Guard(func() {
		if fc.queue.world.Len() == 0 { // no plan was made lately
			fc.queue.world.SetTime(now)
		}
		t = fc.queue.world.TryQueued(place.Waiting{Job: &task, Expected: fc.runs.expected(&task)})
	}); fault != nil {
		fc.faults.tell(fault)
		return nil
	}
	fc.queue.left(triedID)
	fc.queue.told.Correct(&t, now)
	if len(t.Decision.Offers) == 0 {
		return &t
	}
	if fc.limits.book != nil {
		w := fc.limits.wants(&task, t.Decision.Offers[0])
		t.Waits = fc.limits.book.Holdback(now, &w, fc.endsBy)
	}
	if t.Waits == nil && j.Spec.Dependency != "" {
		fc.tryDependency(&task, &t, now)
	}
	if t.Waits != nil || t.Unknown {
		t.Start, t.Within = time.Time{}, time.Time{}
	}
	return &t
}

// tryDependency has a trial start when what the job depends on is over.
func (fc *forecasts) tryDependency(task *federation.Job, t *decision.Trial, now time.Time) {
	parsed, err := depend.Parse(task.Spec.Dependency)
	if err != nil { // Judge has read it
		return
	}
	j := newJob(*task)
	d := &j.hinder().depends
	d.any, d.job = parsed.Any, j.ID
	for _, term := range parsed.Terms {
		if on := fc.jobs.Of(term.Job); on != nil {
			d.add(termOf(j, term, on))
		} else if term.Kind == depend.Singleton {
			t.Unknown = true // it waits for its namesakes
			return
		}
	}
	f := &foretelling{forecasts: fc, all: fc.starts(), now: now, ends: map[federation.JobID]happens{}, looks: mostForetold}
	at, known := f.free(j)
	if t.Unknown = !known; known {
		at = at.after(spanOf(&decision.Start{At: t.Start, Within: t.Within}))
		t.Start, t.Within = at.p50.Truncate(time.Second), at.p90.Truncate(time.Second)
	}
}
