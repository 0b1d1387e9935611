package controller

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"fsub/federation"
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
	byKey  map[string]*results // of the attempt
}

// results are those of an attempt that are on the way.
type results struct {
	ended *federation.SiteJob // how the attempt ended
	until time.Time           // when to give up
	again time.Time           // when to try again
	busy  bool
	tries int
	done  bool // they are there, or given up
}

// begin reports whether the results of j are still on the way, and sets them going.
func (c *stageOut) begin(s *site, j *job, sj federation.SiteJob) bool {
	if !carries(c.stager, s, &j.Job) || sj.Start.IsZero() {
		return false
	}
	h := c.of(j)
	if h.done {
		delete(c.byKey, j.att.Key)
		return false
	}
	if h.ended == nil {
		h.ended, h.until = &sj, c.now().Add(homeFor)
		j.State, j.Reason, j.Start = federation.Completing, federation.ReasonNone, sj.Start
		c.batch.advance(j, federation.AttemptStarted)
		c.batch.job(j)
		c.collect(s, j, h)
	}
	return true
}

func (c *stageOut) of(j *job) *results {
	h := c.byKey[j.att.Key]
	if h == nil {
		h = &results{}
		c.byKey[j.att.Key] = h
	}
	return h
}

// requeued forgets the end of a job that its site has run once more after it.
func (c *stageOut) requeued(j *job, sj federation.SiteJob) {
	if !sj.State.Ended() {
		delete(c.byKey, j.att.Key)
	}
}

// collect has results fetched.
func (c *stageOut) collect(s *site, j *job, h *results) {
	h.busy = true
	h.tries++
	copied, attempt, ended := j.Job, *j.att, *h.ended
	kind := collected{job: j.ID, attempt: attempt.Number}
	c.calls.decided = append(c.calls.decided, call{site: s, kind: kind, limit: stageTime, run: func(ctx context.Context) any {
		r := kind
		r.notes, r.err = c.stager.Collect(ctx, &copied, &attempt, ended)
		return r
	}})
}

// again repeats what failed.
func (c *stageOut) again() {
	for _, s := range c.sites.all {
		for _, j := range s.jobs {
			if h := c.byKey[j.att.Key]; h != nil && h.ended != nil && !h.busy && !h.done && !c.now().Before(h.again) {
				c.collect(s, j, h)
			}
		}
	}
}

// take takes in whether the results of a job are there. If they are, or were given up, it returns the job and how it ended; else it tries again.
func (c *stageOut) take(s *site, r collected) (*job, *federation.SiteJob) {
	j := c.jobs.Of(r.job)
	if j == nil || j.att == nil || j.att.Number != r.attempt || c.byKey[j.att.Key] == nil {
		return nil, nil
	}
	h := c.byKey[j.att.Key]
	h.busy = false
	lasting := errors.Is(r.err, federation.ErrInvalid) || errors.Is(r.err, federation.ErrDenied)
	if r.err != nil && !lasting && c.now().Before(h.until) {
		h.again = c.now().Add(c.t.backoff(h.tries))
		c.log.Warn("results are not here yet", "job", j.ID, "site", s.Name, "err", r.err)
		if h.tries == 1 {
			c.batch.eventf(j, "its results are still at the store, tried again: %v", r.err)
		}
		return nil, nil
	}
	for _, n := range r.notes {
		c.batch.eventf(j, "%s", n)
	}
	if r.err != nil {
		c.batch.eventf(j, "its results could not all be brought home: %v", r.err)
	}
	h.done = true
	return j, h.ended
}
