package format_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"html"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fsub/accounting"
	bill "fsub/accounting/bill/parquet"
	"fsub/accounting/ledger"
	"fsub/accounting/report"
	"fsub/accounting/report/format"
)

var first = time.Date(2026, 9, 20, 0, 0, 0, 0, time.UTC)

// lines are sums as the ledger tells them: by all dimensions, by day.
func lines(t *rapid.T) []report.Line {
	word := func(of ...string) string { return rapid.SampledFrom(of).Draw(t, "word") }
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) report.Line {
		runs, hours := rapid.Int64Range(0, 50).Draw(t, "runs"), rapid.Int64Range(0, 5000).Draw(t, "seconds")
		s := ledger.Sums{Runs: runs, GPU: hours * 8, CPU: hours * 64, Mem: hours * 4096, Node: hours, Amount: accounting.Money(rapid.Int64Range(-1e6, 1e9).Draw(t, "amount")), Waited: runs * 30}
		s.Dearest, s.List, s.First, s.Waits[0] = 3*s.Amount, 2*s.Amount, s.Amount, runs
		return report.Line{Period: first.AddDate(0, 0, rapid.IntRange(0, 60).Draw(t, "day")).Format(time.DateOnly), Fate: word(ledger.Fates...), Sums: s,
			Values: []string{word("alpha", "sky"), word("bio", "ml", ""), word("ann", "bob", `o"neil, <b>`), word("normal", "(bill)"), word("gpu", "cpu"), word("h100", ""), word("train-#", "prep"), word("", "sweep")}}
	}), 0, 40).Draw(t, "lines")
}

// project tells apart what by names, as the ledger does.
func project(all []report.Line, by []string, every string) []report.Line {
	out := make([]report.Line, len(all))
	for i, l := range all {
		l.Values = nil
		for _, d := range by {
			for at, name := range report.Dimensions {
				if name == d {
					l.Values = append(l.Values, all[i].Values[at])
				}
			}
		}
		if every == "month" {
			l.Period = l.Period[:7]
		}
		out[i] = l
	}
	return out
}

// Whatever a report tells apart, its rows add up to the same total, in every format that it is written in.
func TestTotalsOfAllGroupings(t *testing.T) {
	added := map[string]int{"usage": 5, "cost": 1, "savings": 6, "forecast": 3} // columns that add up, from the first on
	rapid.Check(t, func(t *rapid.T) {
		all := lines(t)
		for kind, columns := range added {
			q := report.Query{Kind: kind, From: first, Until: first.AddDate(0, 0, 61), Now: first.AddDate(0, 0, 58)}
			whole, err := report.Make(q, project(all, nil, ""))
			if err != nil {
				t.Fatal(err)
			}
			q.By = rapid.SliceOfNDistinct(rapid.SampledFrom(report.Dimensions), 0, 8, rapid.ID[string]).Draw(t, "by")
			q.Every = rapid.SampledFrom([]string{"", "day", "week", "month"}).Draw(t, "every")
			table, err := report.Make(q, project(all, q.By, map[string]string{"forecast": "day"}[kind]+map[bool]string{true: q.Every}[kind != "forecast"]))
			if err != nil {
				t.Fatal(err)
			}
			for _, form := range report.Formats {
				var b bytes.Buffer
				if err := format.Write(&b, table, form); err != nil {
					t.Fatal(err)
				}
				sums, rounded := sumsOf(t, form, b.Bytes(), table)
				for i := range columns {
					want, room := whole.Total.Numbers[i], 1e-6*math.Max(1, math.Abs(whole.Total.Numbers[i]))+rounded*float64(len(table.Rows))
					if math.Abs(sums[i]-want) > room || math.Abs(table.Total.Numbers[i]-want) > 1e-6*math.Max(1, math.Abs(want)) {
						t.Fatalf("%s by %v every %q as %s: %s adds up to %v, the total is %v, that without groups %v", kind, q.By, q.Every, form, table.Columns[i].Name, sums[i], table.Total.Numbers[i], want)
					}
				}
			}
		}
	})
}

var cell = regexp.MustCompile(`<td>([^<]*)</td>`)

// sumsOf adds up the columns of what was written, and says how far each number may be rounded.
func sumsOf(t *rapid.T, form string, text []byte, table *report.Table) (sums []float64, rounded float64) {
	sums = make([]float64, len(table.Columns))
	add := func(column int, text string) {
		if text == "" || text == "-" || text == "more" {
			return
		}
		text = strings.TrimPrefix(html.UnescapeString(text), "<") // less than a cent: within what is rounded
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			t.Fatalf("%s: %v", form, err)
		}
		sums[column] += v
	}
	rows := 0
	switch keys := len(table.Keys); form {
	case "csv":
		all, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range all[1:] {
			if keys > 0 && r[2] == "total" && len(all) > len(table.Rows)+1 && rows == len(table.Rows) {
				continue
			}
			rows++
			for i, cell := range r[2+keys:] { // after the span
				add(i, cell)
			}
		}
		rounded = 0.005
	case "json":
		var doc struct{ Rows []map[string]any }
		if err := json.Unmarshal(text, &doc); err != nil {
			t.Fatal(err)
		}
		for _, r := range doc.Rows {
			rows++
			for i, c := range table.Columns {
				if v, ok := r[c.Name].(float64); ok {
					sums[i] += v
				}
			}
		}
	case "parquet":
		file, err := bill.Open(bytes.NewReader(text), int64(len(text)))
		if err != nil {
			t.Fatal(err)
		}
		for {
			r, err := file.Next()
			if errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			rows++
			for i := range table.Columns {
				add(i, r[keys+i])
			}
		}
		rounded = 1e-6
	case "html":
		shown := table.Shown()
		head, body, _ := strings.Cut(string(text), "<tbody>")
		body, _, _ = strings.Cut(body, "</tbody>")
		if strings.Contains(head+body, "<b>") {
			t.Fatal("the page does not escape names")
		}
		for line := range strings.Lines(body) {
			cells := cell.FindAllStringSubmatch(line, -1)
			if len(cells) > 0 {
				rows++
			}
			for i, c := range cells {
				add(at(table, shown.Columns[i].Name), strings.ReplaceAll(c[1], ",", ""))
			}
		}
		rounded = 0.05
	case "table":
		shown := table.Shown()
		for _, words := range table.Lines()[1 : 1+len(table.Rows)] {
			rows++
			for i, c := range words[keys:] {
				add(at(table, shown.Columns[i].Name), c)
			}
			if !strings.Contains(string(text), words[len(words)-1]) {
				t.Fatalf("the table lacks %v", words)
			}
		}
		rounded = 0.05
	}
	if rows != len(table.Rows) {
		t.Fatalf("%s has %d rows, want %d", form, rows, len(table.Rows))
	}
	return sums, rounded
}

func at(t *report.Table, name string) int {
	for i, c := range t.Columns {
		if c.Name == name {
			return i
		}
	}
	return -1
}

// A Parquet file keeps the order of columns, exact amounts, and what is not known.
func TestParquet(t *testing.T) {
	table := &report.Table{Title: "Cost", Keys: []string{"user", "account"}, Columns: []report.Column{{Name: "zeal", Form: report.Money}, {Name: "cost", Form: report.Count}, {Name: "share", Form: report.Percent}},
		Rows: []report.Row{{Keys: []string{"ann", ""}, Numbers: []report.Value{12.345678, 3, 0.25}}, {Keys: []string{"bob", "ml"}, Numbers: []report.Value{-0.000001, 0, math.NaN()}}}}
	var b bytes.Buffer
	if err := format.Write(&b, table, "parquet"); err != nil {
		t.Fatal(err)
	}
	file, err := bill.Open(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(file.Columns(), " "); got != "user account zeal cost share" {
		t.Errorf("columns %s", got)
	}
	for _, want := range []string{"ann||12.345678|3|0.25", "bob|ml|-0.000001|0|"} {
		if r, err := file.Next(); err != nil || strings.Join(r, "|") != want {
			t.Errorf("%q, %v, want %q", r, err, want)
		}
	}
}

func TestOf(t *testing.T) {
	for _, c := range [][3]string{{"", "", "table"}, {"", "x.htm", "html"}, {"", "a.b/x.parquet", "parquet"}, {"csv", "x.html", "csv"}, {"", "x.txt", "table"}} {
		if got, err := format.Of(c[0], c[1]); err != nil || got != c[2] {
			t.Errorf("%v: %s, %v", c, got, err)
		}
	}
	if _, err := format.Of("", "x.pdf"); err == nil || !strings.Contains(err.Error(), "parquet") {
		t.Errorf("%v", err)
	}
}
