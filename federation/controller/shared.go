package controller

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"fsub/federation"
	"fsub/federation/jobmap"
	"fsub/sbatch"
)

// shared is what all parts of the controller work on: the live jobs, the sites, what the round writes, and what
// sites are asked after that.
type shared struct {
	cfg     Config
	t       Timing
	log     *slog.Logger
	now     func() time.Time
	store   federation.Store
	metrics *metrics

	sites  []*site // by name
	byName map[federation.SiteName]*site
	jobs   jobmap.Map[*job]          // every job that has not ended
	ended  map[federation.JobID]*job // those of which the store does not know it yet

	seizing seizing // see preempts

	asides *aside

	upkeep    upkeep
	batch     *pendingBatch
	calls     *calls
	planDirty bool      // there is a cause to plan
	lastRead  time.Time // of the store; zero: at once
}

func newShared(cfg Config) *shared {
	s := &shared{cfg: cfg, t: cfg.Timing.withDefaults(), log: cfg.Logger, now: cfg.Now, store: cfg.Store, metrics: newMetrics(cfg.Registerer),
		byName: map[federation.SiteName]*site{}, ended: map[federation.JobID]*job{}, batch: newPendingBatch(), asides: newAside(), planDirty: true, seizing: newSeizing()}
	s.calls = newCalls(cfg.Inline, s.t.Call, s.log, s.metrics, func(id federation.JobID) (uid uint32) {
		if j := s.jobs.Of(id); j != nil {
			uid = j.UID
		}
		return uid
	})
	return s
}

// event adds a line to the job's history.
func (c *shared) event(j *job, format string, args ...any) {
	n := 0
	if j.att != nil {
		n = j.att.Number
	}
	c.batch.event(federation.Event{Job: j.ID, Attempt: n, At: c.now().UTC(), Text: fmt.Sprintf(format, args...)})
}

// backoff is how long to leave a site alone after so many failures in a row.
func (c *shared) backoff(fails int) time.Duration {
	d := c.t.Retry
	for i := 1; i < fails && d < c.t.RetryMax; i++ {
		d *= 2
	}
	return min(d, c.t.RetryMax)
}

// staged reports whether the files of a job at s have to be carried there and back.
func (c *shared) staged(s *site, j *federation.Job) bool {
	return c.cfg.Stager != nil && !s.Sees(j.Spec.WorkDir)
}

// move changes the attempt's state; a move that is not allowed is a defect and is logged.
func (c *shared) move(j *job, to federation.AttemptState) {
	if err := j.att.Move(to); err != nil {
		c.log.Error("attempt", "err", err)
		return
	}
	c.batch.attempt(j.att)
}

// actAtSite asks the site of a live attempt for one of the simple actions.
func (c *shared) actAtSite(j *job, what string, do func(federation.Driver, context.Context, federation.JobRef) error) {
	if !j.live() || c.byName[j.att.Site] == nil {
		return
	}
	id, ref, s := j.ID, j.Ref(j.att), c.byName[j.att.Site]
	d := s.driver
	c.calls.add(s, acted{job: id, what: what}, func(ctx context.Context) any {
		return acted{job: id, what: what, err: do(d, ctx, ref)}
	})
}

// takeSuspension takes in whether a job that has started is suspended, and says what that costs.
func (c *shared) takeSuspension(s *site, j *job, sj *federation.SiteJob) {
	j.SetSuspension(sj.Suspension)
	j.rent = sj.PricePerHour
	is, was := sj.State == federation.Suspended, j.State == federation.Suspended
	switch {
	case is && !was && sj.PricePerHour > 0:
		c.event(j, "suspended at %s; its nodes stay its own, and go on costing %s an hour", s.Name, sj.PricePerHour.Rate())
	case is && !was:
		c.event(j, "suspended at %s", s.Name)
	case was && sj.State == federation.Running:
		c.event(j, "resumed at %s", s.Name)
	}
}

// setArray replaces what is left of an array.
func (j *job) setArray(array string) {
	j.EditSpec(func(spec *sbatch.Spec) { spec.Array = array })
}
