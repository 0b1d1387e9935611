// Package measure reads, once for each job that has ended, what its site's accounting measured: steps, CPU time, memory. sacct shows
// it. It is not a part of the controller: nothing is decided by it, and it may lag.
//
// [Collector.Round] asks each site with one call for up to a hundred jobs. A site writes its accounting a little later than
// it ends a job, so a job of which the accounting does not say yet that it has ended is asked for again, less and less often, and
// given up after an hour: then nothing is stored of it, for good.
package measure

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"fsub/federation"
	"fsub/federation/driver"
	"fsub/federation/usage"
)

// Store is what a Collector reads of jobs, and where it writes what they used.
type Store interface {
	usage.Store
	Jobs(ctx context.Context, q federation.JobQuery) ([]federation.Job, error)
	Attempts(ctx context.Context, id federation.JobID) ([]federation.Attempt, error)
}

// Config is what a Collector is made of. All but Now is required.
type Config struct {
	Store  Store
	Site   func(federation.SiteName) driver.Measurer // nil: its accounting is not read
	Logger *slog.Logger
	Now    func() time.Time // nil: time.Now
}

// Collector fetches. One goroutine may use it.
type Collector struct {
	Config
	tried map[federation.JobID]attempt
}

// attempt says when a job was last asked for in vain, and when it is next.
type attempt struct {
	next time.Time
	wait time.Duration
}

const (
	period  = 5 * time.Second
	atOnce  = 100       // jobs in one round
	inSight = 10000     // jobs that may wait for their accounting
	patient = time.Hour // how long after its end a job is asked for
	longest = 5 * time.Minute
)

// New makes a Collector.
func New(c Config) *Collector {
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Collector{Config: c, tried: map[federation.JobID]attempt{}}
}

// Run makes a round every few seconds until ctx ends.
func (c *Collector) Run(ctx context.Context) error {
	t := time.NewTicker(period)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-t.C:
			if err := c.Round(ctx); err != nil && ctx.Err() == nil {
				c.Logger.Warn("usage of ended jobs not read", "err", err)
			}
		}
	}
}

// Round asks for the jobs that have ended and are due. A site that does not answer is not an error: its jobs are asked for again.
func (c *Collector) Round(ctx context.Context) error {
	now := c.Now()
	due, err := c.due(ctx, now)
	if err != nil || len(due) == 0 {
		return err
	}
	jobs, err := c.Store.Jobs(ctx, federation.JobQuery{IDs: due})
	if err != nil {
		return err
	}
	bySite := map[federation.SiteName][]federation.JobRef{}
	found := map[federation.JobID][]usage.Usage{}
	for i := range jobs {
		ref, packed, err := c.ref(ctx, &jobs[i])
		if err != nil {
			return err
		}
		if packed { // the site knows what all tasks of the job used together, and of none by itself
			found[jobs[i].ID] = nil
			continue
		}
		bySite[jobs[i].Site] = append(bySite[jobs[i].Site], ref)
	}
	for site, refs := range bySite {
		m := c.Site(site)
		if m == nil {
			continue
		}
		some, err := m.Measured(ctx, refs)
		if err != nil {
			c.Logger.Debug("usage of ended jobs not read", "site", site, "err", err)
		}
		for id, list := range some {
			found[id] = list
		}
	}
	return c.keep(ctx, jobs, found, now)
}

// due are the jobs to ask for now. It forgets the tries of jobs that need no more.
func (c *Collector) due(ctx context.Context, now time.Time) ([]federation.JobID, error) {
	ids, err := c.Store.Unmeasured(ctx, now.Add(-2*patient), inSight)
	if err != nil {
		return nil, err
	}
	tried := make(map[federation.JobID]attempt, len(c.tried))
	var due []federation.JobID
	for _, id := range ids {
		t, ok := c.tried[id]
		if ok {
			tried[id] = t
		}
		if len(due) < atOnce && !t.next.After(now) {
			due = append(due, id)
		}
	}
	c.tried = tried
	return due, nil
}

// ref is how the job's site knows it. packed: it is one of several tasks that have shared a job there.
func (c *Collector) ref(ctx context.Context, j *federation.Job) (ref federation.JobRef, packed bool, err error) {
	attempts, err := c.Store.Attempts(ctx, j.ID)
	for i := range attempts {
		if attempts[i].Number == j.Attempt {
			return j.Ref(&attempts[i]), attempts[i].Decision.Pack != nil, nil
		}
	}
	return federation.JobRef{ID: j.ID}, false, err
}

// keep stores what was found, and nothing of a job that ended too long ago.
func (c *Collector) keep(ctx context.Context, jobs []federation.Job, found map[federation.JobID][]usage.Usage, now time.Time) error {
	for i := range jobs {
		j := &jobs[i]
		list, ok := found[j.ID]
		if !ok && now.Sub(j.End) < patient {
			wait := min(max(2*c.tried[j.ID].wait, period), longest)
			c.tried[j.ID] = attempt{now.Add(wait), wait}
			continue
		}
		delete(c.tried, j.ID)
		if err := c.Store.PutUsage(ctx, j.ID, list); err != nil && !errors.Is(err, federation.ErrNotFound) { // purged meanwhile
			return err
		}
	}
	return nil
}
