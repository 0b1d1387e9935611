// Package page writes a report as one page of HTML that needs nothing else: no script, no font, no picture from elsewhere. [Write] is all there is.
package page

import (
	"cmp"
	_ "embed"
	"fmt"
	"html"
	"io"
	"strings"
	"time"

	"fsub/accounting/report"
)

//go:embed page.html
var head string // up to the body, with the word TITLE in it

// Write writes the page.
func Write(w io.Writer, t *report.Table) error {
	chart, caption, err := draw(t)
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, body(t.Shown(), chart, caption))
	return err
}

// body is the whole page. It is put together by hand: a template would keep the linker from leaving out what no one calls, which more than doubles fed.
func body(t *report.Table, chart, caption string) string {
	var b strings.Builder
	esc := html.EscapeString
	b.WriteString(strings.Replace(head, "TITLE", esc(t.Title+", "+t.Span), 1))
	fmt.Fprintf(&b, "<h1>%s</h1>\n<p class=\"span\">%s</p>\n", esc(t.Title), esc(t.Span))
	if chart != "" {
		if caption != "" {
			caption = "<p class=\"caption\">" + esc(caption) + "</p>"
		}
		fmt.Fprintf(&b, "<div class=\"chart\">%s%s</div>\n", caption, chart)
	}
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
		fmt.Fprintf(&b, "<tr><td class=\"key\" colspan=\"%d\">There is nothing to tell.</td></tr>\n", len(t.Keys)+len(t.Columns))
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
