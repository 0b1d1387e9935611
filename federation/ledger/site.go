package ledger

import (
	"context"
	"fmt"
	"hash/maphash"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"fsub/accounting"
	"fsub/accounting/ledger"
	"fsub/federation"
	"fsub/federation/driver"
)

// reader reads the accounting of one site.
type reader struct {
	Site
	names map[string]string // of users here, by their names there

	mu     sync.Mutex // one reading at a time
	pace   pace
	took   time.Duration     // the last answer
	priced map[string]priced // by what a site says of TRES
	hours  map[int64]*hour   // of the last day, by their beginning
	at     time.Time         // how far the accounting was read; the mark may lag
	marked time.Time         // when the mark was written
	missed time.Time         // where reading went on after a pause, until the day before that was read again; zero: there is none
	// booked are hashes of what was booked lately, so that what is read again each time is not written again.
	booked map[ledger.ID]uint64
}

type priced struct {
	tres  string
	price federation.Money
}

// hour is an hour of a site's accounting.
type hour struct {
	runs int       // that ended in it
	read time.Time // when all of it was read again
	part time.Time // how far it has been read in the present round, with so many runs
	some int
}

func newReader(s Site) *reader {
	r := &reader{Site: s, names: map[string]string{}, priced: map[string]priced{}, pace: pace{step: firstStep}, hours: map[int64]*hour{}, booked: map[ledger.ID]uint64{}}
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
	// A controller that could not reach slurmdbd tells it of ends hours later, and admins correct records. So the last day is read again, each hour of it
	// when it is over and then every hour; one with many runs only once more, when it is a day old.
	again      = 25 * time.Hour
	againEvery = time.Hour
	busyHour   = 5000

	turn       = 20 * time.Second // how long one reading may take before others have their turn
	mostBooked = 200_000
)

func siteMark(name federation.SiteName) string { return "site/" + string(name) }

// Site books what a site's accounting has of runs that ended since the last time.
func (c *Collector) Site(ctx context.Context, name federation.SiteName) error {
	r := c.reader(name)
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
		if from = time.Unix(seconds, 0); r.at.After(from) {
			from = r.at
		}
		if now.Sub(from) > againEvery && r.missed.IsZero() {
			r.missed = from
		}
		from = from.Add(-r.pace.overlap())
	}
	if _, err := r.each(ctx, c, from, now, turn, func(end time.Time, runs []driver.SiteRun) error {
		err := c.book(ctx, r, runs, map[string]string{siteMark(name): strconv.FormatInt(end.Unix(), 10)})
		if err == nil && end.After(r.at) {
			r.at = end
		}
		c.Rest(ctx, r.took)
		return err
	}); err != nil {
		return err
	}
	return c.rereadDay(ctx, r, now)
}

// day are the hours that are to be read again: those of the last day, and of the day before a pause, in which nobody has read what was told late of them.
func (r *reader) day(now time.Time) (all []time.Time) {
	first := now.Add(-again).Truncate(time.Hour)
	if !r.missed.IsZero() {
		for h := r.missed.Add(-again).Truncate(time.Hour); h.Before(r.missed) && h.Before(first); h = h.Add(time.Hour) {
			all = append(all, h)
		}
	}
	for h := first; !h.Add(time.Hour+skew).After(now) && !h.Add(time.Hour).After(r.at); h = h.Add(time.Hour) {
		all = append(all, h)
	}
	return all
}

// rereadDay reads the hours of the last day again that are due, as many as there is time for.
func (c *Collector) rereadDay(ctx context.Context, r *reader, now time.Time) error {
	day := r.day(now)
	for at := range r.hours {
		if len(day) > 0 && at < day[0].Unix() {
			delete(r.hours, at)
		}
	}
	for _, h := range day {
		left, was, end := turn-c.Now().Sub(now), r.hour(h.Unix()), h.Add(time.Hour)
		if left <= 0 {
			return nil
		}
		if !was.due(end, now) {
			continue
		}
		if was.part.IsZero() {
			was.part = h
		}
		if _, err := r.each(ctx, c, was.part, end, left, func(to time.Time, runs []driver.SiteRun) error {
			err := c.book(ctx, r, runs, nil)
			if err == nil {
				was.part, was.some = to, was.some+len(runs)
			}
			c.Rest(ctx, r.took)
			return err
		}); err != nil {
			return err
		}
		if !was.part.Before(end) {
			*was = hour{runs: was.some, read: now}
		}
	}
	r.missed = time.Time{}
	return nil
}

func (r *reader) hour(at int64) *hour {
	h := r.hours[at]
	if h == nil {
		h = &hour{}
		r.hours[at] = h
	}
	return h
}

// due reports whether an hour that ended at end is to be read again.
func (h *hour) due(end, now time.Time) bool {
	switch {
	case h.read.IsZero():
		return true
	case h.runs > busyHour:
		day := end.Add(again - 2*time.Hour)
		return !now.Before(day) && h.read.Before(day)
	}
	return now.Sub(h.read) > againEvery
}

// Again books what a site's accounting has of a span of time, whether it was read before or not.
func (c *Collector) Again(ctx context.Context, name federation.SiteName, from, until time.Time) error {
	r := c.reader(name)
	if r == nil || r.Accounts == nil {
		return fmt.Errorf("%w: site %s has no accounting that can be read", federation.ErrInvalid, name)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	_, err := r.each(ctx, c, from, until, 0, func(_ time.Time, runs []driver.SiteRun) error { return c.book(ctx, r, runs, nil) })
	return err
}

var seed = maphash.MakeSeed()

// book books runs that have ended; marks are set once all are booked.
func (c *Collector) book(ctx context.Context, r *reader, runs []driver.SiteRun, marks map[string]string) error {
	var entries []ledger.Entry
	sums := map[ledger.ID]uint64{}
	for i := range runs {
		if runs[i].Live {
			continue
		}
		e := r.entry(c.Logger, &runs[i])
		said := e
		said.ReadAt = 0
		sum := maphash.Comparable(seed, said)
		if r.booked[e.ID] == sum {
			continue
		}
		sums[e.ID] = sum
		if why := e.Unfit(); why != "" {
			c.Logger.Error("a run cannot be booked and is set aside", "site", r.Name, "job", e.Number, "why", why)
		}
		entries = append(entries, e)
	}
	fresh := make([]*ledger.Entry, len(entries))
	for i := range entries {
		fresh[i] = &entries[i]
	}
	r.measure(ctx, c, runs, fresh)
	slices.SortFunc(entries, func(a, b ledger.Entry) int { return a.ID.Compare(b.ID) })
	for some := range slices.Chunk(entries, portion) {
		if _, err := c.Books.Book(ctx, some, nil); err != nil {
			return err
		}
	}
	if len(marks) > 0 && (len(entries) > 0 || c.Now().Sub(r.marked) > skew/2) { // at rest, not every look is worth a commit
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
func (r *reader) entry(log *slog.Logger, run *driver.SiteRun) ledger.Entry {
	e := run.Entry
	if here, ok := r.names[e.Group.User]; ok {
		e.Group.User = here
	}
	p, ok := r.priced[e.TRES]
	if !ok {
		p.tres = e.TRES
		tres, err := accounting.ParseTRES(e.TRES)
		if err != nil { // one record must not keep others from being booked
			p.tres, tres = ledger.Readable(e.TRES)
			log.Error("what a job held cannot be read in full: the rest of it is booked", "site", r.Name, "job", e.Number, "booked", p.tres, "err", err)
		}
		p.price = accounting.MoneyOf(accounting.PerHour(r.Prices, tres))
		if len(r.priced) > 10_000 {
			clear(r.priced)
		}
		r.priced[e.TRES] = p
	}
	e.TRES, e.PerHour = p.tres, p.price
	return e
}
