package controller

import (
	"context"
	"fmt"
	"time"

	"fsub/federation"
)

// strays are jobs at sites that are not where the records say: attempts that were given up and turned up after
// all. They are cancelled, so that no two copies live. What the records do not know at all is left alone.
type strays struct {
	*shared
	known  map[strayKey]bool // told of already
	failed []strayCopy       // to be cancelled again
}

func newStrays(c *shared) *strays { return &strays{shared: c, known: map[strayKey]bool{}} }

// strayKey names a job at a site that should not be there.
type strayKey struct {
	site federation.SiteName
	job  federation.JobID
}

// strayCopy is a job at a site that should not be there and whose cancellation has failed.
type strayCopy struct {
	site  *site
	job   federation.SiteJob
	retry time.Time
}

// cancelAgain repeats the cancellations that have failed.
func (c *strays) cancelAgain() {
	copies := c.failed
	c.failed = nil
	for _, k := range copies {
		if c.now().Before(k.retry) {
			c.failed = append(c.failed, k)
			continue
		}
		c.check(k.site, k.job)
	}
}

// check deals with a job at a site that should not be there.
func (c *strays) check(s *site, sj federation.SiteJob) {
	k := strayKey{s.Name, sj.ID}
	if sj.State.Ended() || sj.FromAccounting {
		delete(c.known, k)
		return
	}
	if _, ours := federation.CutKey(sj.Key, c.cfg.Federation); !ours {
		if !c.known[k] {
			c.known[k] = true
			c.log.Warn("a job with an ID of ours that is not ours", "job", sj.ID, "site", s.Name, "key", sj.Key)
		}
		return
	}
	id, key, d := sj.ID, sj.Key, s.driver
	kind := acted{job: id, what: "cancel stray", copy: &sj}
	c.calls.add(s, kind, func(ctx context.Context) any {
		r := kind
		var attempts []federation.Attempt
		if attempts, r.err = c.store.Attempts(ctx, id); r.err != nil {
			return r
		}
		for _, a := range attempts {
			if a.Key == key && a.State.Final() {
				c.log.Warn("cancel a copy of a job that was given up", "job", id, "site", s.Name, "attempt", a.Number)
				if a.State == federation.AttemptEnded {
					r.over = a.Ended
				}
				r.stray, r.err = a.Number, d.Cancel(ctx, federation.JobRef{ID: id, Number: federation.JobID(sj.SiteJobID), Key: key, SiteJobID: sj.SiteJobID, Submitted: a.Created}, nil)
			}
		}
		return r
	})
}

// note adds to a job's history, once, that a copy of it was cancelled: its controller has forgotten its end, or
// took an attempt after it was given up.
func (c *strays) note(s *site, r acted) {
	k := strayKey{s.Name, r.job}
	if r.stray == 0 || c.known[k] {
		return
	}
	c.known[k] = true
	if !r.over.IsZero() && c.now().Sub(r.over) > sinceSaved {
		c.wentBack(s, "it shows job %s as alive, of which it had told the end at %s", r.job, r.over.UTC().Format(time.RFC3339))
	}
	c.batch.event(federation.Event{
		Job: r.job, Attempt: r.stray, At: c.now().UTC(), Text: fmt.Sprintf("a copy of it turned up at %s after the attempt was over: cancelled", s.Name),
	})
}
