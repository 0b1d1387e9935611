// Package ledger collects what the books are made of: the charges of the federation's own runs, and what each site's accounting has of everybody's jobs. The
// arithmetic is that of accounting/ledger, the store keeps the result. Nothing is decided by it, and it may lag.
//
// [Collector] reads: [Collector.Charges] follows the store, [Collector.Site] one site. Both may read anything twice, since the ledger takes it once.
package ledger

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"fsub/accounting"
	"fsub/accounting/ledger"
	"fsub/federation"
	"fsub/federation/driver"
	"fsub/federation/journal"
	"fsub/federation/lifecycle"
)

// Store is what a Collector reads of jobs.
type Store interface {
	federation.ChargeStore
	journal.Follower
	Jobs(ctx context.Context, q federation.JobQuery) ([]federation.Job, error)
	Attempts(ctx context.Context, id federation.JobID) ([]federation.Attempt, error)
}

// Config is what a Collector is made of. All but Now and Rest is required.
type Config struct {
	Store  Store
	Books  ledger.Books
	Sites  []Site // those of the beginning; see Join
	Logger *slog.Logger
	Rented MachineTeller // nil: no machines are rented
	// BillStore keeps what providers bill; nil: no bills are taken.
	BillStore federation.BillStore
	// History is how far back a site's accounting is read when it is read first.
	History time.Duration
	Now     func() time.Time // nil: time.Now
	// Rest leaves a site alone after an answer that took so long; nil: for as long, 10 s at most.
	Rest func(ctx context.Context, took time.Duration)
}

// Site is one member of the federation.
type Site struct {
	Name     federation.SiteName
	Accounts driver.Accountant // nil: it has no accounts of its own, or they are not read
	Unread   bool              // they are not read
	Prices   accounting.Prices
	Users    map[string]federation.SiteUser // by name here
	// Report is a program with its first arguments that does what sreport does at the site; nil: none.
	Report []string
}

// Collector keeps the ledger up to date.
type Collector struct {
	Config
	sites *sites
	bills *settling
	ended map[string]bool // machines that were booked lately
	fresh *fresh          // charges that were booked since Spent was asked last
	mark  int64           // how far the log of changes was read: what is stored of it may lag where nothing was charged
}

// New makes a Collector.
func New(c Config) *Collector {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Rest == nil {
		c.Rest = rest
	}
	if c.Books != nil {
		c.Books = &noted{Books: c.Books, first: math.MaxInt64}
	}
	all := &Collector{Config: c, sites: &sites{by: map[federation.SiteName]*reader{}}, ended: map[string]bool{}, bills: &settling{}, fresh: &fresh{booked: map[chargeName]bool{}}}
	for _, s := range c.Sites {
		all.Join(s)
	}
	return all
}

// How often charges and sites are read.
const (
	chargesEvery = 2 * time.Second
	sitesEvery   = 30 * time.Second
)

// Run collects until ctx ends. A site that does not answer keeps no other from being read.
func (c *Collector) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		return every(ctx, chargesEvery, func() {
			if _, err := c.Charges(ctx); err != nil && ctx.Err() == nil {
				c.Logger.Warn("charges not booked", "err", err)
			}
		})
	})
	g.Go(func() error {
		return every(ctx, sitesEvery, func() {
			if err := c.Machines(ctx); err != nil && ctx.Err() == nil {
				c.Logger.Warn("rented machines not booked", "err", err)
			}
		})
	})
	if c.BillStore != nil {
		g.Go(func() error {
			return every(ctx, settleEvery, func() {
				if err := c.Settle(ctx); err != nil && ctx.Err() == nil {
					c.Logger.Warn("bills not settled", "err", err)
				}
			})
		})
	}
	g.Go(func() error { return c.readSites(ctx, g) })
	return g.Wait()
}

func every(ctx context.Context, period time.Duration, do func()) error {
	t := time.NewTicker(period)
	defer t.Stop()
	for {
		do()
		select {
		case <-ctx.Done():
			return nil
		case <-t.C:
		}
	}
}

const (
	chargesMark = "charges" // how far the log of changes has been followed
	markEvery   = 10_000    // changes without a charge, after which the mark is stored all the same
	portion     = 4000      // runs that are booked in one commit: they take some 50 ms, for which other writers wait
)

// Charges books the charges that were written since the last time, and returns how many entries of the ledger are new or changed. If the log of changes no
// longer goes back so far, all charges are read.
func (c *Collector) Charges(ctx context.Context) (int, error) {
	c.fresh.Lock()
	defer c.fresh.Unlock()
	return c.charges(ctx)
}

func (c *Collector) charges(ctx context.Context) (int, error) {
	text, err := c.Books.BooksMark(ctx, chargesMark)
	if err != nil {
		return 0, err
	}
	stored, _ := strconv.ParseInt(text, 10, 64)
	if stored == 0 {
		return c.allCharges(ctx)
	}
	mark, total := max(stored, c.mark), 0
	for {
		log, err := c.Store.Changes(ctx, journal.Mark(mark), 1000)
		if errors.Is(err, federation.ErrTrimmed) {
			return c.allCharges(ctx)
		}
		if err != nil || int64(log.Mark) == mark {
			return total, err
		}
		seen := map[federation.JobID]bool{}
		var fresh []federation.Charge
		for _, commit := range log.Commits {
			for _, ch := range commit.Changes {
				if ch.Kind != journal.ChangeCharge || seen[ch.Job] {
					continue
				}
				seen[ch.Job] = true
				some, err := c.Store.Charges(ctx, federation.ChargeQuery{Job: ch.Job})
				if err != nil {
					return total, err
				}
				fresh = append(fresh, some...)
			}
		}
		mark = int64(log.Mark)
		n := 0
		if len(fresh) > 0 || mark-stored > markEvery {
			if n, err = c.bookCharges(ctx, fresh, map[string]string{chargesMark: strconv.FormatInt(mark, 10)}); err != nil {
				return total, err
			}
			stored = mark
		}
		c.mark = mark
		if total += n; len(log.Commits) == 0 {
			return total, nil
		}
	}
}

// allCharges books all there are, and then goes on from what was the newest change before.
func (c *Collector) allCharges(ctx context.Context) (int, error) {
	log, err := c.Store.Changes(ctx, 0, 1)
	if err != nil {
		return 0, err
	}
	total, limit, since := 0, portion, time.Time{}
	for {
		some, err := c.Store.Charges(ctx, federation.ChargeQuery{Since: since, Limit: limit})
		if err != nil {
			return total, err
		}
		n, err := c.bookCharges(ctx, some, nil)
		if total += n; err != nil {
			return total, err
		}
		if len(some) < limit {
			break
		}
		if last := some[len(some)-1].End; last.Equal(since) {
			limit *= 2 // as many ended at one moment
		} else {
			since = last
		}
	}
	_, err = c.Books.Book(ctx, nil, map[string]string{chargesMark: strconv.FormatInt(int64(log.Mark), 10)})
	return total, err
}

func (c *Collector) bookCharges(ctx context.Context, all []federation.Charge, marks map[string]string) (int, error) {
	jobs, err := c.jobsOf(ctx, all)
	if err != nil {
		return 0, err
	}
	entries := make([]ledger.Entry, 0, len(all))
	for i := range all {
		if c.fresh.asked {
			c.fresh.booked[nameOf(&all[i])] = true
		}
		if k := &all[i]; !k.Start.IsZero() {
			entries = append(entries, c.entryOf(ctx, k, jobs[k.Job]))
		}
	}
	return c.Books.Book(ctx, entries, marks)
}

// outerGroup is the outermost of the groups that a job is in: books that told the inner ones apart would have as many rows as a workflow has parts.
func outerGroup(j *federation.Job) string {
	outer, _, _ := strings.Cut(j.Spec.GroupName(), "/")
	return outer
}

func (c *Collector) jobsOf(ctx context.Context, all []federation.Charge) (map[federation.JobID]*federation.Job, error) {
	out := map[federation.JobID]*federation.Job{}
	var ids []federation.JobID
	for i := range all {
		if _, ok := out[all[i].Job]; !ok {
			out[all[i].Job] = nil
			ids = append(ids, all[i].Job)
		}
	}
	if len(ids) == 0 {
		return out, nil
	}
	jobs, err := c.Store.Jobs(ctx, federation.JobQuery{IDs: ids, Alone: true})
	for i := range jobs {
		out[jobs[i].ID] = &jobs[i]
	}
	return out, err
}

// entryOf is a charge as an entry. j is nil if the job was purged.
func (c *Collector) entryOf(ctx context.Context, k *federation.Charge, j *federation.Job) ledger.Entry {
	e, _, err := entry(k, j)
	if err != nil {
		c.Logger.Error("what a job held cannot be read in full: the rest of it is booked", "job", k.Job, "site", k.Site, "booked", e.TRES, "err", err)
	}
	if j != nil && e.Kind == ledger.OwnJob {
		c.compare(ctx, &e, k)
	}
	return e
}

// entry is a charge as an entry, with the TRES that it held. j is nil if the job was purged. An error says why not all of the TRES can be read; the rest is there.
func entry(k *federation.Charge, j *federation.Job) (e ledger.Entry, tres accounting.TRES, err error) {
	e = ledger.Entry{
		ID:     ledger.ID{Site: string(k.Site), Kind: ledger.OwnJob, Job: int64(k.Job), At: k.Start.Unix()},
		Source: ledger.FromRun, TRES: k.TRES, State: string(k.State), Start: k.Start.Unix(), End: k.End.Unix(), Suspended: int64(k.Suspended / time.Second),
		CPUUsed: -1, GPUUsed: -1, PerHour: k.PricePerHour, Rented: k.From == federation.PriceOffering || k.From == federation.PriceSite, Amount: k.Amount,
		Group: ledger.Group{Site: string(k.Site), Account: k.Account, User: k.User, QOS: k.QOS, Partition: k.Partition},
	}
	if k.From == lifecycle.PriceMoved {
		e.Kind = ledger.Moved
	}
	if k.Array == k.Job { // the site has the array whole
		e.Task = int64(k.Task)
	}
	if k.From != federation.PriceNone && k.PricePerHour != 0 {
		e.Source |= ledger.Priced
	}
	if tres, err = accounting.ParseTRES(k.TRES); err != nil {
		e.TRES, tres = ledger.Readable(k.TRES)
	}
	e.Group.GPU = ledger.GPUType(tres)
	e.Fate = ledger.FateOf(e.State, ledger.GPUs(tres), e.GPUUsed)
	if e.Fate == ledger.Lost {
		e.Source |= ledger.Redone
	}
	if j != nil {
		e.Group.Name = ledger.FoldName(j.Spec.Name)
		e.Group.JobGroup = outerGroup(j)
		e.Submit = j.Submit.Unix()
		e.Wait = max(0, e.Start-e.Submit)
		if k.Run > 1 || k.Attempt > 1 {
			e.Wait = 0 // what passed since it was submitted was not all waiting
		}
		e.Limit = max(0, int64(j.Spec.TimeLimit/time.Second))
	}
	return e, tres, err
}
