// Package page writes a report as one page of HTML that needs nothing else: no script, no font, no picture from elsewhere. [Write] is all there is.
package page

import (
	"cmp"
	_ "embed"
	"fmt"
	"html"
	"io"
	"math"
	"strings"
	"time"

	"fsub/accounting/report"
)

//go:embed page.html
var head string // up to the body, with the word TITLE in it

// Write writes the page.
func Write(w io.Writer, t *report.Table) error {
	drawing := ""
	if c := chartOf(t); c != nil {
		drawing = c.svg()
		drawing = c.frame(drawing)
	}
	_, err := io.WriteString(w, body(t.Shown(), drawing))
	return err
}

// Chart is what [Letter] refers to the picture of a report's chart as.
const Chart = "chart.png"

// Letter is a report as the HTML of a mail, and the picture of its chart, which the mail has under the Content-ID [Chart]; nil: there is none.
func Letter(t *report.Table) (text string, picture []byte, err error) {
	drawing := ""
	if c := chartOf(t); c != nil {
		if picture, err = c.png(); err != nil {
			return "", nil, err
		}
		drawing = c.frame(fmt.Sprintf(`<img src="cid:%s" alt="%s" width="960" style="max-width:100%%">`, Chart, html.EscapeString(c.caption)))
	}
	return body(t.Shown(), drawing), picture, nil
}

// frame is a drawing of the chart with its caption and its legend. A picture has the legend in it.
func (c *chart) frame(drawing string) string {
	caption := ""
	if c.caption != "" {
		caption = `<p class="caption">` + html.EscapeString(c.caption) + "</p>"
	}
	if strings.HasPrefix(drawing, "<svg") {
		caption += c.legend()
	}
	return `<div class="chart">` + caption + drawing + "</div>\n"
}

// body is the whole page. It is put together by hand: a template would keep the linker from leaving out what no one calls, which more than doubles fed.
func body(t *report.Table, drawing string) string {
	var b strings.Builder
	esc := html.EscapeString
	title := t.Title
	if t.Federation != "" {
		title += ", " + t.Federation
	}
	b.WriteString(strings.Replace(head, "TITLE", esc(title+", "+t.Span), 1))
	fmt.Fprintf(&b, "<h1>%s</h1>\n<p class=\"span\">%s</p>\n", esc(t.Title), esc(strings.TrimPrefix(t.Federation+" \u00b7 "+t.Span, " \u00b7 ")))
	b.WriteString(totals(t))
	b.WriteString(drawing)
	if len(t.Keys)+len(t.Columns) > 8 {
		b.WriteString("<style>@page { size: landscape }</style>\n")
	}
	b.WriteString("<div class=\"wide\"><table>\n<thead><tr>")
	for _, k := range t.Keys {
		fmt.Fprintf(&b, "<th class=\"key\">%s</th>", esc(k))
	}
	for _, c := range t.Columns {
		fmt.Fprintf(&b, "<th>%s %s</th>", esc(titles.Replace(c.Name)), units[c.Form])
	}
	b.WriteString("</tr></thead>\n<tbody>\n")
	numbers := func(values []report.Value) {
		for i, v := range values {
			fmt.Fprintf(&b, "<td>%s</td>", esc(grouped(t.Columns[i].Write(v))))
		}
		b.WriteString("</tr>\n")
	}
	for _, r := range t.Rows {
		b.WriteString("<tr>")
		for _, k := range r.Keys {
			fmt.Fprintf(&b, "<td class=\"%s\">%s</td>", keyClass(k), esc(cmp.Or(k, "(none)")))
		}
		numbers(r.Numbers)
	}
	if len(t.Rows) == 0 {
		fmt.Fprintf(&b, "<tr><td class=\"key\" colspan=\"%d\">%s</td></tr>\n", len(t.Keys)+len(t.Columns), report.Nothing)
	}
	b.WriteString("</tbody>\n")
	if len(t.Rows) > 0 && len(t.Keys) > 0 && t.Total.Numbers != nil {
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

// totals are the first numbers of the whole, large. What is a hundred percent of itself says nothing.
func totals(t *report.Table) string {
	const most = 4
	var b strings.Builder
	for i, v := range t.Total.Numbers {
		c := t.Columns[i]
		if len(t.Rows) == 0 || math.IsNaN(v) || strings.HasSuffix(c.Name, "share") || strings.Count(b.String(), "<div>") == most {
			continue
		}
		text := grouped(c.Write(v))
		switch c.Form {
		case report.Money:
			if text = "$" + text; strings.HasPrefix(text, "$<") {
				text = "<$" + text[2:]
			}
		case report.Percent:
			text += " %"
		}
		fmt.Fprintf(&b, "<div><strong>%s</strong>%s</div>", html.EscapeString(text), html.EscapeString(titles.Replace(c.Name)))
	}
	if b.Len() == 0 {
		return ""
	}
	return `<div class="totals">` + b.String() + "</div>\n"
}

var (
	titles = strings.NewReplacer("gpu", "GPU", "cpu", "CPU", "gib", "GiB", "_", " ")
	units  = map[report.Form]string{report.Percent: "<small>%</small>", report.Money: "<small>$</small>"}
)

// titleOf is a column's name with its unit, as a legend has it.
func titleOf(c report.Column) string {
	return titles.Replace(c.Name) + map[report.Form]string{report.Percent: ", %", report.Money: ", $"}[c.Form]
}

// grouped is a number with commas between its thousands. Other words stay as they are.
func grouped(text string) string {
	whole, rest, _ := strings.Cut(text, ".")
	digits := strings.TrimPrefix(whole, "-")
	if strings.Trim(digits, "0123456789") != "" || len(digits) < 4 {
		return text
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	if strings.HasPrefix(whole, "-") {
		digits = "-" + digits
	}
	if rest != "" {
		digits += "." + rest
	}
	return digits
}

// keyClass keeps what is short, such as a day, in one line.
func keyClass(word string) string {
	if len(word) <= 24 {
		return "key short"
	}
	return "key"
}
