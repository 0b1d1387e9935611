package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"fsub/federation"
	"fsub/federation/action"
	"fsub/federation/health"
	"fsub/federation/journal"
)

// inbox follows the store's log, which tells of all that others write.
type inbox struct {
	now    func() time.Time
	store  Store
	agenda *agenda
	inline bool // it is read in every round

	news  storeNews                  // what was read last
	open  []action.Request           // those that were read and are not yet durable as done, oldest first
	read  int64                      // number of the newest that was read
	given int64                      // number of the newest that was to be carried out
	taken map[int64]federation.JobID // those of open that are taken up, and whose they are
}

// readAnyway is how often the store is read if nothing said that there is something new in it.
const readAnyway = 500 * time.Millisecond

// readNow reports whether the store is to be read now, and counts on that being done.
func (x *inbox) readNow() bool {
	now := x.now()
	if !x.inline && now.Sub(x.agenda.lastRead) < readAnyway {
		return false
	}
	x.agenda.lastRead = now
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
	x.open = slices.DeleteFunc(x.open, func(r action.Request) bool {
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
func (c *Controller) readStore(ctx context.Context) (open []action.Request) {
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
	if err := c.loader.readJobs(ctx, n); err != nil {
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
		if err := c.upkeep.read(ctx, c.cfg.Store, c.now()); err != nil {
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
		c.agenda.lastRead = time.Time{}
		c.Wake()
	}
	return open
}

// mostRequests are carried out for the first time in a round: what they change is written in one commit, for which other writers wait.
const mostRequests = 256

// due are the requests to be carried out now, and whether there are more. Those that had to wait come first, so that the requests for a job keep
// their order.
func (x *inbox) due() (open []action.Request, more bool) {
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
func (x *inbox) begin(ctx context.Context) error {
	log, err := x.store.Changes(ctx, 0, 0)
	if err != nil {
		return fmt.Errorf("read the store's changes: %w", err)
	}
	if err := x.readRequests(ctx); err != nil {
		return fmt.Errorf("read requests: %w", err)
	}
	x.news = storeNews{mark: log.Mark, newest: x.read}
	return nil
}

// storeNews is what the store's log tells of, and is to be read.
type storeNews struct {
	mark     journal.Mark       // up to which it was read
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
func (x *inbox) readLog(ctx context.Context) (storeNews, error) {
	n := x.news
	for {
		log, err := x.store.Changes(ctx, n.mark, logPage)
		if errors.Is(err, federation.ErrTrimmed) {
			log, err = x.store.Changes(ctx, 0, 0)
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

func (n *storeNews) take(change *journal.Change) {
	switch {
	case change.Kind == journal.ChangeSite || change.Kind == journal.ChangeMaintenance:
		n.sites = true
	case change.Kind == journal.ChangeNode:
		n.nodes = true
	case change.Kind == journal.ChangeHealth:
		kind := health.RecordKind(change.State)
		n.health = n.health || change.How != journal.Gone && (kind == health.RecordReset || kind == health.RecordCheck)
	case change.How != journal.Created:
	case change.Kind == journal.ChangeJob:
		n.jobs = append(n.jobs, change.Job)
	case change.Kind == journal.ChangeRequest:
		n.requests, n.newest = true, max(n.newest, change.Number)
	}
}
