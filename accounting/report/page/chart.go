package page

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"fsub/accounting/ledger"
	"fsub/accounting/report"
)

// chart is what is drawn: a bar for each label, made of a value of each series.
type chart struct {
	labels, names []string
	data          [][]float64 // by series, by label
	timed         bool        // labels are periods, from left to right
	stacked       bool
	colors        []string // of the series; nil: palette
	caption       string   // what is drawn
}

// palette are the colors of series that have none of their own. Each differs from its neighbors in print, too.
var palette = []string{"#3f6fb5", "#e08a3c", "#4f9d69", "#c4504b", "#8a6fb8", "#8c6d5a", "#d07fb0", "#7f7f7f", "#b5a642", "#3aa6b0"}

func (c *chart) color(series int) string {
	if c.colors != nil {
		return c.colors[series%len(c.colors)]
	}
	return palette[series%len(palette)]
}

// fateColors are those of the parts of a whole, in the order of ledger.Fates: what was of use is green.
var fateColors = []string{"#3b9c5a", "#9fcf8a", "#d98b3a", "#c8453f", "#e6c34a", "#8d7cc3", "#6a9fd4", "#9a9a9a", "#5a3a3a", "#c9c9c9", "#2f4b7c"}

const (
	mostBars    = 15  // the table has all rows
	mostTimes   = 370 // a year of days: the last ones are drawn
	mostSeries  = 9   // beside all others
	mostLabel   = 34  // characters
	mostPeriods = 12  // that have a label
)

// chartOf is the chart of a report; nil if there is nothing to be drawn.
func chartOf(t *report.Table) *chart {
	if len(t.Rows) == 0 || len(t.Keys) == 0 {
		return nil
	}
	var c *chart
	switch timed := slices.Contains([]string{"day", "week", "month"}, t.Keys[0]); {
	case timed && t.Stacked:
		c = sharesOverTime(t)
	case timed:
		c = overTime(t, drawn(t)[0])
	case t.Stacked:
		c = ofRows(t, parts(t))
		c.stacked = true
	default:
		c = ofRows(t, drawn(t))
	}
	if c == nil || len(c.data) == 0 {
		return nil
	}
	if t.Stacked {
		c.caption = "hours, by what became of them"
	} else if c.caption == "" && len(c.names) == 1 {
		c.caption = c.names[0]
	}
	return c
}

// drawn are the columns that are drawn: those that the report says, or the first that says anything.
func drawn(t *report.Table) []int {
	if len(t.Drawn) > 0 {
		return t.Drawn
	}
	for i := range t.Columns {
		if slices.ContainsFunc(t.Rows, func(r report.Row) bool { return number(r.Numbers[i]) != 0 }) {
			return []int{i}
		}
	}
	return []int{0}
}

// parts are the columns that are parts of a whole, without those that no row has.
func parts(t *report.Table) (columns []int) {
	for i := 1; i < len(t.Columns); i++ {
		if slices.ContainsFunc(t.Rows, func(r report.Row) bool { return number(r.Numbers[i]) > 0 }) {
			columns = append(columns, i)
		}
	}
	return columns
}

// number is what is drawn of a value that may not be known.
func number(v report.Value) float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return 0
	}
	return v
}

func (c *chart) series(t *report.Table, columns []int) {
	for _, i := range columns {
		name := titleOf(t.Columns[i])
		c.data = append(c.data, make([]float64, len(c.labels)))
		if t.Stacked {
			name = strings.ReplaceAll(t.Columns[i].Name, "_", " ")
			c.colors = append(c.colors, fateColors[(i-1)%len(ledger.Fates)])
		}
		c.names = append(c.names, name)
	}
}

// ofRows draws columns of the first rows, side by side, and the sum of all others where there is such a sum. Rows without anything are left out.
func ofRows(t *report.Table, columns []int) *chart {
	c := &chart{}
	var rows []report.Row
	for _, r := range t.Rows {
		if slices.ContainsFunc(columns, func(i int) bool { return number(r.Numbers[i]) != 0 }) {
			rows = append(rows, r)
		}
	}
	if len(rows) == 0 || len(columns) == 0 {
		return c
	}
	first := rows
	if len(rows) > mostBars {
		first = rows[:mostBars-1]
	}
	for _, r := range first {
		keys := r.Keys
		if t.Named > 0 {
			keys = keys[:t.Named]
		}
		c.labels = append(c.labels, label(keys))
	}
	others := rows[len(first):]
	sums := len(others) > 0 && (t.Stacked || !slices.ContainsFunc(columns, func(i int) bool { return !adds(t.Columns[i].Form) }))
	if sums {
		c.labels = append(c.labels, fmt.Sprintf("%d others", len(others)))
	} else if len(others) > 0 {
		c.caption = fmt.Sprintf("%s, the first %d of %d", titleOf(t.Columns[columns[0]]), len(first), len(rows))
	}
	c.series(t, columns)
	for i, column := range columns {
		for at, r := range first {
			c.data[i][at] = drawnOf(t, r, column)
		}
		for _, r := range others {
			if sums {
				c.data[i][len(first)] += drawnOf(t, r, column)
			}
		}
	}
	if t.Columns[columns[0]].Form == report.Span {
		c.inHours()
	}
	return c
}

// adds reports whether numbers of a form can be added up.
func adds(f report.Form) bool { return f == report.Hours || f == report.Money || f == report.Count }

// drawnOf is what is drawn of a row's number: of a part of a whole its hours.
func drawnOf(t *report.Table, r report.Row, column int) float64 {
	v := number(r.Numbers[column])
	if t.Stacked {
		v *= number(r.Numbers[0]) / 100
	}
	return v
}

// inHours makes hours, or minutes, of seconds.
func (c *chart) inHours() {
	unit, name := 60.0, "minutes"
	if slices.Max(c.data[0]) > 2*3600 {
		unit, name = 3600, "hours"
	}
	for i := range c.data {
		for at := range c.data[i] {
			c.data[i][at] /= unit
		}
		c.names[i] += ", " + name
	}
}

// periods are the last of those of a report, without a gap, and the place of each.
func periods(t *report.Table) ([]string, map[string]int) {
	var all []string
	add := func(p string) {
		if len(all) == 0 || all[len(all)-1] != p {
			all = append(all, p)
		}
	}
	if t.From.IsZero() {
		for _, r := range t.Rows {
			add(r.Keys[0])
		}
	}
	for d := t.From; d.Before(t.Until); d = d.AddDate(0, 0, 1) {
		add(report.PeriodOf(t.Keys[0], d))
	}
	all = all[max(0, len(all)-mostTimes):]
	places := map[string]int{}
	for i, p := range all {
		places[p] = i
	}
	return all, places
}

// overTime draws a column by period, and what else is told apart upon each other. It is nil if the column's numbers do not add up.
func overTime(t *report.Table, column int) *chart {
	form, alone := t.Columns[column].Form, len(t.Keys) == 1
	if !alone && !adds(form) {
		return nil
	}
	c := &chart{timed: true, stacked: !alone}
	if !alone {
		c.caption = titleOf(t.Columns[column])
	}
	var places map[string]int
	c.labels, places = periods(t)
	sums := map[string]float64{}
	for _, r := range t.Rows {
		sums[label(r.Keys[1:])] += number(r.Numbers[column])
	}
	names := slices.SortedFunc(maps.Keys(sums), func(a, b string) int { return cmp.Or(-cmp.Compare(sums[a], sums[b]), cmp.Compare(a, b)) })
	at := map[string]int{}
	for i, name := range names {
		at[name] = min(i, mostSeries)
	}
	for i := range min(len(names), mostSeries+1) {
		c.data = append(c.data, make([]float64, len(c.labels)))
		switch {
		case alone:
			c.names = []string{titleOf(t.Columns[column])}
		case i == mostSeries && len(names) > mostSeries+1:
			c.names = append(c.names, "all others")
		default:
			c.names = append(c.names, names[i])
		}
	}
	for _, r := range t.Rows {
		if p, ok := places[r.Keys[0]]; ok {
			c.data[at[label(r.Keys[1:])]][p] += number(r.Numbers[column])
		}
	}
	if form == report.Span {
		c.inHours()
	}
	return c
}

// sharesOverTime draws the hours of each part of a whole by period.
func sharesOverTime(t *report.Table) *chart {
	c := &chart{timed: true, stacked: true}
	var places map[string]int
	c.labels, places = periods(t)
	columns := parts(t)
	c.series(t, columns)
	for _, r := range t.Rows {
		if p, ok := places[r.Keys[0]]; ok {
			for i, column := range columns {
				c.data[i][p] += drawnOf(t, r, column)
			}
		}
	}
	return c
}

// label names a row. Long ones are cut.
func label(keys []string) string {
	var words []string
	for _, k := range keys {
		words = append(words, cmp.Or(k, "(none)"))
	}
	text := []rune(strings.Join(words, " / "))
	if len(text) > mostLabel {
		text = append(text[:mostLabel-1], '…')
	}
	return string(text)
}

// ends are the ends of an axis that has all values of c, and how many labels it has: steps of 1, 2 or 5.
func (c *chart) ends() (least, most float64, labels int) {
	for at := range c.labels {
		up, down := 0.0, 0.0
		for i := range c.data {
			v := c.data[i][at]
			if !c.stacked {
				up, down = max(up, v), min(down, v)
				continue
			}
			up, down = up+max(v, 0), down+min(v, 0)
		}
		most, least = max(most, up), min(least, down)
	}
	if most == least {
		most = 1
	}
	step := math.Pow(10, math.Floor(math.Log10((most-least)/5)))
	for _, f := range []float64{1, 2, 5, 10} {
		if (most-least)/(f*step) <= 8 {
			step *= f
			break
		}
	}
	low, high := math.Floor(least/step), math.Ceil(most/step-1e-9)
	return low * step, high * step, int(high-low) + 1
}
