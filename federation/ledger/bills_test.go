package ledger_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"fsub/accounting"
	book "fsub/accounting/ledger"
	"fsub/federation"
	"fsub/federation/driver"
)

// costs are what the books have of a site by day and name.
func (f *fixture) costs() map[string]accounting.Money {
	f.Helper()
	rows, err := f.store.BookedSums(f.Context(), book.SumQuery{Until: 1 << 20, By: []book.Dimension{book.ByName}, Every: book.Daily})
	if err != nil {
		f.Fatal(err)
	}
	out := map[string]accounting.Money{}
	for i := range rows {
		if m := rows[i].Amount; m != 0 {
			out[time.Unix(rows[i].Period*24*3600, 0).UTC().Format("01-02 ")+rows[i].Values[0]] += m
		}
	}
	return out
}

func (f *fixture) wantCosts(when string, want map[string]accounting.Money) {
	f.Helper()
	got := f.costs()
	for key, m := range want {
		if got[key] != m {
			f.Errorf("%s: %s: %v, want %v", when, key, got[key], m)
		}
		delete(got, key)
	}
	for key, m := range got {
		f.Errorf("%s: %s: %v, want nothing", when, key, m)
	}
}

// A bill settles what was estimated: nothing counts twice, and with the line of the difference the books come to what is paid.
func TestBillSettlesEstimate(t *testing.T) {
	f := newFixture(t) // now is 2023-11-14 22:13:20
	first := book.DayOf(time.Date(2023, 11, 1, 0, 0, 0, 0, time.UTC).Unix())
	noon := func(day int) time.Time { return time.Unix((first+int64(day)-1)*24*3600+12*3600, 0) }
	f.site.runs = []driver.SiteRun{run(1, noon(2)), run(2, noon(3)), run(3, noon(3)), run(4, noon(9))} // 2 dollars each
	f.read()
	const usd = accounting.Dollar
	bill := federation.Bill{Site: "rhein", From: first, Until: first + 30, Told: noon(9).Unix(), Format: "FOCUS", Rows: 9, Lines: []federation.BillLine{
		{Day: first + 1, Amount: 3 * usd}, {Day: first + 2, Amount: 3 * usd}, {Day: first + 8, Amount: usd}, {Day: first + 2, Service: "disk", Amount: 7 * usd}, {Day: first - 2, Amount: -usd}}}
	done, err := f.books.ImportBill(t.Context(), &bill, false)
	if err != nil {
		t.Fatal(err)
	}
	if done.SettledUntil != first+7 || done.Estimated != 6*usd || done.Billed != 5*usd || done.Machines != 6*usd || done.Others != 7*usd {
		t.Errorf("%+v", done)
	}
	const difference = "difference from the estimate"
	// On day 9 the bill may lack hours: the estimate stands.
	open := map[string]accounting.Money{"11-02 ": 2 * usd, "11-02 " + difference: usd, "11-03 ": 4 * usd, "11-03 " + difference: -usd, "11-03 disk": 7 * usd, "11-09 ": 2 * usd, "10-30 " + difference: -usd}
	f.wantCosts("open", open)
	if _, err := f.books.ImportBill(t.Context(), &bill, false); err != nil {
		t.Fatal(err)
	}
	f.wantCosts("imported twice", open)
	f.site.runs = append(f.site.runs, run(5, noon(2))) // heard of late
	f.read()
	if err := f.books.Again(t.Context(), "rhein", noon(1), noon(10)); err != nil {
		t.Fatal(err)
	}
	if err := f.books.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	open["11-02 "], open["11-02 "+difference] = 4*usd, -usd
	f.wantCosts("after a late run", open)

	closed := bill
	closed.Closed, closed.Lines = true, []federation.BillLine{{Day: first + 1, Amount: 5 * usd}, {Day: first + 2, Amount: 4 * usd}, {Day: first + 8, Amount: 3 * usd}}
	if _, err := f.books.ImportBill(t.Context(), &closed, false); err != nil {
		t.Fatal(err)
	}
	final := map[string]accounting.Money{"11-02 ": 4 * usd, "11-02 " + difference: usd, "11-03 ": 4 * usd, "11-09 ": 2 * usd, "11-09 " + difference: usd}
	f.wantCosts("closed", final)
	if _, err := f.books.ImportBill(t.Context(), &bill, false); !errors.Is(err, federation.ErrConflict) || !strings.Contains(err.Error(), "closed") {
		t.Errorf("a closed period was replaced: %v", err)
	}
	overlaps := closed
	overlaps.From += 5
	if _, err := f.books.ImportBill(t.Context(), &overlaps, false); !errors.Is(err, federation.ErrConflict) {
		t.Errorf("two bills of one day: %v", err)
	}
	nowhere := closed
	nowhere.Site = "elbe"
	if _, err := f.books.ImportBill(t.Context(), &nowhere, false); !errors.Is(err, federation.ErrNotFound) {
		t.Errorf("a bill of no site: %v", err)
	}
	f.wantCosts("refused", final)
	all, err := f.books.Settlements(t.Context())
	if err != nil || len(all) != 1 || all[0].Billed != 12*usd || all[0].Estimated != 10*usd {
		t.Errorf("%+v, %v", all, err)
	}
	if got := f.total(); got.Amount != 12*usd || got.Runs != 5 || got.Wall != 5*3600 {
		t.Errorf("in all %+v", got)
	}
	if _, err := f.books.ImportBill(t.Context(), &bill, true); err != nil {
		t.Fatal(err)
	}
	f.wantCosts("reopened", open)
}
