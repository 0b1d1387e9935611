package sim

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"fsub/federation"
	"fsub/federation/health"
	"fsub/testbed/simsite"
)

// What must never happen, and is checked after every round: two live copies of a job. At the end: a job that was
// acknowledged and did not run, or ran twice without its record saying why.

// checkStep looks for two live copies of a job, and counts the jobs that have ended in the books.
func (w *world) checkStep(ctx context.Context) error {
	alive := map[federation.JobID]string{}
	for _, s := range w.sites {
		for _, r := range s.Active() {
			id := w.jobOf(&r)
			if w.cfg.Crowd != nil && r.Key == "" { // not one of ours
				continue
			}
			if other, twice := alive[id]; twice && r.Array == 0 {
				return fmt.Errorf("job %d runs twice at once: %s and %s %s", id, other, s.Name(), r.Key)
			}
			alive[id] = s.Name() + " " + r.Key
		}
	}
	if w.cfg.Caps != nil {
		if err := w.checkCaps(); err != nil {
			return err
		}
	}
	if len(w.limits) > 0 {
		if err := w.checkLimits(ctx); err != nil {
			return err
		}
	}
	if w.report.Rounds%8 != 0 || len(w.acked) < w.cfg.Jobs && w.report.Rounds%64 != 0 { // it reads all jobs
		return nil
	}
	live, err := w.store.Jobs(ctx, federation.JobQuery{Live: true})
	if err != nil {
		return err
	}
	w.ended = len(w.acked)
	for i := range live {
		if live[i].Part == nil { // its array is not among them without it
			w.ended--
		}
	}
	return nil
}

// checkAll compares the books with what really ran.
func (w *world) checkAll(ctx context.Context) error {
	if err := w.checkPreemption(ctx); err != nil {
		return err
	}
	if err := w.checkMoves(ctx); err != nil {
		return err
	}
	for _, id := range w.acked {
		j, err := w.store.Job(ctx, id)
		if err != nil {
			return fmt.Errorf("job %d was acknowledged and is not in the books: %w", id, err)
		}
		check := w.checkJob
		if j.Whole != nil {
			check = w.checkArray
		}
		if err := check(ctx, &j); err != nil {
			return err
		}
	}
	return w.checkCharges(ctx)
}

func (w *world) checkJob(ctx context.Context, j *federation.Job) error {
	byKey := map[string]int{}
	runs, finished := 0, 0
	for _, s := range w.sites {
		for _, r := range w.runsOf(s, j) {
			runs++
			byKey[r.Key]++
			if r.Outcome == simsite.RunCompleted {
				finished++
			}
		}
	}
	w.report.Runs += runs
	w.report.Reruns += max(runs-1, 0)
	attempts, err := w.store.Attempts(ctx, j.ID)
	if err != nil {
		return err
	}
	last := &attempts[len(attempts)-1]
	switch {
	case j.State == federation.Completed:
		w.report.Completed++
		if finished == 0 {
			return w.wrong(ctx, j, "is COMPLETED and never ran to its end")
		}
	case j.State == federation.NodeFail && j.Spec.Requeue != nil && runs > 0 && siteFailed(last):
		// It may not be requeued and its controller lost it, or lost its end: the record says so.
	case j.State == federation.Preempted && j.Spec.Requeue != nil && w.asked[j.ID] > 0:
		// It may not be requeued, and had to make room.
	default:
		return w.wrong(ctx, j, "should have completed")
	}
	for i := range attempts {
		if err := w.checkAttempt(ctx, j, &attempts[i], &attempts[i] == last, byKey[attempts[i].Key]); err != nil {
			return err
		}
		if attempts[i].Code == health.CodeMoved {
			w.report.Moved++
		}
		delete(byKey, attempts[i].Key)
	}
	if len(byKey) > 0 {
		return w.wrong(ctx, j, fmt.Sprintf("ran under keys that are not in the books: %v", byKey))
	}
	return nil
}

// jobOf is the job of a run: where sites give their own numbers it is in the key ("fsub:sim:ID.NUMBER.TIME").
func (w *world) jobOf(r *simsite.Run) federation.JobID {
	if !w.cfg.Mapped {
		return federation.JobID(r.JobID)
	}
	rest := strings.TrimPrefix(r.Key, "fsub:sim:")
	text, _, _ := strings.Cut(rest, ".")
	id, _ := strconv.ParseUint(text, 10, 32)
	return federation.JobID(id)
}

func (w *world) runsOf(s *simsite.Site, j *federation.Job) []simsite.Run {
	switch {
	case j.Whole != nil && j.Whole.Spread:
		return nil // its number is that of its last task
	case !w.cfg.Mapped:
		return s.Runs(uint32(j.Number()))
	}
	var out []simsite.Run
	s.EachRun(func(r simsite.Run) bool {
		if w.jobOf(&r) == j.ID {
			out = append(out, r)
		}
		return true
	})
	return out
}

// checkAttempt compares one attempt with how often it ran. An attempt that is not the last may have run only if its record says
// that its site lost or failed it. One that ran again, without a requeue on record, is its killed controller's doing: it had saved neither
// the job nor the start, and nobody had looked before. Without kills that cannot be.
func (w *world) checkAttempt(ctx context.Context, j *federation.Job, a *federation.Attempt, last bool, runs int) error {
	if runs > 0 && !last && !siteFailed(a) && !w.stopped(a) {
		return w.wrong(ctx, j, fmt.Sprintf("attempt %d ran, is %s, and was followed by another", a.Number, a.State))
	}
	again := runs - 1 - j.Restarts
	if again <= 0 {
		return nil
	}
	if w.report.Kills == 0 {
		return w.wrong(ctx, j, fmt.Sprintf("ran %d times although no controller was killed", runs))
	}
	w.report.SiteReruns += again
	return nil
}

// siteFailed reports whether an attempt's record says that a site's controller lost the job or gave its nodes up.
func siteFailed(a *federation.Attempt) bool {
	return a.State == federation.AttemptForgotten || a.State == federation.AttemptEnded && a.Final == federation.NodeFail
}

// wrong describes a job that breaks a rule, with its whole record.
func (w *world) wrong(ctx context.Context, j *federation.Job, what string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "job %d (%s %s, restarts %d, site %s) %s", j.ID, j.State, j.Reason, j.Restarts, j.Site, what)
	attempts, _ := w.store.Attempts(ctx, j.ID)
	for _, a := range attempts {
		fmt.Fprintf(&b, "\n  attempt %d at %s: %s %s, tries %d, created %s: %s", a.Number, a.Site, a.State, a.Final, a.Tries, a.Created.Format("15:04:05.000"), a.Note)
	}
	events, _ := w.store.Events(ctx, j.ID)
	for _, e := range events {
		fmt.Fprintf(&b, "\n  %s %s", e.At.Format("15:04:05.000"), e.Text)
	}
	for _, s := range w.sites {
		for _, r := range w.runsOf(s, j) {
			fmt.Fprintf(&b, "\n  run at %s %s: %s to %s %s", s.Name(), r.Key, r.Start.Format("15:04:05.000"), r.End.Format("15:04:05.000"), r.Outcome)
		}
	}
	return errors.New(b.String())
}

// unfinished describes the first few jobs that have not ended.
func (w *world) unfinished(ctx context.Context) error {
	live, err := w.store.Jobs(ctx, federation.JobQuery{Live: true, Limit: 3})
	if err != nil {
		return err
	}
	var errs []error
	for i := range live {
		errs = append(errs, w.wrong(ctx, &live[i], "has not ended"))
	}
	return errors.Join(errs...)
}
