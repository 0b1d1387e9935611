package report

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"fsub/accounting"
)

// Write is a number as people read it.
func (c Column) Write(v Value) string {
	switch {
	case math.IsNaN(v):
		return "-"
	case math.IsInf(v, 1):
		return "more"
	}
	switch c.Form {
	case Count:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case Money:
		return accounting.Bare(accounting.MoneyOf(v).USD())
	case Amount:
		return strconv.FormatFloat(v, 'f', 2, 64)
	case Percent:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case Span:
		text := (time.Duration(v) * time.Second).String()
		if strings.HasSuffix(text, "m0s") {
			text = strings.TrimSuffix(text, "0s")
		}
		if strings.HasSuffix(text, "h0m") {
			text = strings.TrimSuffix(text, "0m")
		}
		return text
	}
	return strconv.FormatFloat(v, 'f', 1, 64)
}

// heading is the column's name with the unit of its numbers, where neither the name nor the numbers say it.
func (c Column) heading() string {
	name := strings.ToUpper(c.Name)
	switch c.Form {
	case Money:
		return name + "($)"
	case Percent:
		return strings.TrimSuffix(name, "_PERCENT") + "(%)"
	}
	return name
}

// Empty reports whether it is a report of days in which nothing was.
func (t *Table) Empty() bool { return len(t.Rows) == 0 && !t.From.IsZero() }

// Shown is the table without those parts of a whole that no row has.
func (t *Table) Shown() *Table {
	shown := *t
	var keep []int
	for i := range t.Columns {
		if i == 0 || !t.Stacked || slices.ContainsFunc(t.Rows, func(r Row) bool { return r.Numbers[i] != 0 && !math.IsNaN(r.Numbers[i]) }) {
			keep = append(keep, i)
		}
	}
	pick := func(r Row) Row {
		out := Row{Keys: r.Keys}
		for _, i := range keep[:min(len(keep), len(r.Numbers))] {
			out.Numbers = append(out.Numbers, r.Numbers[i])
		}
		return out
	}
	shown.Columns, shown.Rows, shown.Total = nil, nil, pick(t.Total)
	for _, i := range keep {
		shown.Columns = append(shown.Columns, t.Columns[i])
	}
	for _, r := range t.Rows {
		shown.Rows = append(shown.Rows, pick(r))
	}
	return &shown
}

// Lines are the table's words as people read them: its head, its rows, and its total if it has one and something is told apart.
func (t *Table) Lines() [][]string {
	t = t.Shown()
	line := func(keys []string, numbers []Value) []string {
		words := slices.Clone(keys)
		for i, k := range words {
			if k == "" {
				words[i] = "-"
			}
		}
		for i, v := range numbers {
			words = append(words, t.Columns[i].Write(v))
		}
		return words
	}
	var head []string
	for _, k := range t.Keys {
		head = append(head, strings.ToUpper(k))
	}
	for _, c := range t.Columns {
		head = append(head, c.heading())
	}
	out := [][]string{head}
	for _, r := range t.Rows {
		out = append(out, line(r.Keys, r.Numbers))
	}
	if len(t.Keys) > 0 && t.Total.Numbers != nil {
		total := make([]string, len(t.Keys))
		total[0] = "total"
		out = append(out, line(total, t.Total.Numbers))
	}
	return out
}

// Text writes the table with its columns one below the other, and what is to be known of it.
func (t *Table) Text(w io.Writer) error {
	fmt.Fprintf(w, "%s, %s\n", t.Title, t.Span)
	if t.Empty() {
		_, err := fmt.Fprintln(w, Nothing)
		return err
	}
	lines := t.Lines()
	widths := make([]int, len(lines[0]))
	for _, words := range lines {
		for i, word := range words {
			widths[i] = max(widths[i], utf8.RuneCountInString(word))
		}
	}
	for _, words := range lines {
		var b strings.Builder
		for i, word := range words {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(word))
			if i < len(t.Keys) {
				b.WriteString(word + pad + "  ")
			} else {
				b.WriteString(pad + word + "  ")
			}
		}
		if _, err := fmt.Fprintln(w, strings.TrimRight(b.String(), " ")); err != nil {
			return err
		}
	}
	for _, n := range t.Notes {
		fmt.Fprintf(w, "\n%s\n", n)
	}
	return nil
}

// CSVText is a text as a cell of a CSV file. One that a spreadsheet would take for a formula, as users may name their jobs, gets a quote before it, which shows it as text.
func CSVText(s string) string {
	if s != "" && strings.ContainsRune("=+-@\t\r", rune(s[0])) {
		return "'" + s
	}
	return s
}

// CSV writes the table with a head line, the first and the last day of what each line is of, and a line "total" where something is told apart. Texts are by [CSVText]. Money has two digits, and other
// numbers all that is known of them: hours, percent, seconds.
func (t *Table) CSV(w io.Writer) error {
	out := csv.NewWriter(w)
	var head, days []string
	if !t.From.IsZero() {
		head, days = []string{"from", "until"}, []string{t.From.Format(time.DateOnly), t.Until.AddDate(0, 0, -1).Format(time.DateOnly)}
	}
	head = append(head, t.Keys...)
	for _, c := range t.Columns {
		head = append(head, c.Name)
	}
	rows := slices.Clip(t.Rows)
	if len(t.Keys) > 0 && len(rows) > 0 && t.Total.Numbers != nil {
		keys := make([]string, len(t.Keys))
		keys[0] = "total"
		rows = append(rows, Row{keys, t.Total.Numbers})
	}
	if err := out.Write(head); err != nil {
		return err
	}
	for _, r := range rows {
		line := slices.Clone(days)
		for _, k := range r.Keys {
			line = append(line, CSVText(k))
		}
		for i, v := range r.Numbers {
			text := ""
			if !math.IsNaN(v) && !math.IsInf(v, 0) {
				text = strconv.FormatFloat(v, 'f', map[bool]int{true: 2, false: -1}[t.Columns[i].Form == Money], 64)
			}
			line = append(line, text)
		}
		if err := out.Write(line); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// JSON writes the table as an object: title, span, notes, and rows of named values. What is not known is left out.
func (t *Table) JSON(w io.Writer) error {
	row := func(r Row) map[string]any {
		out := map[string]any{}
		for i, k := range r.Keys {
			out[t.Keys[i]] = k
		}
		for i, v := range r.Numbers {
			if !math.IsNaN(v) && !math.IsInf(v, 0) {
				out[t.Columns[i].Name] = v
			}
		}
		return out
	}
	rows := make([]map[string]any, 0, len(t.Rows))
	for _, r := range t.Rows {
		rows = append(rows, row(r))
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(map[string]any{"title": t.Title, "span": t.Span, "columns": t.Columns, "rows": rows, "total": row(t.Total), "notes": t.Notes})
}
