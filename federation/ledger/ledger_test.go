package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fsub/accounting"
	book "fsub/accounting/ledger"
	"fsub/federation"
	"fsub/federation/decision"
	"fsub/federation/driver"
	"fsub/federation/journal"
	"fsub/federation/ledger"
	"fsub/federation/store"
	"fsub/sbatch"
)

// site is a site's accounting: what it tells of a span of time, and what it does wrong.
type site struct {
	runs  []driver.SiteRun
	fails func(from, until time.Time) error
	asked int
	most  int // runs in one answer
	// measured is the most runs in an answer with their steps.
	measured int
}

func (s *site) Live(context.Context) ([]driver.SiteRun, error) { return nil, nil }

func (s *site) Accounts(_ context.Context, from, until time.Time, steps bool) (out []driver.SiteRun, err error) {
	if s.asked++; s.fails != nil {
		if err := s.fails(from, until); err != nil {
			return nil, err
		}
	}
	for _, r := range s.runs {
		if r.End >= from.Unix() && r.End <= until.Unix() {
			out = append(out, r)
		}
	}
	if !steps {
		s.most = max(s.most, len(out))
		return out, nil
	}
	s.measured = max(s.measured, len(out))
	for i := range out {
		out[i].CPUUsed = 100
	}
	return out, nil
}

var now = time.Unix(1_700_000_000, 0)

type fixture struct {
	*testing.T
	store *store.Store
	site  *site
	books *ledger.Collector
	now   time.Time
}

func newFixture(t *testing.T) *fixture {
	s, err := store.Open(t.Context(), store.Config{Volatile: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	f := &fixture{T: t, store: s, site: &site{}, now: now}
	f.begin()
	return f
}

// begin starts the collector, as a daemon does.
func (f *fixture) begin() {
	f.books = ledger.New(ledger.Config{Store: f.store, Books: f.store, Logger: slog.New(slog.DiscardHandler), History: 30 * 24 * time.Hour, Now: func() time.Time { return f.now }, BillStore: f.store, Rest: func(context.Context, time.Duration) {},
		Sites: []ledger.Site{{Name: "rhein", Accounts: f.site, Prices: accounting.Prices{"cpu": 1}, Users: map[string]federation.SiteUser{"alice": {Name: "al"}}}}})
}

func (f *fixture) read() {
	f.Helper()
	if err := f.books.Site(f.Context(), "rhein"); err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) total() (sum book.Sums) {
	f.Helper()
	rows, err := f.store.BookedSums(f.Context(), book.SumQuery{Until: 1 << 20})
	if err != nil {
		f.Fatal(err)
	}
	for i := range rows {
		sum.Add(&rows[i].Sums, 1)
	}
	return sum
}

// run is a run of two CPUs for an hour that was submitted at the site.
func run(number int64, ended time.Time) driver.SiteRun {
	end := ended.Unix()
	return driver.SiteRun{Entry: book.Entry{ID: book.ID{Site: "rhein", Job: number, At: end - 4000}, Source: book.FromSite, ReadAt: now.UnixMilli(), TRES: "cpu=2", State: "COMPLETED",
		Start: end - 3600, End: end, CPUUsed: -1, GPUUsed: -1, Group: book.Group{Site: "rhein", Account: "bio", User: "al"}}}
}

// A site whose accounting is not read cannot be compared, and the answer says which key is off. One that has none is passed over.
func TestCheckOfWhatIsNotRead(t *testing.T) {
	f := newFixture(t)
	books := ledger.New(ledger.Config{Store: f.store, Books: f.store, Sites: []ledger.Site{{Name: "rhein", Unread: true}, {Name: "local"}}})
	if _, err := books.Check(t.Context(), "rhein", 0, 1); errors.Is(err, federation.ErrInvalid) || err == nil || !strings.Contains(err.Error(), "books: {sites: true}") {
		t.Errorf("not read: %v", err)
	}
	if _, err := books.Check(t.Context(), "local", 0, 1); !errors.Is(err, federation.ErrInvalid) {
		t.Errorf("no accounting: %v", err)
	}
}

// A run is booked on the account that pays for it, whichever the site has it under, and that is no difference from what the site's accounting says.
func TestPayerCounts(t *testing.T) {
	for _, siteFirst := range []bool{false, true} {
		f := newFixture(t)
		j := &federation.Job{Spec: &sbatch.Spec{Name: "train"}, User: "alice", UID: 1, Submit: now.Add(-2 * time.Hour)}
		if err := f.store.CreateJob(t.Context(), j, &sbatch.Payload{}); err != nil {
			t.Fatal(err)
		}
		k := federation.Charge{Job: j.ID, Key: "k", Attempt: 1, Run: 1, Site: "rhein", User: "alice", State: federation.Completed, Start: now.Add(-time.Hour), End: now, From: federation.PriceTable}
		k.Account, k.SiteAccount, k.TRES, k.PricePerHour, k.Amount = "nlp", "bio", "cpu=2", 2*accounting.Dollar, 2*accounting.Dollar
		r := run(int64(j.ID), now)
		r.ID = book.ID{Site: "rhein", Kind: book.OwnJob, Job: int64(j.ID), At: now.Unix() - 3600}
		f.site.runs = []driver.SiteRun{r, run(7, now)}
		if siteFirst {
			f.read()
		}
		if err := f.store.Commit(t.Context(), &journal.Batch{Charges: []federation.Charge{k}}); err != nil {
			t.Fatal(err)
		}
		if _, err := f.books.Charges(t.Context()); err != nil {
			t.Fatal(err)
		}
		f.read()
		rows, err := f.store.BookedSums(t.Context(), book.SumQuery{Until: 1 << 20, By: []book.Dimension{book.ByAccount}})
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]accounting.Money{}
		for i := range rows {
			got[rows[i].Values[0]] = rows[i].Amount
		}
		if want := map[string]accounting.Money{"nlp": 2 * accounting.Dollar, "bio": 2 * accounting.Dollar}; !maps.Equal(got, want) {
			t.Errorf("site first %v: booked %v, want %v", siteFirst, got, want)
		}
		today := book.DayOf(now.Unix())
		c, err := f.books.Check(t.Context(), "rhein", today-1, today+1)
		if err != nil || len(c.Differences) > 0 || c.Runs != 2 || c.OtherAccount != 1 {
			t.Errorf("site first %v: check %+v, %v", siteFirst, c, err)
		}
	}
}

// A run of ours is charged here and recorded there, and counts once, whichever comes first.
func TestOursCountOnce(t *testing.T) {
	for _, siteFirst := range []bool{false, true} {
		f := newFixture(t)
		j := &federation.Job{Spec: &sbatch.Spec{Name: "train-7", Fed: &sbatch.Fed{Group: "sweep/lr-3"}}, User: "alice", UID: 1, Submit: now.Add(-2 * time.Hour)}
		if err := f.store.CreateJob(t.Context(), j, &sbatch.Payload{}); err != nil {
			t.Fatal(err)
		}
		k := federation.Charge{Job: j.ID, Key: "k", Attempt: 1, Run: 1, Site: "rhein", User: "alice", State: federation.Completed, Start: now.Add(-time.Hour), End: now, From: federation.PriceTable}
		k.Account, k.TRES, k.PricePerHour, k.Amount = "bio", "cpu=2", 3*accounting.Dollar, 3*accounting.Dollar
		r := run(int64(j.ID), now)
		r.ID = book.ID{Site: "rhein", Kind: book.OwnJob, Job: int64(j.ID), At: now.Unix() - 3600}
		f.site.runs = []driver.SiteRun{r}
		charge := func() {
			if err := f.store.Commit(t.Context(), &journal.Batch{Charges: []federation.Charge{k}}); err != nil {
				t.Fatal(err)
			}
			if _, err := f.books.Charges(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := f.books.Charges(t.Context()); err != nil { // the mark
			t.Fatal(err)
		}
		if siteFirst {
			f.read()
		}
		charge()
		f.read()
		if got := f.total(); got.Runs != 1 || got.CPU != 7200 || got.Amount != 3*accounting.Dollar {
			t.Errorf("site first %v: %+v", siteFirst, got)
		}
		rows, err := f.store.BookedSums(t.Context(), book.SumQuery{Until: 1 << 20, By: []book.Dimension{book.ByUser, book.ByJobGroup}})
		rows = slices.DeleteFunc(rows, func(r book.SumRow) bool { return r.Sums.Zero() }) // what the site said before the charge
		if err != nil || len(rows) != 1 || rows[0].Values[0] != "alice" || rows[0].Values[1] != "sweep" {
			t.Errorf("users and groups %+v, %v", rows, err)
		}
	}
}

// What was submitted at the site counts, at the site's prices; what it learns of late too, and what was read is not read as new.
func TestSiteIsRead(t *testing.T) {
	f := newFixture(t)
	f.site.runs = []driver.SiteRun{run(1, now.Add(-20*24*time.Hour)), run(2, now.Add(-40*24*time.Hour)), run(3, now)}
	f.read()
	if got := f.total(); got.Runs != 2 || got.Amount != 4*accounting.Dollar {
		t.Fatalf("at first: %+v", got)
	}
	f.now = now.Add(2 * time.Hour)
	f.site.runs = append(f.site.runs, run(4, now.Add(-5*time.Hour)), run(5, f.now))
	f.begin()
	f.read()
	f.read()
	if got := f.total(); got.Runs != 4 {
		t.Errorf("later: %+v", got)
	}
}

// A site that cannot answer for a long span is asked for shorter ones; what failed is asked for again.
func TestSiteThatCannotAnswer(t *testing.T) {
	f := newFixture(t)
	for i := range 200 {
		f.site.runs = append(f.site.runs, run(int64(i), now.Add(-time.Duration(i)*time.Hour)))
	}
	f.site.fails = func(from, until time.Time) error {
		if until.Sub(from) > 20*time.Minute {
			return driver.ErrTooLong
		}
		return nil
	}
	f.read()
	f.site.fails = func(time.Time, time.Time) error { return federation.ErrUnavailable }
	f.now = now.Add(time.Hour)
	f.site.runs = append(f.site.runs, run(1000, f.now))
	if err := f.books.Site(t.Context(), "rhein"); !errors.Is(err, federation.ErrUnavailable) {
		t.Errorf("a site that is down: %v", err)
	}
	f.site.fails = nil
	f.now = f.now.Add(time.Minute)
	f.read()
	if got := f.total(); got.Runs != 201 {
		t.Errorf("%+v", got)
	}
}

// rented are machines.
type rented []driver.Machine

func (r rented) Machines(context.Context, federation.SiteName, time.Time, int) ([]driver.Machine, error) {
	return r, nil
}

// What a machine cost beyond its runs is booked once, when it has ended, by what it did meanwhile.
func TestMachinesWithoutJobs(t *testing.T) {
	f := newFixture(t)
	c := *f.books
	const hourly = 36 * accounting.Dollar // a cent a second
	c.Rented = rented{
		{Site: "aws", ID: "m1", CPUs: 100, GPUs: 8, GPUType: "h100", PricePerHour: hourly, Created: now.Add(-2 * time.Hour), Ready: now.Add(-110 * time.Minute), Ended: now, Cost: 72 * accounting.Dollar, IdleCost: 18 * accounting.Dollar,
			GangWait: 3 * accounting.Dollar, Drained: 2 * accounting.Dollar},
		{Site: "aws", ID: "m2", PricePerHour: hourly, Created: now.Add(-time.Hour), Ended: now, IdleCost: 36 * accounting.Dollar, Stray: true},
		{Site: "aws", ID: "m3", PricePerHour: hourly, Created: now.Add(-time.Hour)},                                                       // still there
		{Site: "aws", ID: "m4", PricePerHour: hourly, Created: now.Add(-time.Hour), Ended: now, IdleCost: 36 * accounting.Dollar},         // it never came up
		{Site: "aws", ID: "m5", PricePerHour: hourly, Created: now.Add(-time.Hour), Ready: now, Ended: now, Cost: 36 * accounting.Dollar}, // its run took all of it
	}
	for range 2 {
		if err := c.Machines(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	rows, err := f.store.BookedSums(t.Context(), book.SumQuery{Until: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	got := map[book.Fate][3]int64{} // cents, GPU seconds, seconds
	for _, r := range rows {
		got[r.Fate] = [3]int64{int64(r.Amount) * 100 / accounting.Dollar, r.GPU, r.Node}
		if r.CPU*8 != r.GPU*100 {
			t.Errorf("%v: %d seconds of CPUs for %d of GPUs", r.Fate, r.CPU, r.GPU)
		}
	}
	if byGPU, err := f.store.BookedSums(t.Context(), book.SumQuery{Until: 1 << 20, By: []book.Dimension{book.ByGPU}}); err != nil ||
		!slices.ContainsFunc(byGPU, func(r book.SumRow) bool { return r.GPU > 0 && slices.Equal(r.Values, []string{"h100"}) }) {
		t.Errorf("by GPU: %+v, %v", byGPU, err)
	}
	want := map[book.Fate][3]int64{book.Provisioning: {600 + 3600, 8 * 600, 600 + 3600}, book.GangWait: {300, 8 * 300, 300}, book.Drained: {200, 8 * 200, 200}, book.Unused: {700, 8 * 700, 700}, book.Leaked: {3600, 0, 3600}}
	if !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// Whatever a machine is said to have done, its entries come to what it cost beyond its runs.
func TestFatesComeToTheCost(t *testing.T) {
	f := newFixture(t)
	all := rented{}
	var want accounting.Money
	var seconds int64
	rapid.Check(t, func(t *rapid.T) {
		money := func(name string) accounting.Money { return accounting.Money(rapid.Int64Range(0, 1e9).Draw(t, name)) }
		life := time.Duration(rapid.Int64Range(0, 1e15).Draw(t, "life"))
		m := driver.Machine{Site: "aws", ID: fmt.Sprint("m", len(all)), GPUs: 1, PricePerHour: 1 + money("price"), Created: now.Add(-life), Ended: now, GangWait: money("gang"), Drained: money("drained")}
		if rapid.Bool().Draw(t, "ready") {
			m.Ready = m.Created.Add(time.Duration(rapid.Int64Range(0, int64(life)).Draw(t, "boot")))
		}
		m.Cost = m.PricePerHour.For(life)
		m.IdleCost = max(0, m.Cost-money("charged"))
		want += m.IdleCost
		seconds += int64(math.Round(m.IdleCost.Dollars() / m.PricePerHour.Dollars() * 3600))
		all = append(all, m)
	})
	c := *f.books
	c.Rented = all
	if err := c.Machines(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := f.total(); got.Amount != want || got.GPU != seconds || want == 0 {
		t.Errorf("%v for %d GPU seconds, want %v for %d", got.Amount, got.GPU, want, seconds)
	}
}

// What a run would have cost elsewhere is reckoned from the offers that placement weighed.
func TestSavings(t *testing.T) {
	f := newFixture(t)
	j := &federation.Job{Spec: &sbatch.Spec{Name: "train"}, User: "alice", UID: 1, Submit: now.Add(-2 * time.Hour)}
	if err := f.store.CreateJob(t.Context(), j, &sbatch.Payload{}); err != nil {
		t.Fatal(err)
	}
	offer := func(site federation.SiteName, offering string, wait time.Duration, run decision.Dollars) *decision.Offer {
		return &decision.Offer{Site: site, Pool: "p", Offering: offering, Wait: wait, GPUType: "h100", Nodes: 1, GPUs: 8, Terms: []decision.Term{{Name: "run", Amount: run}, {Name: "wait", Amount: 99}}}
	}
	a := &federation.Attempt{Job: j.ID, Number: 1, Key: "k", Site: "weser", State: federation.AttemptStarted, Created: now.Add(-2 * time.Hour), Decision: decision.Decision{Job: j.ID, Bind: true,
		Offers: []*decision.Offer{offer("weser", "p5/a/spot", 0, 10), offer("weser", "p5/a/on-demand", 0, 30), offer("elbe", "", 0, 20), offer("aare", "", time.Hour, 15), offer("rhein", "", 0, 50)}}}
	k := federation.Charge{Job: j.ID, Key: "k", Attempt: 1, Run: 1, Site: "weser", User: "alice", State: federation.Completed, Start: now.Add(-2 * time.Hour), End: now, From: federation.PriceOffering}
	k.TRES, k.PricePerHour, k.Amount = "cpu=2", 4*accounting.Dollar, 8*accounting.Dollar
	if err := f.store.Commit(t.Context(), &journal.Batch{Attempts: []*federation.Attempt{a}, Charges: []federation.Charge{k}}); err != nil {
		t.Fatal(err)
	}
	if _, err := f.books.Charges(t.Context()); err != nil {
		t.Fatal(err)
	}
	// Eight dollars as run; elbe is the first in order of names that would have started it at once.
	if got := f.total(); got.Amount != 8*accounting.Dollar || got.Dearest != 40*accounting.Dollar || got.List != 24*accounting.Dollar || got.First != 16*accounting.Dollar {
		t.Errorf("as run %v, dearest %v, at list price %v, first fit %v", got.Amount, got.Dearest, got.List, got.First)
	}
}
