package ledger_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"testing"
	"time"
	_ "time/tzdata" // wherever the machine has none

	"pgregory.net/rapid"

	"fsub/accounting"
	book "fsub/accounting/ledger"
	"fsub/federation"
	"fsub/federation/driver"
	"fsub/federation/ledger"
	"fsub/federation/store"
)

// Beginnings of histories: midnights, the nights in which clocks are put forward and back (Europe, America, Lord Howe, which does it by half an hour), a leap day.
var nights = []time.Time{
	time.Date(2026, 3, 28, 12, 0, 0, 0, time.UTC), time.Date(2026, 10, 24, 12, 0, 0, 0, time.UTC), time.Date(2026, 3, 7, 20, 0, 0, 0, time.UTC),
	time.Date(2026, 10, 31, 20, 0, 0, 0, time.UTC), time.Date(2026, 4, 4, 6, 0, 0, 0, time.UTC), time.Date(2028, 2, 28, 12, 0, 0, 0, time.UTC),
	time.Date(2026, 12, 31, 12, 0, 0, 0, time.UTC),
}

var zones = []string{"UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu"}

// row is a row of slurmdbd's, known to it from seen until gone, and corrected in between.
type row struct {
	driver.SiteRun
	seen, gone, corrected time.Time // zero: never
	wrong                 int64     // seconds that it was too long by until it was corrected
}

// past is a site's accounting with a history: what it tells depends on when it is asked.
type past struct {
	rows  []row
	now   *time.Time
	fails func(from, until time.Time) error
}

func (p *past) Live(context.Context) ([]driver.SiteRun, error) { return nil, nil }

func (p *past) Accounts(_ context.Context, from, until time.Time, _ bool) (out []driver.SiteRun, err error) {
	if err := p.fails(from, until); err != nil {
		return nil, err
	}
	for _, r := range p.rows {
		if r.seen.After(*p.now) || !r.gone.IsZero() && !r.gone.After(*p.now) {
			continue
		}
		run := r.SiteRun
		run.ReadAt = p.now.UnixMilli()
		if !r.corrected.IsZero() && p.now.Before(r.corrected) {
			run.Start -= r.wrong
		}
		if run.End >= from.Unix() && run.End <= until.Unix() {
			out = append(out, run)
		}
	}
	return out, nil
}

// drawRows makes runs of jobs: requeued and suspended ones, numbers that are given again, ends that slurmdbd hears of late or corrects, by a clock that is off.
func drawRows(t *rapid.T, site string, from time.Time) (rows []row) {
	off := time.Duration(rapid.IntRange(-540, 540).Draw(t, "site's clock is ahead by seconds")) * time.Second
	for i := range rapid.IntRange(1, 25).Draw(t, "jobs") {
		submit := from.Add(time.Duration(rapid.IntRange(0, 40*3600).Draw(t, "submitted")) * time.Second)
		number := int64(rapid.IntRange(1, 12).Draw(t, "number")) // some are given again
		for n := range rapid.IntRange(1, 3).Draw(t, "runs of the job") {
			eligible := submit.Add(time.Duration(rapid.SampledFrom([]int{0, 0, 60, 3600, 7200}).Draw(t, "eligible after")) * time.Second)
			start := eligible.Add(time.Duration(rapid.IntRange(0, 3*3600).Draw(t, "waited")) * time.Second)
			end := start.Add(time.Duration(rapid.IntRange(0, 30*3600).Draw(t, "took")) * time.Second)
			state := "COMPLETED"
			if n > 0 {
				rows[len(rows)-1].State = "REQUEUED"
			}
			e := book.Entry{ID: book.ID{Site: site, Job: number, At: submit.Unix()*100 + int64(i)}, Source: book.FromSite, TRES: rapid.SampledFrom([]string{"cpu=2", "cpu=8,gres/gpu=4,gres/gpu:h100=4"}).Draw(t, "held"),
				State: state, Submit: submit.Unix(), Start: start.Unix(), End: end.Unix(), Wait: start.Unix() - eligible.Unix(), CPUUsed: -1, GPUUsed: -1,
				Group: book.Group{Site: site, Account: rapid.SampledFrom([]string{"bio", "physics"}).Draw(t, "account"), User: "al"}}
			e.Suspended = rapid.Int64Range(0, e.Elapsed()).Draw(t, "suspended")
			r := row{SiteRun: driver.SiteRun{Entry: e}}
			r.seen = end.Add(-off) // when it is end there
			if rapid.IntRange(0, 4).Draw(t, "late") == 0 {
				r.seen = r.seen.Add(time.Duration(rapid.IntRange(1, 20*3600).Draw(t, "told late by")) * time.Second)
			}
			if rapid.IntRange(0, 6).Draw(t, "wrong") == 0 {
				r.corrected, r.wrong = r.seen.Add(time.Duration(rapid.IntRange(1, 3*3600).Draw(t, "corrected after"))*time.Second), rapid.Int64Range(1, 4000).Draw(t, "wrong by")
			}
			rows = append(rows, r)
			submit = end.Add(time.Second) // a requeue is another row of the number
		}
	}
	return rows
}

// However a site's accounting is read, the books are the same: often or seldom, in whatever portions, twice, by daemons that are started anew and stay away for
// days, from a site that does not answer at times, tells late, corrects itself and forgets; in whatever zone, over nights in which clocks are changed.
func TestEveryReadingGivesTheSameBooks(t *testing.T) {
	s, err := store.Open(t.Context(), store.Config{Volatile: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	histories := 0
	rapid.Check(t, func(rt *rapid.T) {
		if histories++; histories > 12 && os.Getenv("FSUB_FULL") == "" {
			return // each takes half a second
		}
		site := fmt.Sprint("rhein", histories)
		zone, err := time.LoadLocation(rapid.SampledFrom(zones).Draw(rt, "zone"))
		if err != nil {
			rt.Fatal(err)
		}
		now := rapid.SampledFrom(nights).Draw(rt, "night").In(zone)
		theirs := &past{rows: drawRows(rt, site, now), now: &now, fails: func(time.Time, time.Time) error { return nil }}
		var last time.Time // the end of everything that may still change
		for _, r := range theirs.rows {
			for _, at := range []time.Time{r.seen, r.corrected} {
				if at.After(last) {
					last = at
				}
			}
		}
		var c *ledger.Collector
		begin := func() {
			c = ledger.New(ledger.Config{Store: s, Books: s, Logger: slog.New(slog.DiscardHandler), History: 30 * 24 * time.Hour, Now: func() time.Time { return now }, Rest: func(context.Context, time.Duration) {},
				Sites: []ledger.Site{{Name: federation.SiteName(site), Accounts: theirs, Prices: accounting.Prices{"cpu": 1}}}})
		}
		begin()
		read := func() { _ = c.Site(t.Context(), federation.SiteName(site)) } // may fail
		for range rapid.IntRange(1, 25).Draw(rt, "steps") {
			switch rapid.IntRange(0, 9).Draw(rt, "what") {
			case 0, 1, 2, 3:
				now = now.Add(time.Duration(rapid.IntRange(1, 2*3600).Draw(rt, "later")) * time.Second)
				read()
			case 4:
				begin()
			case 5: // nobody reads for long
				now = now.Add(time.Duration(rapid.IntRange(1, 40).Draw(rt, "hours away")) * time.Hour)
				if rapid.Bool().Draw(rt, "daemon too") {
					begin()
				}
				read()
			case 6: // some of it does not answer
				n := 0
				theirs.fails = func(from, until time.Time) error {
					if n++; n%2 == 0 {
						return federation.ErrUnavailable
					} else if until.Sub(from) > 20*time.Minute {
						return driver.ErrTooLong
					}
					return nil
				}
				read()
				theirs.fails = func(time.Time, time.Time) error { return nil }
				now = now.Add(20 * time.Minute) // it is left alone until then
			case 7:
				from := now.Add(-time.Duration(rapid.IntRange(0, 40).Draw(rt, "hours back")) * time.Hour)
				if err := c.Again(t.Context(), federation.SiteName(site), from, now); err != nil {
					rt.Fatal(err)
				}
			case 8: // what was read long ago is purged at the site
				read()
				for i := range theirs.rows {
					if r := &theirs.rows[i]; now.Sub(time.Unix(r.End, 0)) > 30*time.Hour && now.Sub(r.seen) > 26*time.Hour && r.gone.IsZero() {
						r.gone = now
					}
				}
			case 9: // rows come in another order
				theirs.rows = rapid.Permutation(theirs.rows).Draw(rt, "order")
			}
		}
		if now.Before(last) {
			now = last
		}
		for range 3 {
			now = now.Add(time.Hour)
			read()
		}

		var want book.Sums
		daily := map[int64]book.Sums{}
		for i := range theirs.rows {
			e := theirs.rows[i].Entry
			tres, _ := accounting.ParseTRES(e.TRES)
			e.Fate = book.FateOf(e.State, book.GPUs(tres), -1)
			e.PerHour = accounting.MoneyOf(accounting.PerHour(accounting.Prices{"cpu": 1}, tres))
			e.Amount = e.PerHour.For(time.Duration(e.Elapsed()-e.Suspended) * time.Second)
			e.Days(tres, func(d int64, s book.Sums) {
				want.Add(&s, 1)
				sum := daily[d]
				sum.Add(&s, 1)
				daily[d] = sum
			})
		}
		got := book.Sums{}
		rows, err := s.BookedSums(t.Context(), book.SumQuery{Until: 1 << 20, Every: book.Daily, Where: map[book.Dimension][]string{book.BySite: {site}}})
		if err != nil {
			rt.Fatal(err)
		}
		for i := range rows {
			got.Add(&rows[i].Sums, 1)
			sum := daily[rows[i].Period]
			sum.Add(&rows[i].Sums, -1)
			daily[rows[i].Period] = sum
		}
		if got != want {
			rt.Fatalf("the books have\n%+v\nthe site had\n%+v", got, want)
		}
		for day, left := range daily {
			if !left.Zero() {
				rt.Fatalf("day %d: %+v", day, left)
			}
		}
	})
}
