package page

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/go-analyze/charts"

	"fsub/accounting/ledger"
	"fsub/accounting/report"
)

// chart is what is drawn: a bar for each label, made of a value of each series.
type chart struct {
	labels, names []string
	data          [][]float64 // by series, by label
	timed         bool        // labels are periods, from left to right
	stacked       bool
	colors        []string // of the series; nil: the library's
	caption       string   // what is drawn, where the names of the series do not say
	most          float64  // of the axis; 0: as needed
}

// fateColors are those of the parts of a whole, in the order of ledger.Fates: what was of use is green.
var fateColors = []string{"#3b9c5a", "#9fcf8a", "#d98b3a", "#c8453f", "#e6c34a", "#8d7cc3", "#6a9fd4", "#9a9a9a", "#5a3a3a", "#c9c9c9", "#2f4b7c"}

const (
	mostBars    = 24  // the table has all rows
	mostTimes   = 370 // a year of days: the last ones are drawn
	mostSeries  = 9   // beside all others
	mostLabel   = 34  // characters
	mostPeriods = 12  // that have a label
)

// draw is the chart of a report, and what it shows where its names do not say; "" if there is nothing to be drawn.
func draw(t *report.Table) (svg, caption string, err error) {
	if len(t.Rows) == 0 || len(t.Keys) == 0 {
		return "", "", nil
	}
	var c *chart
	switch timed := slices.Contains([]string{"day", "week", "month"}, t.Keys[0]); {
	case timed && t.Stacked:
		c = sharesOverTime(t)
	case timed:
		c = overTime(t, drawn(t)[0])
	case t.Stacked:
		c = ofRows(t, parts(t))
		c.stacked, c.most = true, 100
	default:
		c = ofRows(t, drawn(t))
	}
	if c != nil && t.Stacked {
		c.caption = "% of " + titleOf(t.Columns[0])
	}
	if c == nil || len(c.data) == 0 {
		return "", "", nil
	}
	svg, err = c.svg()
	return svg, c.caption, err
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

// ofRows draws columns of the first rows, side by side.
func ofRows(t *report.Table, columns []int) *chart {
	c := &chart{}
	rows := t.Rows[:min(len(t.Rows), mostBars)]
	for _, r := range rows {
		keys := r.Keys
		if t.Named > 0 {
			keys = keys[:t.Named]
		}
		c.labels = append(c.labels, label(keys))
	}
	c.series(t, columns)
	for at, r := range rows {
		for i, column := range columns {
			c.data[i][at] = number(r.Numbers[column])
		}
	}
	if len(columns) > 0 && t.Columns[columns[0]].Form == report.Span {
		c.inHours()
	}
	return c
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

// periods are the last of those that rows are of, and the place of each.
func periods(t *report.Table) ([]string, map[string]int) {
	var all []string
	for _, r := range t.Rows {
		if len(all) == 0 || all[len(all)-1] != r.Keys[0] {
			all = append(all, r.Keys[0])
		}
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
	if !alone && form != report.Hours && form != report.Money && form != report.Count {
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

// sharesOverTime draws the parts of a whole by period, each row by the weight of its first column.
func sharesOverTime(t *report.Table) *chart {
	c := &chart{timed: true, stacked: true, most: 100}
	var places map[string]int
	c.labels, places = periods(t)
	columns := parts(t)
	c.series(t, columns)
	weights := make([]float64, len(c.labels))
	for _, r := range t.Rows {
		if p, ok := places[r.Keys[0]]; ok {
			weights[p] += number(r.Numbers[0])
			for i, column := range columns {
				c.data[i][p] += number(r.Numbers[0]) * number(r.Numbers[column])
			}
		}
	}
	for i := range c.data {
		for p := range c.data[i] {
			if weights[p] > 0 {
				c.data[i][p] /= weights[p]
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
	if c.most > 0 {
		return 0, c.most, 6
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

// inHundredths makes values whole numbers of hundredths: of bars upon each other with a value between 0 and 1 the library moves the axis.
func (c *chart) inHundredths() {
	for at := range c.labels {
		whole := 0.0
		for i := range c.data {
			whole += max(0, c.data[i][at])
		}
		for i := range c.data {
			v := &c.data[i][at]
			if c.most == 0 {
				*v = math.Round(*v * 100)
			} else { // rounded shares may be more than the whole, and the axis becomes longer
				*v = math.Floor(max(0, *v) * 100 * min(1, c.most/max(whole, 1)))
			}
		}
	}
	c.most *= 100
}

func (c *chart) svg() (string, error) {
	height := 340
	if !c.timed {
		each := 34
		if !c.stacked {
			each = max(each, 14*len(c.data)+12)
		}
		height = 90 + each*len(c.labels)
		for i := range c.data { // the first row is to be on top
			slices.Reverse(c.data[i])
		}
		slices.Reverse(c.labels)
		for i, l := range c.labels { // fonts of readers may be wider than the one that the library reckons with; so for the names below
			c.labels[i] = l + strings.Repeat("\u00a0", 2+len(l)/3)
		}
	}
	if first, last := c.labels[0], c.labels[len(c.labels)-1]; c.timed && len(first) == len(time.DateOnly) && len(first) == len(last) && first[:4] == last[:4] {
		for i := range c.labels { // of one year: its number would not leave room for the days
			c.labels[i] = c.labels[i][5:]
		}
	}
	for i, name := range c.names {
		c.names[i] = name + strings.Repeat("\u00a0", len(name)/6)
	}
	c.inHundredths()
	if each := (len(c.labels) + mostPeriods - 1) / mostPeriods; c.timed && each > 1 { // the library labels the last period too, over the one before
		for i := range c.labels {
			if i%each != 0 {
				c.labels[i] = ""
			}
		}
	}
	opt := charts.NewBarChartOptionWithData(c.data)
	opt.Horizontal = !c.timed
	least, most, labels := c.ends()
	axis := &opt.ValueAxis[0]
	axis.ValueFormatter = func(v float64) string { return charts.FormatValueHumanizeShort(v/100, 2, false) }
	axis.Min, axis.Max, axis.LabelCount, axis.RangeValuePaddingScale = &least, &most, labels, charts.Ptr(0.0)
	if c.colors != nil {
		var colors []charts.Color
		for _, text := range c.colors {
			colors = append(colors, charts.ParseColor(text))
		}
		opt.Theme = opt.Theme.WithSeriesColors(colors)
	}
	if c.timed {
		opt.CategoryAxis.LabelCount = len(c.labels)
		opt.CategoryAxis.BoundaryGap = charts.Ptr(true) // else the labels of many periods drift away from their bars
	}
	opt.CategoryAxis.Labels, opt.Legend.SeriesNames, opt.StackSeries = c.labels, c.names, &c.stacked
	p := charts.NewPainter(charts.PainterOptions{OutputFormat: charts.ChartOutputSVG, Width: 960, Height: height})
	if err := p.BarChart(opt); err != nil {
		return "", err
	}
	svg, err := p.Bytes()
	return string(svg), err
}
