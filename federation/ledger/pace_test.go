package ledger_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	book "fsub/accounting/ledger"
	"fsub/federation"
	"fsub/federation/driver"
)

// A minute in which 50,000 jobs end is read in answers of some hundreds; each run is booked once, and the dense time is not read again and again.
func TestBusyMinute(t *testing.T) {
	f := newFixture(t)
	begin := now.Add(-3 * time.Hour)
	for i := range 50_000 {
		r := run(int64(i+1), begin.Add(time.Duration(i)*time.Minute/50_000))
		f.site.runs = append(f.site.runs, r)
	}
	for i := range 60 {
		f.site.runs = append(f.site.runs, run(int64(100_001+i), now.Add(-time.Duration(i)*time.Hour)))
	}
	dense, spans := 0, map[time.Duration]int{}
	f.site.fails = func(from, until time.Time) error { // what is too much for it is a timeout
		n := 0
		for s := range 60 {
			if end := begin.Unix() + int64(s); end >= from.Unix() && end <= until.Unix() {
				n += 50_000 / 60
			}
		}
		if n > 0 {
			dense++
			spans[until.Sub(from)]++
		}
		if n > 3000 {
			return federation.ErrUnavailable
		}
		return nil
	}
	failed := 0
	for range 100 {
		if err := f.books.Site(t.Context(), "rhein"); err == nil {
			break
		} else if failed++; !errors.Is(err, federation.ErrUnavailable) {
			t.Fatal(err)
		}
		f.now = f.now.Add(20 * time.Minute)
	}
	if got := f.total(); got.Runs != 50_060 || got.CPU != 2*3600*50_060 {
		t.Fatalf("after %d failures: %+v", failed, got)
	}
	if failed == 0 || failed > 30 || f.site.most > 3000 {
		t.Errorf("%d failures, %d runs in an answer", failed, f.site.most)
	}
	t.Logf("%d failures, %d questions, %d of the dense minute, %v", failed, f.site.asked, dense, spans)
	dense = 0
	for range 8 { // the hour is not read again until it is a day old
		f.now = f.now.Add(61 * time.Minute)
		f.read()
	}
	if dense > 0 {
		t.Errorf("the dense minute was asked for %d times more", dense)
	}
	f.now = now.Add(21 * time.Hour)
	for range 100 {
		if f.books.Site(t.Context(), "rhein") == nil {
			break
		}
		f.now = f.now.Add(20 * time.Minute)
	}
	if got := f.total(); dense == 0 || got.Runs != 50_060 {
		t.Errorf("a day later: asked %d times, %+v", dense, got)
	}
}

// A site that does not answer is asked less and less often, for less and less time.
func TestRestsAfterTimeouts(t *testing.T) {
	f := newFixture(t)
	var at []time.Time
	var span []time.Duration
	f.site.fails = func(from, until time.Time) error {
		at, span = append(at, f.now), append(span, until.Sub(from))
		return context.DeadlineExceeded
	}
	for range 2 * 3600 / 30 {
		_ = f.books.Site(t.Context(), "rhein")
		f.now = f.now.Add(30 * time.Second)
	}
	if len(at) < 8 || len(at) > 16 {
		t.Fatalf("asked %d times in two hours", len(at))
	}
	for i := 1; i < len(at); i++ {
		if span[i] > span[i-1] || i > 6 && (span[i] != time.Second || at[i].Sub(at[i-1]) < 11*time.Minute) {
			t.Errorf("asked for %v, %v after it was asked for %v", span[i], at[i].Sub(at[i-1]), span[i-1])
		}
	}
	// Afterwards it asks for little, and for more bit by bit.
	f.now, span = f.now.Add(time.Hour), nil
	f.site.fails = func(from, until time.Time) error { span = append(span, until.Sub(from)); return nil }
	f.read()
	if span[0] != time.Second {
		t.Errorf("the first question after timeouts is for %v", span[0])
	}
	for i := 1; i < len(span); i++ {
		if span[i] > 2*max(span[i-1], time.Second) && span[i] > time.Hour {
			t.Errorf("from %v to %v", span[i-1], span[i])
		}
	}
}

// A machine that is busy answers late, whatever it is asked. A month is asked for all the same, and not by the minute.
func TestSlowSite(t *testing.T) {
	f := newFixture(t)
	f.site.runs = []driver.SiteRun{run(1, now.Add(-29*24*time.Hour)), run(2, now.Add(-time.Hour))}
	f.site.fails = func(from, until time.Time) error { f.now = f.now.Add(4 * time.Second); return nil }
	for range 400 {
		f.read()
		if f.total().Runs == 2 {
			break
		}
	}
	if got := f.total(); got.Runs != 2 || f.site.asked > 1000 {
		t.Errorf("asked %d times: %+v", f.site.asked, got)
	}
	f.site.asked = 0
	if c, err := f.books.Check(t.Context(), "rhein", book.DayOf(now.Unix())-3, book.DayOf(now.Unix())+1); err != nil || len(c.Differences) > 0 || f.site.asked > 200 {
		t.Errorf("asked %d times: %+v, %v", f.site.asked, c, err)
	}
}

// What runs used is read with few of them in an answer, and once.
func TestMeasures(t *testing.T) {
	f := newFixture(t)
	for i := range 500 {
		f.site.runs = append(f.site.runs, run(int64(i+1), now.Add(-time.Duration(2*i)*time.Second)))
	}
	f.read()
	if got := f.total(); got.Runs != 500 || got.CPUUsed != 500*100 || f.site.measured > 50 {
		t.Errorf("%d runs with steps in an answer, %+v", f.site.measured, got)
	}
	f.site.measured = 0
	f.read()
	if f.site.measured > 0 {
		t.Error("steps were read again")
	}
	f.begin() // another daemon: answers without steps change nothing
	f.site.fails = func(from, until time.Time) error { return nil }
	f.read()
	if got := f.total(); got.CPUUsed != 500*100 {
		t.Errorf("read again by another daemon: %+v", got)
	}
}

// A site whose answers are too long even for a second is left alone, not asked for each second of a month.
func TestAlwaysTooLong(t *testing.T) {
	f := newFixture(t)
	f.site.fails = func(from, until time.Time) error { return driver.ErrTooLong }
	if err := f.books.Site(t.Context(), "rhein"); !errors.Is(err, federation.ErrUnavailable) || f.site.asked > 20 {
		t.Errorf("asked %d times: %v", f.site.asked, err)
	}
}

// A text that cannot be read does not keep others from being booked.
func TestUnreadableTRES(t *testing.T) {
	f := newFixture(t)
	bad := run(1, now.Add(-time.Hour))
	bad.TRES = "cpu=2,energy=-2,mem=x"
	f.site.runs = []driver.SiteRun{bad, run(2, now.Add(-time.Hour))}
	f.read()
	if got := f.total(); got.Runs != 2 || got.CPU != 2*7200 {
		t.Errorf("%+v", got)
	}
}

// A run that cannot be true is set aside and named, and keeps no other from being booked.
func TestImpossibleRun(t *testing.T) {
	f := newFixture(t)
	bad, huge := run(1, now.Add(-time.Hour)), run(2, now.Add(-time.Hour))
	bad.Start, huge.TRES = 1, "cpu=2,mem=80000000000G"
	f.site.runs = []driver.SiteRun{bad, huge, run(3, now.Add(-time.Hour))}
	f.read()
	if got := f.total(); got.Runs != 1 || got.CPU != 7200 {
		t.Errorf("%+v", got)
	}
	today := book.DayOf(now.Unix())
	c, err := f.books.Check(t.Context(), "rhein", today-1, today+1)
	if err != nil || len(c.Differences) != 2 || !strings.Contains(c.Differences[0].Why+c.Differences[1].Why, "set aside, since it cannot be booked: it ran for") {
		t.Errorf("%+v, %v", c, err)
	}
}
