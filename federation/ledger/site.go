package ledger

import (
	"context"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"fsub/accounting"
	"fsub/accounting/ledger"
	"fsub/federation"
)

// reader reads the accounting of one site.
type reader struct {
	Site
	names map[string]string // of users here, by their names there

	mu       sync.Mutex // one reading at a time
	prices   map[string]federation.Money
	step     time.Duration // of time that is asked for at once
	thorough time.Time     // when the last day was read again
	marked   time.Time     // when the mark was written
	// booked are hashes of what was booked lately, so that what is read again each time is not written again.
	booked map[ledger.ID]uint64
}

func newReader(s Site) *reader {
	r := &reader{Site: s, names: map[string]string{}, prices: map[string]federation.Money{}, step: firstStep, booked: map[ledger.ID]uint64{}}
	for here, there := range s.Users {
		if there.Name != "" {
			r.names[there.Name] = here
		}
	}
	return r
}

const (
	// skew is how far the clocks of a site and of this machine may be apart, and how late a site's accounting may hear of an end.
	skew = 10 * time.Minute
	// A controller that could not reach slurmdbd tells it of ends hours later, and admins correct records. So the last day is read again now and then.
	again      = 25 * time.Hour
	againEvery = time.Hour

	leastStep, firstStep, mostStep = 15 * time.Second, 5 * time.Minute, 24 * time.Hour
	// slurmrestd holds a whole answer in memory, some MB for a run with its steps.
	fewRuns, manyRuns = 300, 1000 // in one answer: more or less time is asked for then
	mostBooked        = 200_000
)

func siteMark(name federation.SiteName) string { return "site/" + string(name) }

// Site books what a site's accounting has of runs that ended since the last time.
func (c *Collector) Site(ctx context.Context, name federation.SiteName) error {
	r := c.sites[name]
	if r == nil || r.Accounts == nil {
		return fmt.Errorf("%w: site %s has no accounting that can be read", federation.ErrInvalid, name)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	text, err := c.Books.BooksMark(ctx, siteMark(name))
	if err != nil {
		return err
	}
	now := c.Now()
	from := now.Add(-c.History)
	if seconds, _ := strconv.ParseInt(text, 10, 64); seconds > 0 {
		from = time.Unix(seconds, 0).Add(-skew)
		if now.Sub(r.thorough) > againEvery && now.Sub(from) < again {
			from = now.Add(-again)
		}
	}
	if err := c.read(ctx, r, from, now.Add(skew), true); err != nil {
		return err
	}
	if now.Sub(from) >= again {
		r.thorough = now
	}
	return nil
}

// Again books what a site's accounting has of a span of time, whether it was read before or not.
func (c *Collector) Again(ctx context.Context, name federation.SiteName, from, until time.Time) error {
	r := c.sites[name]
	if r == nil || r.Accounts == nil {
		return fmt.Errorf("%w: site %s has no accounting that can be read", federation.ErrInvalid, name)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return c.read(ctx, r, from, until, false)
}

// read books what ended in a span of time, a part of it after the other. The mark moves with what is booked.
func (c *Collector) read(ctx context.Context, r *reader, from, until time.Time, mark bool) error {
	for from.Before(until) {
		end := from.Add(r.step)
		if end.After(until) {
			end = until
		}
		runs, err := r.Accounts.Accounts(ctx, from, end)
		if err != nil {
			if r.step = max(min(r.step, end.Sub(from))/2, leastStep); end.Sub(from) > leastStep && ctx.Err() == nil && r.step < end.Sub(from) {
				continue // perhaps the answer was too long
			}
			return err // the next time is tried with as little
		}
		switch {
		case len(runs) > manyRuns:
			r.step = max(r.step/2, leastStep)
		case len(runs) < fewRuns:
			r.step = min(2*r.step, mostStep)
		}
		done := min(end.Unix(), c.Now().Unix())
		marks := map[string]string{}
		if mark {
			marks[siteMark(r.Name)] = strconv.FormatInt(done, 10)
		}
		if err := c.book(ctx, r, runs, marks); err != nil {
			return err
		}
		from = end
	}
	return nil
}

var seed = maphash.MakeSeed()

// book books runs that have ended; marks are set once all are booked.
func (c *Collector) book(ctx context.Context, r *reader, runs []federation.SiteRun, marks map[string]string) error {
	var entries []ledger.Entry
	sums := map[ledger.ID]uint64{}
	for i := range runs {
		if runs[i].Live {
			continue
		}
		e := r.entry(&runs[i])
		said := e
		said.ReadAt = 0
		sum := maphash.Comparable(seed, said)
		if r.booked[e.ID] == sum {
			continue
		}
		sums[e.ID] = sum
		entries = append(entries, e)
	}
	slices.SortFunc(entries, func(a, b ledger.Entry) int { return a.ID.Compare(b.ID) })
	for some := range slices.Chunk(entries, portion) {
		if _, err := c.Books.Book(ctx, some, nil); err != nil {
			return err
		}
	}
	if len(entries) > 0 || c.Now().Sub(r.marked) > skew/2 { // at rest, not every look is worth a commit
		if _, err := c.Books.Book(ctx, nil, marks); err != nil {
			return err
		}
		r.marked = c.Now()
	}
	if len(r.booked)+len(sums) > mostBooked {
		r.booked = map[ledger.ID]uint64{}
	}
	maps.Copy(r.booked, sums)
	return nil
}

// entry is a run of the site in the words of the federation, with the site's price.
func (r *reader) entry(run *federation.SiteRun) ledger.Entry {
	e := run.Entry
	if here, ok := r.names[e.Group.User]; ok {
		e.Group.User = here
	}
	price, ok := r.prices[e.TRES]
	if !ok {
		if tres, err := accounting.ParseTRES(e.TRES); err == nil {
			price = accounting.MoneyOf(accounting.PerHour(r.Prices, tres))
		}
		if len(r.prices) > 10_000 {
			clear(r.prices)
		}
		r.prices[e.TRES] = price
	}
	e.PerHour = price
	return e
}
