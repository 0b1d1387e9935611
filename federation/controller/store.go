package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"fsub/federation"
)

// inbox follows the store's log, which tells of all that others write.
type inbox struct {
	*shared
	news  storeNews                  // what was read last
	open  []federation.Request       // those that were read and are not yet durable as done, oldest first
	read  int64                      // number of the newest that was read
	given int64                      // number of the newest that was to be carried out
	taken map[int64]federation.JobID // those of open that are taken up, and whose they are
}

// readAnyway is how often the store is read if nothing said that there is something new in it.
const readAnyway = 500 * time.Millisecond

// readNow reports whether the store is to be read now, and counts on that being done.
func (x *inbox) readNow() bool {
	now := x.now()
	if !x.cfg.Inline && now.Sub(x.lastRead) < readAnyway {
		return false
	}
	x.lastRead = now
	return true
}

// again has a request come again that cannot be carried out yet.
func (x *inbox) again(seq int64) { delete(x.taken, seq) }

// readRequests reads those that have come since the last time.
func (x *inbox) readRequests(ctx context.Context) error {
	more, err := x.store.Requests(ctx, x.read)
	if err != nil {
		return err
	}
	if x.open = append(x.open, more...); len(more) > 0 {
		x.read = more[len(more)-1].Seq
	}
	return nil
}

// done forgets requests that are durable as done. Their numbers are sorted.
func (x *inbox) done(seqs []int64) {
	if len(seqs) == 0 {
		return
	}
	x.open = slices.DeleteFunc(x.open, func(r federation.Request) bool {
		_, done := slices.BinarySearch(seqs, r.Seq)
		return done
	})
	for _, seq := range seqs {
		delete(x.taken, seq)
	}
}

// readStore takes up what was written by others: new jobs, operators' words. The requests are to be carried out.
// The store's log is the only door: whatever wakes the controller, it looks there, so nothing is lost if a wake-up
// is.
func (c *Controller) readStore(ctx context.Context) (open []federation.Request) {
	if !c.inbox.readNow() {
		return nil
	}
	n, err := c.inbox.readLog(ctx)
	if err != nil {
		c.log.Error("read the store's changes", "err", err)
		return nil
	}
	// Requests come before jobs: those that are about a job which comes with a later change are left for then.
	if n.requests {
		if err := c.inbox.readRequests(ctx); err != nil {
			c.log.Error("read requests", "err", err)
			return nil
		}
	}
	if n.anew { // the log does not tell of all
		n.newest = max(n.newest, c.inbox.read)
	}
	if err := c.readJobs(ctx, n); err != nil {
		c.log.Error("read new jobs", "err", err)
		return nil
	}
	c.arrays.reserveIDs(ctx, c.inbox.open)
	if n.sites {
		states, err := c.store.SiteState(ctx)
		if err != nil {
			c.log.Error("read the states of the sites", "err", err)
			return nil
		}
		if err := c.upkeep.read(ctx, c.cfg.Planned, c.now()); err != nil {
			c.log.Error("read what is planned at sites", "err", err)
			return nil
		}
		c.standings.take(states)
		c.nodes.showUpkeep()
	}
	if n.health {
		if err := c.rules.read(ctx); err != nil {
			c.log.Error("read what is told of the health of nodes", "err", err)
			return nil
		}
	}
	if n.nodes {
		if err := c.nodes.load(ctx, false); err != nil {
			c.log.Error("read the store's changes", "err", err)
			return nil
		}
	}
	c.inbox.news = storeNews{mark: n.mark, newest: n.newest}
	open, more := c.inbox.due()
	if more {
		c.lastRead = time.Time{}
		c.Wake()
	}
	return open
}

// mostRequests are carried out for the first time in a round: what they change is written in one commit, for which other writers wait.
const mostRequests = 256

// due are the requests to be carried out now, and whether there are more. Those that had to wait come first, so that the requests for a job keep
// their order.
func (x *inbox) due() (open []federation.Request, more bool) {
	first := 0
	for _, r := range x.open {
		if _, taken := x.taken[r.Seq]; taken || r.Seq > x.news.newest {
			continue
		}
		if r.Seq > x.given {
			if first == mostRequests {
				return open, true
			}
			first++
			x.given = r.Seq
		}
		open = append(open, r)
	}
	return open, false
}

// begin begins to follow the store's log. The jobs are to be read after it.
func (c *inbox) begin(ctx context.Context) error {
	log, err := c.store.Changes(ctx, 0, 0)
	if err != nil {
		return fmt.Errorf("read the store's changes: %w", err)
	}
	if err := c.readRequests(ctx); err != nil {
		return fmt.Errorf("read requests: %w", err)
	}
	c.news = storeNews{mark: log.Mark, newest: c.read}
	return nil
}

// storeNews is what the store's log tells of, and is to be read.
type storeNews struct {
	mark     federation.LogMark // up to which it was read
	jobs     []federation.JobID // new ones
	sites    bool
	nodes    bool
	health   bool // a breaker is reset, or a health check has found something
	requests bool
	newest   int64 // number of the newest request that was told of
	anew     bool  // the log does not go back far enough: read everything
}

// logPage is how many commits are read at once.
const logPage = 1000

// readLog goes on where the last readStore that succeeded has ended.
func (c *inbox) readLog(ctx context.Context) (storeNews, error) {
	n := c.news
	for {
		log, err := c.store.Changes(ctx, n.mark, logPage)
		if errors.Is(err, federation.ErrTrimmed) {
			log, err = c.store.Changes(ctx, 0, 0)
			n.anew, n.requests, n.sites, n.nodes, n.health, n.jobs = true, true, true, true, true, nil
		}
		if err != nil {
			return n, err
		}
		for i := range log.Commits {
			for _, change := range log.Commits[i].Changes {
				n.take(&change)
			}
		}
		if n.mark = log.Mark; len(log.Commits) < logPage {
			return n, nil
		}
	}
}

func (n *storeNews) take(change *federation.Change) {
	switch {
	case change.Kind == federation.ChangeSite || change.Kind == federation.ChangeMaintenance:
		n.sites = true
	case change.Kind == federation.ChangeNode:
		n.nodes = true
	case change.Kind == federation.ChangeHealth:
		kind := federation.HealthKind(change.State)
		n.health = n.health || change.How != federation.Gone && (kind == federation.HealthReset || kind == federation.HealthCheck)
	case change.How != federation.Created:
	case change.Kind == federation.ChangeJob:
		n.jobs = append(n.jobs, change.Job)
	case change.Kind == federation.ChangeRequest:
		n.requests, n.newest = true, max(n.newest, change.Number)
	}
}

// readJobs takes up the jobs that are new. One that has ended in a round which is not committed yet still looks
// pending in the store: it is not new.
func (c *Controller) readJobs(ctx context.Context, n storeNews) error {
	known := func(id federation.JobID) bool { return c.jobs.Of(id) != nil || c.ended[id] != nil || c.asides.has(id) }
	q := federation.JobQuery{IDs: slices.DeleteFunc(n.jobs, known), Alone: true, States: []federation.State{federation.Pending}}
	if len(q.IDs) == 0 && !n.anew {
		return nil
	}
	jobs, err := c.store.Jobs(ctx, q)
	if err != nil {
		return err
	}
	for i := range jobs {
		if known(jobs[i].ID) {
			continue
		}
		j, err := c.addJob(ctx, jobs[i])
		if err != nil {
			return err // the mark stays: all are read again, and those that were taken up are known
		}
		if j.Component != nil {
			continue
		}
		c.queue.add(j)
		c.planDirty = c.planDirty || j.Held == federation.NotHeld
		c.metrics.taken()
	}
	return nil
}

// commit writes what the round has changed. If that fails, everything is kept for the next try, and no call is made; but what could never be written is
// put aside.
func (c *Controller) commit(ctx context.Context) bool {
	if c.batch.empty() {
		return true
	}
	b := c.batch.records()
	err := c.store.Commit(ctx, b)
	switch {
	case err == nil:
		c.wrote(b)
	case unwritable(err):
		err = c.commitApart(ctx, b)
	}
	if err != nil {
		c.log.Error("write to the store", "err", err, "jobs", len(b.Jobs), "attempts", len(b.Attempts))
		return false
	}
	if c.asides.stale { // what was written is read again
		return false
	}
	for j := range c.batch.jobs {
		j.nowStored()
	}
	c.batch = newPendingBatch()
	clear(c.ended)
	return true
}

// wrote notes what is done now that a batch is durable.
func (c *Controller) wrote(b *federation.Batch) {
	c.inbox.done(slices.Sorted(slices.Values(b.Done)))
	c.view.settled(b.Done)
	if len(b.Requests) > 0 {
		c.Wake()
	}
}
