package report_test

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fsub/accounting"
	"fsub/accounting/ledger"
	"fsub/accounting/report"
	"fsub/accounting/report/page"
)

func day(text string) time.Time {
	t, err := time.Parse(time.DateOnly, text)
	if err != nil {
		panic(err)
	}
	return t
}

func line(account, gpu, fate string, hours int64) report.Line {
	return report.Line{Period: "2026-11-18", Values: []string{account}, Fate: fate, Sums: ledger.Sums{Runs: 1, GPU: hours * 3600, CPU: hours * 8 * 3600, Amount: accounting.Money(hours) * 2 * accounting.Dollar,
		Dearest: accounting.Money(hours) * 5 * accounting.Dollar, List: accounting.Money(hours) * 2 * accounting.Dollar, First: accounting.Money(hours) * 3 * accounting.Dollar,
		CPUUsed: hours * 4 * 3600, CPUOf: hours * 8 * 3600, Waited: 120, Waits: [ledger.Buckets]int64{0, 1}}}
}

var team = []report.Line{line("ml", "h100", "productive", 60), line("ml", "h100", "lost", 30), line("ml", "h100", "idle", 10), line("bio", "", "productive", 20), line("", "", "unused", 3)}

// Of 100 GPU hours of a team, sixty moved a job forward.
func TestGoodput(t *testing.T) {
	r, err := report.Make(report.Query{Kind: "goodput", By: []string{"account"}, From: day("2026-11-01"), Until: day("2026-12-01")}, team)
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Rows[0]; got.Keys[0] != "ml" || got.Numbers[0] != 100 || got.Numbers[1] != 60 || got.Numbers[4] != 30 || got.Numbers[5] != 10 {
		t.Errorf("%+v", got)
	}
}

func TestForecast(t *testing.T) {
	var lines []report.Line
	for d := range 28 {
		l := line("ml", "h100", "productive", 5)
		l.Period = day("2026-11-18").AddDate(0, 0, -d).Format(time.DateOnly)
		lines = append(lines, l)
	}
	r, err := report.Make(report.Query{Kind: "forecast", By: []string{"account"}, From: day("2026-11-01"), Until: day("2026-11-20"), Now: day("2026-11-19")}, lines)
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Rows[0].Numbers; got[0] != 180 || got[1] != 10 || math.Abs(got[2]-300) > 1e-6 || math.Abs(got[3]-300) > 1e-6 {
		t.Errorf("so far, a day, at the end of the month: %v", got)
	}
}

// On the first day nothing says what a day comes to, on the second nothing how far days differ. The weeks before a team has begun do not count as weeks without spending.
func TestForecastOfTheFirstDays(t *testing.T) {
	none := math.NaN()
	for _, c := range []struct {
		days int // that are over
		want []float64
	}{
		{0, []float64{10, none, none, 10, none}},
		{1, []float64{20, 10, 130, 20, none}},
		{2, []float64{30, 10, 140, 140, 140}},
	} {
		var lines []report.Line
		for d := range c.days + 1 {
			l := line("ml", "h100", "productive", 5)
			l.Period = day("2026-11-19").AddDate(0, 0, -d).Format(time.DateOnly)
			lines = append(lines, l)
		}
		r, err := report.Make(report.Query{Kind: "forecast", By: []string{"account"}, From: day("2026-11-01"), Until: day("2026-11-20"), Now: day("2026-11-20").Add(-time.Nanosecond)}, lines)
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range r.Rows[0].Numbers {
			if math.IsNaN(v) != math.IsNaN(c.want[i]) || math.Abs(v-c.want[i]) > 1e-6 {
				t.Errorf("after %d days: %v, want %v", c.days, r.Rows[0].Numbers, c.want)
			}
		}
	}
}

// Where all have waited for seconds, half of them are not said to have waited for a minute.
func TestWaitOfSeconds(t *testing.T) {
	l := line("ml", "h100", "productive", 5)
	l.Runs, l.Waited, l.Waits = 100, 200, [ledger.Buckets]int64{100}
	r, err := report.Make(report.Query{Kind: "wait", By: []string{"account"}, From: day("2026-11-01"), Until: day("2026-11-20")}, []report.Line{l})
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Rows[0].Numbers; got[0] != 2 || got[1] != 4 || math.Abs(got[2]-20) > 1e-6 {
		t.Errorf("mean, half within, nine tenths within: %v", got)
	}
}

// Whatever is told apart, the total is the same, and rows of amounts add up to it.
func TestTotals(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) report.Line {
			l := line(rapid.SampledFrom([]string{"a", "b", ""}).Draw(t, "account"), "", rapid.SampledFrom(ledger.Fates).Draw(t, "fate"), rapid.Int64Range(0, 1000).Draw(t, "hours"))
			l.Period = day("2026-11-01").AddDate(0, 0, rapid.IntRange(0, 40).Draw(t, "day")).Format(time.DateOnly)
			return l
		}), 0, 30).Draw(t, "lines")
		kind := rapid.SampledFrom([]string{"usage", "cost", "savings"}).Draw(t, "kind")
		q := report.Query{Kind: kind, From: day("2026-11-01"), Until: day("2026-12-20")}
		whole, err := report.Make(q, strip(lines))
		if err != nil {
			t.Fatal(err)
		}
		q.By, q.Every = []string{"account"}, rapid.SampledFrom([]string{"", "day", "week"}).Draw(t, "every")
		by, err := report.Make(q, lines)
		if err != nil {
			t.Fatal(err)
		}
		sum := 0.0
		for _, r := range by.Rows {
			sum += r.Numbers[0]
		}
		if math.Abs(sum-whole.Total.Numbers[0]) > 1e-6 || math.Abs(by.Total.Numbers[0]-whole.Total.Numbers[0]) > 1e-9 {
			t.Fatalf("rows add up to %v, totals are %v and %v", sum, by.Total.Numbers[0], whole.Total.Numbers[0])
		}
	})
}

func strip(lines []report.Line) []report.Line {
	out := append([]report.Line(nil), lines...)
	for i := range out {
		out[i].Values = nil
	}
	return out
}

// A job's name does not become a formula in the spreadsheet that opens the report; numbers stay numbers.
func TestCSVHasNoFormulas(t *testing.T) {
	table := report.Table{Keys: []string{"job"}, Columns: []report.Column{{Name: "cost"}}}
	for _, name := range []string{`=HYPERLINK("http://x","y")`, "+1", "-1+1", "@SUM(A1)", "\tx", "\rx", "train", "a=b", ""} {
		table.Rows = append(table.Rows, report.Row{Keys: []string{name}, Numbers: []report.Value{-1.5}})
	}
	var out bytes.Buffer
	if err := table.CSV(&out); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&out).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{`'=HYPERLINK("http://x","y")`, "'+1", "'-1+1", "'@SUM(A1)", "'\tx", "'\rx", "train", "a=b", ""} {
		if r := rows[1+i]; r[0] != want || r[1] != "-1.5" {
			t.Errorf("%q, want %q and -1.5", r, want)
		}
	}
}

// A table for people has numbers at the right, their units in the heading, and nothing of less than a cent as nothing.
func TestText(t *testing.T) {
	table := report.Table{Title: "Cost", Span: "today", Keys: []string{"user"}, Columns: []report.Column{{Name: "cost", Form: report.Money}, {Name: "used_percent", Form: report.Percent}, {Name: "runs", Form: report.Count}},
		Rows: []report.Row{{Keys: []string{"träger"}, Numbers: []report.Value{1234.5, 99.5, 1}}, {Keys: []string{"bo"}, Numbers: []report.Value{0.004, 0.5, 10}}, {Keys: []string{""}, Numbers: []report.Value{0, math.NaN(), 0}}}}
	var out strings.Builder
	if err := table.Text(&out); err != nil {
		t.Fatal(err)
	}
	want := "Cost, today\n" +
		"USER    COST($)  USED(%)  RUNS\n" +
		"träger  1234.50     99.5     1\n" +
		"bo        <0.01      0.5    10\n" +
		"-          0.00        -     0\n"
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

// Every kind is written in every form, with nothing in it too.
func TestForms(t *testing.T) {
	for _, kind := range report.Kinds {
		for _, lines := range [][]report.Line{team, nil} {
			r, err := report.Make(report.Query{Kind: kind, By: []string{"account"}, From: day("2026-11-01"), Until: day("2026-12-01"), Now: day("2026-11-19")}, lines)
			if err != nil {
				t.Fatal(err)
			}
			var text, html, json bytes.Buffer
			if err := r.CSV(&text); err != nil {
				t.Fatal(err)
			}
			rows, err := csv.NewReader(&text).ReadAll()
			total := min(len(r.Rows), 1)
			if err != nil || len(rows) != 1+len(r.Rows)+total || rows[0][2] != "account" || total > 0 && (rows[1][0] != "2026-11-01" || rows[1][1] != "2026-11-30" || rows[len(rows)-1][2] != "total") {
				t.Errorf("%s: CSV %v, %v", kind, rows, err)
			}
			if err := r.JSON(&json); err != nil {
				t.Errorf("%s: JSON: %v", kind, err)
			}
			if err := page.Write(&html, r); err != nil {
				t.Fatalf("%s: %v", kind, err)
			}
			page := html.String()
			if len(lines) > 0 && !strings.Contains(page, "<svg") || strings.Contains(page, "<script") || strings.Contains(page, "https://") {
				t.Errorf("%s: the page has no chart, or needs something from elsewhere", kind)
			}
			if want := `<p class="caption">hours, by what became of them</p>`; len(lines) > 0 && strings.Contains(page, want) != (kind == "goodput") {
				t.Errorf("%s: the chart says %q: %v", kind, want, kind != "goodput")
			}
			if dir := os.Getenv("FSUB_REPORT_PAGES"); dir != "" && lines != nil {
				if err := os.WriteFile(dir+"/"+kind+".html", html.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	r, err := report.Make(report.Query{Kind: "cost", By: []string{"account"}, Every: "day", From: day("2026-11-01"), Until: day("2026-12-01")}, team)
	if err != nil {
		t.Fatal(err)
	}
	var html bytes.Buffer
	if err := page.Write(&html, r); err != nil || !strings.Contains(html.String(), `<p class="caption">cost, $</p>`) {
		t.Errorf("nobody says what is drawn by day for each account: %v", err)
	}
	if _, err := report.Make(report.Query{Kind: "x"}, nil); err == nil || !strings.Contains(err.Error(), "want usage") {
		t.Errorf("%v", err)
	}
}

// A report asks the ledger for all sums that it is made of.
func TestNeeds(t *testing.T) {
	full := line("ml", "h100", "productive", 60)
	for i, v := range full.Fields() {
		*v = int64(i+1) * 1_000_000_007
	}
	for _, kind := range report.Kinds {
		spec := report.Spec{Kind: kind, By: []string{"account"}}
		q, ask, err := spec.Ask(day("2026-11-19"))
		if err != nil {
			t.Fatal(err)
		}
		asked := full
		for i, v := range asked.Fields() {
			if !slices.Contains(strings.Split(ask.Get("sums"), ","), ledger.SumNames[i]) {
				*v = 0
			}
		}
		want, _ := report.Make(q, []report.Line{full})
		got, err := report.Make(q, []report.Line{asked})
		if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %v\n%v, of all sums %v", kind, err, got, want)
		}
	}
	if len(ledger.SumNames) != ledger.Width {
		t.Errorf("%d names of %d sums", len(ledger.SumNames), ledger.Width)
	}
}
