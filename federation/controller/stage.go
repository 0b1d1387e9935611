package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	"fsub/federation"
	"fsub/federation/place"
)

// How long bringing files to a site, or results home, may take; and for how long results are tried for after the job's end.
const (
	stageTime = time.Hour
	homeFor   = 2 * time.Hour
)

// stageError is a submission that failed before the site was asked: its files could not be brought there.
type stageError struct{ err error }

func (e stageError) Error() string { return e.err.Error() }
func (e stageError) Unwrap() error { return e.err }

// ready reads the payload of a submission and has its files brought to the site.
func (c *Controller) ready(ctx context.Context, s *site, sub *federation.Submission, payloadOf federation.JobID) error {
	payload, err := c.store.Payload(ctx, payloadOf)
	if err != nil {
		return fmt.Errorf("%w: read the script: %w", federation.ErrNotSent, err)
	}
	sub.Payload = payload
	place.Adapt(sub, s.Options)
	if c.cfg.Environment != nil {
		sub.Payload.Environment = c.cfg.Environment(s.Name, sub.Job, sub.Payload.Environment)
	}
	if !c.staged(s, sub.Job) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, stageTime)
	defer cancel()
	prepared, err := c.cfg.Stager.Prepare(ctx, s.Name, *sub)
	if err != nil {
		return stageError{err}
	}
	*sub = prepared
	// That may have taken long. A job that was cancelled meanwhile need not run for the moment until its site hears of it.
	if j, err := c.store.Job(ctx, sub.Job.ID); err == nil && j.Cancel {
		return stageError{errCancelled}
	}
	return nil
}

var errCancelled = errors.New("cancelled while its files were brought to the site")

// stageFailed ends a job whose own words cannot be followed. For any other cause the site is left alone for a while.
func (c *Controller) stageFailed(s *site, j *job, err error) {
	lasting := errors.Is(err, federation.ErrInvalid) || errors.Is(err, federation.ErrDenied)
	if !lasting && !j.Cancel {
		c.refuse(s, j, err, federation.ReasonRefused)
		return
	}
	c.finishAttempt(j, federation.AttemptWithdrawn, err.Error())
	c.event(j, "%v", err)
	if j.Cancel {
		c.end(j, federation.Cancelled, federation.ReasonNone, c.now())
		return
	}
	j.att.Class, j.ExitStatus = federation.ClassUser, 1<<8
	c.end(j, federation.Failed, federation.ReasonLaunchFailure, c.now())
}

// homeward is an attempt of which results are on the way. The job ends only when they are there: whoever waits for the end reads
// them next. Those of an array's tasks come as the tasks end.
type homeward struct {
	ended *federation.SiteJob // how the attempt ended; nil while only tasks of it have
	tasks int                 // how many tasks had ended when they were last fetched
	until time.Time           // when to give up
	again time.Time           // when to try again
	busy  bool
	tries int
	done  bool // they are there, or given up
}

// bringHome reports whether the results of j are still on the way, and sets them going.
func (c *Controller) bringHome(s *site, j *job, sj federation.SiteJob) bool {
	if !c.staged(s, &j.Job) || sj.Start.IsZero() {
		return false
	}
	h := c.homewardOf(j)
	if h.done {
		delete(c.homeward, j.att.Key)
		return false
	}
	if h.ended == nil {
		h.ended, h.until = &sj, c.now().Add(homeFor)
		j.State, j.Reason, j.Start = federation.Completing, federation.ReasonNone, sj.Start
		c.move(j, federation.AttemptStarted)
		c.batch.job(j)
		if !h.busy {
			c.collect(s, j, h, sj)
		}
	}
	return true
}

func (c *Controller) homewardOf(j *job) *homeward {
	h := c.homeward[j.att.Key]
	if h == nil {
		h = &homeward{}
		c.homeward[j.att.Key] = h
	}
	return h
}

// bringTasksHome sets the results of tasks going that have ended before their array. What fails is tried again with the next, or at
// the end.
func (c *Controller) bringTasksHome(s *site, j *job, sj federation.SiteJob) {
	if !c.staged(s, &j.Job) || sj.State.Ended() {
		return
	}
	if h := c.homeward[j.att.Key]; h != nil && h.ended != nil { // its site has requeued it after its end
		delete(c.homeward, j.att.Key)
	}
	ended := sj
	ended.Tasks = nil
	for _, t := range sj.Tasks {
		if t.State.Ended() && !t.Start.IsZero() {
			ended.Tasks = append(ended.Tasks, t)
		}
	}
	if len(ended.Tasks) == 0 {
		return
	}
	if h := c.homewardOf(j); !h.busy && h.tasks != len(ended.Tasks) {
		h.tasks = len(ended.Tasks)
		c.collect(s, j, h, ended)
	}
}

// collect has results fetched.
func (c *Controller) collect(s *site, j *job, h *homeward, ended federation.SiteJob) {
	h.busy = true
	h.tries++
	copied, attempt := j.Job, *j.att
	kind := collected{job: j.ID, attempt: attempt.Number, all: h.ended != nil}
	c.calls.decided = append(c.calls.decided, call{site: s, kind: kind, limit: stageTime, run: func(ctx context.Context) any {
		r := kind
		r.notes, r.err = c.cfg.Stager.Collect(ctx, &copied, &attempt, ended)
		return r
	}})
}

// collectAgain repeats what failed.
func (c *Controller) collectAgain() {
	for _, s := range c.sites {
		for _, j := range s.jobs {
			if h := c.homeward[j.att.Key]; h != nil && h.ended != nil && !h.busy && !h.done && !c.now().Before(h.again) {
				c.collect(s, j, h, *h.ended)
			}
		}
	}
}

// takeCollected ends the job whose results are home, or tries again.
func (c *Controller) takeCollected(s *site, r collected) {
	j := c.jobs[r.job]
	if j == nil || j.att == nil || j.att.Number != r.attempt || c.homeward[j.att.Key] == nil {
		return
	}
	h := c.homeward[j.att.Key]
	h.busy = false
	if !r.all {
		if r.err != nil {
			c.log.Warn("results of tasks are not home yet", "job", j.ID, "site", s.Name, "err", r.err)
		}
		return
	}
	lasting := errors.Is(r.err, federation.ErrInvalid) || errors.Is(r.err, federation.ErrDenied)
	if r.err != nil && !lasting && c.now().Before(h.until) {
		h.again = c.now().Add(c.backoff(h.tries))
		c.log.Warn("results are not home yet", "job", j.ID, "site", s.Name, "err", r.err)
		if h.tries == 1 {
			c.event(j, "its results are still at the store, tried again: %v", r.err)
		}
		return
	}
	for _, n := range r.notes {
		c.event(j, "%s", n)
	}
	if r.err != nil {
		c.event(j, "its results could not all be brought home: %v", r.err)
	}
	h.done = true
	c.endedAtSite(s, j, *h.ended)
}
