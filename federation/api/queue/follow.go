package queue

import (
	"context"
	"time"

	"fsub/federation"
	"fsub/federation/api/answer"
	"fsub/federation/quota"
)

// readsWithin bounds each question to the store of a daemon that follows another, and how long a list waits for what is new: what is in memory is listed then, with its
// age.
const readsWithin = 3 * time.Second

// bounded asks the store something.
func (c *Config) bounded(ctx context.Context, ask func(context.Context) error) error {
	if c.Follows {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, readsWithin)
		defer cancel()
	}
	return ask(ctx)
}

// age has the queue take up what was written before the call, and returns how old it is if it could not: 0 otherwise. Only a daemon that follows another lists
// what is old.
func (q *Queue) age(ctx context.Context) (time.Duration, error) {
	if !q.cfg().Follows {
		return 0, q.refresh(ctx)
	}
	err := error(answer.NoContact)
	if !q.Fails() { // else Follow will notice when the store is back
		err = q.CatchUp(ctx)
	}
	if err == nil || ctx.Err() != nil || !q.Complete() {
		return 0, err
	}
	return q.Lag(), nil
}

// Follow takes up what was written before the call, which may be much. A daemon that follows another calls it again and again.
func (q *Queue) Follow(ctx context.Context) error { return q.refresh(ctx) }

// keepsUp is how often a queue is read that nobody lists.
const keepsUp = time.Second

// KeepUp follows what is written until ctx ends, whether anybody lists it or not: what a plan has changed of a million jobs takes seconds to read, which who lists next would have to
// wait for. Where it fails, each list is told.
func (q *Queue) KeepUp(ctx context.Context) error {
	for {
		_ = q.Follow(ctx)
		select {
		case <-time.After(keepsUp):
		case <-ctx.Done():
			return nil
		}
	}
}

// CatchUp is Follow for who cannot wait long.
func (q *Queue) CatchUp(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readsWithin)
	defer cancel()
	return q.refresh(ctx)
}

// Complete reports whether the queue has been read, and is not being read again.
func (q *Queue) Complete() bool { return q.mark.get() != 0 }

// adoptedFor is how long rows are kept that another server of this daemon has made, while this one has not seen all sites yet.
const adoptedFor = time.Minute

// Use has the queue go on with what c says, for another server of this daemon: it keeps what it has read if that was of the same database.
func (q *Queue) Use(c Config, counts *quota.Submits) {
	q.turn <- struct{}{}
	defer func() { <-q.turn }()
	q.mu.Lock()
	defer q.mu.Unlock()
	if before := q.config.Swap(&c); before.Database != c.Database {
		q.mark.set(0)
	}
	q.world.adopted = c.Now().Add(adoptedFor)
	q.count(counts)
}

// count has the jobs be counted by counts, as they were by others before.
func (q *Queue) count(counts *quota.Submits) {
	before := q.submits
	q.submits = nil
	if counts == nil {
		return
	}
	q.submits = newSubmits(q, counts)
	if before == nil {
		q.mark.set(0) // nobody has kept who submitted what
		return
	}
	for _, kind := range q.kinds {
		kind.who = counts.Of(kind.who.Submitter)
	}
	for _, k := range q.jobs {
		if k.rest != nil {
			k.rest.who = counts.Of(k.rest.who.Submitter)
		}
		who, n := k.counted()
		counts.Add(who, n)
	}
}

// Load has the queue take up what is new, or if it has read nothing yet all. live gives it the live jobs page by page, as federation.JobStore.LiveJobs would: a
// caller who reads them all anyway shares them so.
func (q *Queue) Load(ctx context.Context, live func(context.Context, func([]federation.Job) error) error) error {
	if q.Complete() {
		if err := q.refresh(ctx); err != nil {
			return err
		}
		return live(ctx, func([]federation.Job) error { return nil })
	}
	return q.share(ctx, func() error {
		q.mu.Lock()
		defer q.mu.Unlock()
		return q.readAll(ctx, q.cfg().Lister.View(), q.cfg().Now(), live)
	})
}
