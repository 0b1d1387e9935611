// Package page writes a report as one page of HTML that needs nothing else: no script, no font, no picture from elsewhere. [Write] is all there is.
package page

import (
	"cmp"
	_ "embed"
	"fmt"
	"html"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/go-analyze/charts"

	"fsub/accounting/report"
)

//go:embed page.html
var head string // up to the body, with the word TITLE in it

// Write writes the page.
func Write(w io.Writer, t *report.Table) error {
	chart, err := draw(t)
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, body(t.Shown(), chart))
	return err
}

// body is the whole page. It is put together by hand: a template would keep the linker from leaving out what no one calls, which more than doubles fed.
func body(t *report.Table, chart string) string {
	var b strings.Builder
	esc := html.EscapeString
	b.WriteString(strings.Replace(head, "TITLE", esc(t.Title+", "+t.Span), 1))
	fmt.Fprintf(&b, "<h1>%s</h1>\n<p class=\"span\">%s, UTC days</p>\n", esc(t.Title), esc(t.Span))
	if chart != "" {
		fmt.Fprintf(&b, "<div class=\"chart\">%s</div>\n", chart)
	}
	b.WriteString("<div class=\"wide\"><table>\n<thead><tr>")
	for _, k := range t.Keys {
		fmt.Fprintf(&b, "<th class=\"key\">%s</th>", esc(k))
	}
	for _, c := range t.Columns {
		fmt.Fprintf(&b, "<th>%s %s</th>", esc(titles.Replace(c.Name)), units[string(c.Form)])
	}
	b.WriteString("</tr></thead>\n<tbody>\n")
	numbers := func(values []report.Value) {
		for i, v := range values {
			fmt.Fprintf(&b, "<td>%s</td>", esc(t.Columns[i].Write(v)))
		}
		b.WriteString("</tr>\n")
	}
	for _, r := range t.Rows {
		b.WriteString("<tr>")
		for _, k := range r.Keys {
			fmt.Fprintf(&b, "<td class=\"key\">%s</td>", esc(cmp.Or(k, "(none)")))
		}
		numbers(r.Numbers)
	}
	if len(t.Rows) == 0 {
		b.WriteString("<tr><td class=\"key\">Nothing was booked in these days.</td></tr>\n")
	}
	b.WriteString("</tbody>\n")
	if len(t.Rows) > 0 && t.Total.Numbers != nil {
		b.WriteString("<tfoot><tr>")
		for i := range t.Keys {
			fmt.Fprintf(&b, "<td class=\"key\">%s</td>", map[bool]string{true: "total"}[i == 0])
		}
		numbers(t.Total.Numbers)
		b.WriteString("</tfoot>\n")
	}
	b.WriteString("</table></div>\n")
	for _, n := range t.Notes {
		fmt.Fprintf(&b, "<p class=\"notes\">%s</p>\n", esc(n))
	}
	fmt.Fprintf(&b, "<footer>Made %s by fed report.</footer>\n</body>\n</html>\n", time.Now().UTC().Format("2006-01-02 15:04 UTC"))
	return b.String()
}

var (
	titles = strings.NewReplacer("gpu", "GPU", "cpu", "CPU", "gib", "GiB", "_", " ")
	units  = map[string]string{"percent": "<small>%</small>", "dollars": "<small>$</small>"}
)

// fateColors are those of the parts of a whole, in the order of ledger.Fates: what was of use is green.
var fateColors = []string{"#3b9c5a", "#9fcf8a", "#d98b3a", "#c8453f", "#e6c34a", "#8d7cc3", "#6a9fd4", "#9a9a9a", "#5a3a3a", "#c9c9c9"}

// mostBars are drawn; the table has all rows.
const mostBars = 24

// draw is the chart of a report: its first column by row, or the parts of a whole.
func draw(t *report.Table) (string, error) {
	rows := t.Rows[:min(len(t.Rows), mostBars)]
	if len(rows) == 0 || len(t.Keys) == 0 {
		return "", nil
	}
	columns := []int{0}
	if t.Stacked {
		columns = nil
		for i := 1; i < len(t.Columns); i++ {
			if slices.ContainsFunc(rows, func(r report.Row) bool { return r.Numbers[i] > 0 }) {
				columns = append(columns, i)
			}
		}
	}
	var names, labels []string
	var data [][]float64
	for _, i := range columns {
		var values []float64
		for _, r := range rows {
			v := r.Numbers[i]
			if math.IsNaN(v) || math.IsInf(v, 0) {
				v = 0
			}
			values = append(values, math.Round(v*100)/100)
		}
		data, names = append(data, values), append(names, strings.ReplaceAll(t.Columns[i].Name, "_", " "))
	}
	for _, r := range rows {
		var words []string
		for _, k := range r.Keys {
			if k == "" {
				k = "(none)"
			}
			words = append(words, k)
		}
		labels = append(labels, strings.Join(words, " / "))
	}
	if len(data) == 0 {
		return "", nil
	}
	timed := slices.Contains([]string{"day", "week", "month"}, t.Keys[0])
	height := 340
	if !timed {
		height = 90 + 34*len(rows)
		for i := range data { // the first row is to be on top
			slices.Reverse(data[i])
		}
		slices.Reverse(labels)
	}
	p := charts.NewPainter(charts.PainterOptions{OutputFormat: charts.ChartOutputSVG, Width: 960, Height: height})
	opt := charts.NewBarChartOptionWithData(data)
	opt.Horizontal = !timed
	if t.Stacked {
		opt.ValueAxis[0].Max, opt.ValueAxis[0].LabelCount = charts.Ptr(100.0), 11
		var colors []charts.Color
		for _, i := range columns {
			colors = append(colors, charts.ParseColor(fateColors[(i-1)%len(fateColors)]))
		}
		opt.Theme = opt.Theme.WithSeriesColors(colors)
	}
	opt.CategoryAxis.Labels, opt.Legend.SeriesNames, opt.StackSeries = labels, names, charts.Ptr(true)
	if err := p.BarChart(opt); err != nil {
		return "", err
	}
	svg, err := p.Bytes()
	return string(svg), err
}
