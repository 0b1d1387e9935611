package controller

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"fsub/accounting/egress"
	"fsub/federation"
	"fsub/federation/reasons"
)

// stageOut brings results back from sites that do not see the jobs' directories. A job ends only when they are
// there: whoever waits for the end reads them next.
type stageOut struct {
	now    func() time.Time
	t      Timing
	log    *slog.Logger
	stager federation.Stager // nil: there is none
	sites  *roster
	jobs   *jobTable
	batch  *pendingBatch
	calls  *calls
	moved  func(s *site, j *job, sj *federation.SiteJob, bytes int64) // charges for results
	byKey  map[string]*results                                        // of the attempt
}

// results are those of an attempt that are on the way.
type results struct {
	ended *federation.SiteJob // how the attempt ended
	until time.Time           // when to give up
	again time.Time           // when to try again
	busy  bool
	tries int
	done  bool // they are there, or given up
	lost  bool // the script was not started: no copy of what it keeps is whole
	bytes int64
}

// begin reports whether the results of j are still on the way, and sets them going. lost says of one whose results are there that it was not started: no copy
// of what it keeps is whole.
func (so *stageOut) begin(s *site, j *job, sj federation.SiteJob) (waits, lost bool) {
	if !carries(so.stager, s, &j.Job) || sj.Start.IsZero() {
		return false, false
	}
	h := so.of(j)
	if h.done {
		so.moved(s, j, &sj, h.bytes)
		delete(so.byKey, j.att.Key)
		return false, h.lost
	}
	if h.ended == nil {
		h.ended, h.until = &sj, so.now().Add(homeFor)
		j.State, j.Reason, j.Start = federation.Completing, reasons.None, sj.Start
		so.batch.advance(j, federation.AttemptStarted)
		so.batch.job(j)
		so.collect(s, j, h)
	}
	return true, false
}

func (so *stageOut) of(j *job) *results {
	h := so.byKey[j.att.Key]
	if h == nil {
		h = &results{}
		so.byKey[j.att.Key] = h
	}
	return h
}

// requeued forgets the end of a job that its site has run once more after it.
func (so *stageOut) requeued(j *job, sj federation.SiteJob) {
	if !sj.State.Ended() {
		delete(so.byKey, j.att.Key)
	}
}

// collect has results fetched.
func (so *stageOut) collect(s *site, j *job, h *results) {
	h.busy = true
	h.tries++
	copied, attempt, ended := j.Job, *j.att, *h.ended
	kind := collected{job: j.ID, attempt: attempt.Number}
	so.calls.decided = append(so.calls.decided, call{site: s, kind: kind, limit: stageTime, run: func(ctx context.Context) any {
		r := kind
		if len(copied.Spec.Keeps()) > 0 {
			r.kept, r.err = so.stager.Kept(ctx, &attempt)
		}
		if r.err == nil {
			r.notes, r.bytes, r.err = so.stager.Collect(ctx, &copied, &attempt, ended)
		}
		return r
	}})
}

// again repeats what failed.
func (so *stageOut) again() {
	for _, s := range so.sites.all {
		for _, j := range s.jobs {
			if h := so.byKey[j.att.Key]; h != nil && h.ended != nil && !h.busy && !h.done && !so.now().Before(h.again) {
				so.collect(s, j, h)
			}
		}
	}
}

// take takes in whether the results of a job are there. If they are, or were given up, it returns the job and how it ended; else it tries again.
func (so *stageOut) take(s *site, r collected) (*job, *federation.SiteJob) {
	j := so.jobs.Of(r.job)
	if j == nil || j.att == nil || j.att.Number != r.attempt || so.byKey[j.att.Key] == nil {
		return nil, nil
	}
	h := so.byKey[j.att.Key]
	h.busy = false
	h.lost = errors.Is(r.err, egress.ErrDamaged)
	lasting := h.lost || errors.Is(r.err, federation.ErrInvalid) || errors.Is(r.err, federation.ErrDenied)
	if r.err != nil && !lasting && so.now().Before(h.until) {
		h.again = so.now().Add(so.t.backoff(h.tries))
		so.log.Warn("results are not here yet", "job", j.ID, "site", s.Name, "err", r.err)
		if h.tries == 1 {
			so.batch.eventf(j, "its results are still at the store, tried again: %v", r.err)
		}
		return nil, nil
	}
	if r.kept != nil {
		j.att.Kept, j.try().kept = r.kept, r.kept
		so.batch.attempt(j.att)
	}
	for _, n := range r.notes {
		so.batch.eventf(j, "%s", n)
	}
	if r.err != nil && !h.lost {
		so.batch.eventf(j, "its results could not all be brought home: %v", r.err)
	}
	h.done, h.bytes = true, r.bytes
	return j, h.ended
}
