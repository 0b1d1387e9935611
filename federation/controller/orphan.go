package controller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"fsub/federation"
)

// orphans are jobs at sites that are not where the records say: attempts that were given up and turned up after
// all. They are cancelled, so that no two copies live. What the records do not know at all is left alone.
type orphans struct {
	federation string
	now        func() time.Time
	t          Timing
	log        *slog.Logger
	metrics    *metrics
	store      Store
	batch      *pendingBatch
	calls      *calls
	known      map[orphanKey]bool // reported already
	failed     []orphanCopy       // to be cancelled again
}

// orphanKey names a job at a site that should not be there.
type orphanKey struct {
	site federation.SiteName
	job  federation.JobID
}

// orphanCopy is a job at a site that should not be there and whose cancellation has failed.
type orphanCopy struct {
	site  *site
	job   federation.SiteJob
	retry time.Time
}

// cancelAgain repeats the cancellations that have failed.
func (os *orphans) cancelAgain() {
	copies := os.failed
	os.failed = nil
	for _, k := range copies {
		if os.now().Before(k.retry) {
			os.failed = append(os.failed, k)
			continue
		}
		os.check(k.site, k.job)
	}
}

// check deals with a job at a site that should not be there.
func (os *orphans) check(s *site, sj federation.SiteJob) {
	k := orphanKey{s.Name, sj.ID}
	if sj.State.Ended() || sj.FromAccounting {
		delete(os.known, k)
		return
	}
	if _, ours := federation.CutKey(sj.Key, os.federation); !ours {
		if !os.known[k] {
			os.known[k] = true
			os.log.Warn("a job with an ID of ours that is not ours", "job", sj.ID, "site", s.Name, "key", sj.Key)
		}
		return
	}
	id, key, d := sj.ID, sj.Key, s.driver
	kind := acted{job: id, what: "cancel orphan", copy: &sj}
	if isPack(key, os.federation) { // all of its tasks have ended, or run elsewhere
		os.calls.add(s, kind, func(ctx context.Context) any {
			r := kind
			os.log.Warn("cancel a job that no task shares any more", "job", id, "site", s.Name)
			r.err = d.Cancel(ctx, federation.JobRef{ID: id, Number: federation.JobID(sj.SiteJobID), Key: key, SiteJobID: sj.SiteJobID, Submitted: sj.Submit}, nil)
			return r
		})
		return
	}
	os.calls.add(s, kind, func(ctx context.Context) any {
		r := kind
		var attempts []federation.Attempt
		if attempts, r.err = os.store.Attempts(ctx, id); r.err != nil {
			if r.gone = errors.Is(r.err, federation.ErrNotFound); r.gone {
				r.err = nil
			}
			return r
		}
		for _, a := range attempts {
			if a.Key == key && a.State.Final() {
				os.log.Warn("cancel a copy of a job that was given up", "job", id, "site", s.Name, "attempt", a.Number)
				if a.State == federation.AttemptEnded {
					r.over = a.Ended
				}
				r.orphan, r.err = a.Number, d.Cancel(ctx, federation.JobRef{ID: id, Number: federation.JobID(sj.SiteJobID), Key: key, SiteJobID: sj.SiteJobID, Submitted: a.Created}, nil)
			}
		}
		return r
	})
}

// take takes in how the cancellation of an orphan went.
func (os *orphans) take(s *site, r acted) {
	switch {
	case r.gone:
		os.lost(s, r.job)
	case r.err == nil:
		os.note(s, r)
	case r.copy != nil: // the site reports it only once
		os.failed = append(os.failed, orphanCopy{s, *r.copy, os.now().Add(os.t.CancelEach)})
	}
}

// lost tells, once, of a job of ours that the store does not have: it was lost when a copy was restored, or when a standby took over. It runs on.
func (os *orphans) lost(s *site, id federation.JobID) {
	k := orphanKey{s.Name, id}
	if os.known[k] {
		return
	}
	os.known[k] = true
	os.log.Error("a job of this federation runs at a site, and the store does not have it: it was lost with a restore or a fail-over. It is left alone: scancel it there, or let it end", "job", id, "site", s.Name)
}

// note adds to a job's history, once, that a copy of it was cancelled: its controller has forgotten its end, or
// took an attempt after it was given up.
func (os *orphans) note(s *site, r acted) {
	k := orphanKey{s.Name, r.job}
	if r.orphan == 0 || os.known[k] {
		return
	}
	os.known[k] = true
	os.metrics.late(s.Name)
	if !r.over.IsZero() && os.now().Sub(r.over) > sinceSaved {
		s.wentBack(os.now(), "it shows job %s as alive, of which it had told the end at %s", r.job, r.over.UTC().Format(time.RFC3339))
	}
	os.batch.event(federation.Event{
		Job: r.job, Attempt: r.orphan, At: os.now().UTC(), Text: fmt.Sprintf("a copy of it turned up at %s after the attempt was over: cancelled", s.Name),
	})
}

// ended notes a second copy of an attempt that the site's driver has cancelled.
func (os *orphans) ended(s *site, j *job, sj federation.SiteJob) {
	os.metrics.late(s.Name)
	text := fmt.Sprintf("a second copy of it arrived late at %s, as %d, and was cancelled before it started", s.Name, sj.SiteJobID)
	if sj.State.Started() {
		text = fmt.Sprintf("a second copy of it arrived late at %s, as %d, and had started: cancelled", s.Name, sj.SiteJobID)
	}
	event := federation.Event{Job: sj.ID, At: os.now().UTC(), Text: text}
	if j != nil {
		event.Attempt = j.Attempt
	}
	os.batch.event(event)
}
