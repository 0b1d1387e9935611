package page

import (
	"bytes"
	"fmt"
	"image/png"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"fsub/accounting"
	"fsub/accounting/ledger"
	"fsub/accounting/report"
)

// words are the texts of an SVG, in its order.
func words(svg string) (all []string) {
	for _, m := range regexp.MustCompile(`<text[^>]*>([^<]*)</text>`).FindAllStringSubmatch(svg, -1) {
		all = append(all, m[1])
	}
	return all
}

func made(t *testing.T, q report.Query, lines ...report.Line) *report.Table {
	t.Helper()
	q.From = time.Date(2026, 11, 12, 0, 0, 0, 0, time.UTC)
	q.Until = q.From.AddDate(0, 0, 14)
	q.Now = q.Until
	tab, err := report.Make(q, lines)
	if err != nil {
		t.Fatal(err)
	}
	return tab
}

func cost(period string, dollars float64, values ...string) report.Line {
	l := report.Line{Period: period, Values: values}
	l.Amount, l.GPU, l.Runs = accounting.Money(dollars*1e6), int64(dollars*1800), 1
	return l
}

// A day without data is there: one day of fourteen is one column, not a block over the whole width.
func TestDaysWithoutDataAreThere(t *testing.T) {
	c := chartOf(made(t, report.Query{Kind: "cost", Every: "day"}, cost("2026-11-23", 240)))
	if len(c.labels) != 14 || c.data[0][11] != 240 {
		t.Fatalf("labels %v, data %v", c.labels, c.data)
	}
	svg := c.svg()
	rects := regexp.MustCompile(`<rect x="([\d.]+)" y="[\d.]+" width="([\d.]+)"`).FindAllStringSubmatch(svg, -1)
	label := regexp.MustCompile(`<text class="tick" x="([\d.]+)" [^>]*>Nov 23</text>`).FindStringSubmatch(svg)
	if len(rects) != 1 || label == nil {
		t.Fatalf("%d columns, label %q", len(rects), label)
	}
	x, _ := strconv.ParseFloat(rects[0][1], 64)
	w, _ := strconv.ParseFloat(rects[0][2], 64)
	at, _ := strconv.ParseFloat(label[1], 64)
	if w > 60 || at < x+w/2-1 || at > x+w/2+1 {
		t.Errorf("a column %.0f wide from %.0f, its label at %.0f", w, x, at)
	}
	for every, want := range map[string]int{"week": 3, "month": 1} {
		if c := chartOf(made(t, report.Query{Kind: "cost", Every: every}, cost(map[string]string{"week": "2026-11-23", "month": "2026-11"}[every], 1))); len(c.labels) != want || c.data[0][want-1] != 1 {
			t.Errorf("by %s: %v %v", every, c.labels, c.data)
		}
	}
}

// What does not fit is one bar more, and rows of nothing are none.
func TestOthersAreABar(t *testing.T) {
	var lines []report.Line
	for i := range 30 {
		lines = append(lines, cost("", float64(100-i), fmt.Sprintf("a%02d", i)))
	}
	lines = append(lines, cost("", 0, "idle"))
	c := chartOf(made(t, report.Query{Kind: "cost", By: []string{"account"}}, lines...))
	want := 0.0
	for i := mostBars - 1; i < 30; i++ {
		want += float64(100 - i)
	}
	if n := len(c.labels); n != mostBars || c.labels[n-1] != "16 others" || c.data[0][n-1] != want {
		t.Errorf("%v %v, want %v", c.labels, c.data, want)
	}
	if few := chartOf(made(t, report.Query{Kind: "cost", By: []string{"account"}}, lines[0], lines[30])); len(few.labels) != 1 {
		t.Errorf("of two rows, one of nothing: %v", few.labels)
	}
	svg := c.svg()
	ends := regexp.MustCompile(`<text x="([\d.]+)" y="[\d.]+" text-anchor="end">`).FindAllStringSubmatch(svg, -1)
	for _, e := range ends {
		if e[1] != ends[0][1] {
			t.Errorf("labels end at %s and at %s", e[1], ends[0][1])
		}
	}
	if len(ends) != mostBars {
		t.Errorf("%d labels", len(ends))
	}
}

// Bars of goodput are as long as their hours.
func TestGoodputIsDrawnByHours(t *testing.T) {
	hours := func(account, fate string, h int64) report.Line {
		l := report.Line{Values: []string{account}, Fate: fate}
		l.GPU, l.Runs = h*3600, 1
		return l
	}
	q := report.Query{Kind: "goodput", By: []string{"account"}}
	c := chartOf(made(t, q, hours("big", ledger.Fates[0], 300), hours("big", ledger.Fates[2], 100), hours("small", ledger.Fates[0], 4)))
	if len(c.data) != 2 || c.data[0][0] != 300 || c.data[1][0] != 100 || c.data[0][1] != 4 {
		t.Errorf("%v %v", c.names, c.data)
	}
	if l := c.legend(); !strings.Contains(l, "productive") || !strings.Contains(l, fateColors[0]) {
		t.Errorf("legend %s", l)
	}
}

func TestAxes(t *testing.T) {
	for want, c := range map[string]*chart{
		"0 10 20 30 40 50 60 70 80 ml 74.2 bio 4.40":                               {stacked: true, names: []string{"used", "lost"}, labels: []string{"ml", "bio"}, data: [][]float64{{70, 4}, {4.2, 0.4}}},
		"-2 Nov 1 -1 Nov 2 0 1 2 3 4":                                              {timed: true, names: []string{"saved"}, labels: []string{"2026-11-01", "2026-11-02"}, data: [][]float64{{-2, 4}}},
		"0.0000 0.0005 0.0010 0.0015 0.0020 0.0025 0.0030 0.0035 cheap under 0.01": {names: []string{"cost"}, labels: []string{"cheap"}, data: [][]float64{{0.0035}}},
	} {
		got, all := words(c.svg()), strings.Fields(want)
		for _, w := range got {
			for _, part := range strings.Fields(w) {
				if !strings.Contains(" "+want+" ", " "+part+" ") {
					t.Errorf("%v: %q is not in %q", c.names, part, want)
				}
			}
		}
		if n := len(strings.Fields(strings.Join(got, " "))); n != len(all) {
			t.Errorf("%v: %v, want %q", c.names, got, want)
		}
	}
}

// The page says whose it is and what it all comes to, and an empty one that there is nothing.
func TestPage(t *testing.T) {
	tab := made(t, report.Query{Kind: "cost", By: []string{"account"}}, cost("", 1200, "vision"), cost("", 34.5, "nlp"))
	tab.Federation = "hpc <1>"
	var b bytes.Buffer
	if err := Write(&b, tab); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"hpc &lt;1&gt; \u00b7 2026-11-12 to 2026-11-25", "<strong>$1,234.50</strong>cost", "<title>Cost by account, hpc &lt;1&gt;"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	b.Reset()
	if err := Write(&b, made(t, report.Query{Kind: "cost", By: []string{"account"}})); err != nil || !strings.Contains(b.String(), report.Nothing) || strings.Contains(b.String(), "totals\"") {
		t.Errorf("empty: %v\n%s", err, b.String())
	}
	text, picture, err := Letter(tab)
	if err != nil || !strings.Contains(text, `src="cid:chart.png"`) || strings.Contains(text, "<svg") {
		t.Errorf("letter: %v\n%s", err, text)
	}
	if img, err := png.Decode(bytes.NewReader(picture)); err != nil || img.Bounds().Dx() != 960 {
		t.Errorf("picture: %v", err)
	}
}
