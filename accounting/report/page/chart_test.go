package page

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// words are the texts of an SVG, in its order.
func words(svg string) (all []string) {
	for _, m := range regexp.MustCompile(`<text[^>]*>([^<]*)</text>`).FindAllStringSubmatch(svg, -1) {
		all = append(all, strings.Trim(m[1], "\u00a0"))
	}
	return all
}

func TestAxes(t *testing.T) {
	shares := &chart{stacked: true, most: 100, names: []string{"used", "lost", "idle"}, labels: []string{"ml", "bio"}, data: [][]float64{{73.7, 99.4}, {26.1, 0.6}, {0.4, 0.1}}} // rounded: more than 100
	var days []string
	for i := range 61 {
		days = append(days, fmt.Sprintf("2026-%02d-%02d", 9+i/30, 1+i%30))
	}
	overTime := &chart{timed: true, stacked: true, names: []string{"cost"}, labels: days, data: [][]float64{make([]float64, len(days))}}
	overTime.data[0][7] = 0.4
	overTime.data[0][9] = 6400
	for _, c := range []struct {
		chart *chart
		want  string
	}{
		{shares, "used lost idle ml bio 0 20 40 60 80 100"},
		{overTime, "cost 7k 6k 5k 4k 3k 2k 1k 0 09-01 09-07 09-13 09-19 09-25 10-01 10-07 10-13 10-19 10-25 11-01"},
	} {
		svg, err := c.chart.svg()
		if got := strings.Join(strings.Fields(strings.Join(words(svg), " ")), " "); err != nil || got != c.want {
			t.Errorf("%v\ngot  %s\nwant %s", err, got, c.want)
		}
	}
}

// A period's label stands below the middle of its bar, however many periods there are.
func TestLabelsBelowBars(t *testing.T) {
	for _, days := range []int{5, 31, 61, 365} {
		c := &chart{timed: true, stacked: true, names: []string{"cost"}, data: [][]float64{make([]float64, days)}}
		for i := range days {
			c.labels = append(c.labels, time.Date(2026, 1, 1+i, 0, 0, 0, 0, time.UTC).Format(time.DateOnly))
		}
		each := (days + mostPeriods - 1) / mostPeriods
		at := (days - 1) / each * each // the last that has a label
		c.data[0][at] = 50
		want := c.labels[at][5:]
		svg, err := c.svg()
		if err != nil {
			t.Fatal(err)
		}
		label := regexp.MustCompile(`<text x="(\d+)"[^>]*>` + want + `</text>`).FindStringSubmatch(svg)
		var left, right, height int
		for _, m := range regexp.MustCompile(`<path d="M (\d+) (\d+)\s+L (\d+) \d+\s+L \d+ (\d+)[^"]*" style="stroke:none;fill:rgb\(`).FindAllStringSubmatch(svg, -1) {
			top, _ := strconv.Atoi(m[2])
			bottom, _ := strconv.Atoi(m[4])
			if bottom-top > height {
				height = bottom - top
				left, _ = strconv.Atoi(m[1])
				right, _ = strconv.Atoi(m[3])
			}
		}
		if label == nil || height < 100 {
			t.Fatalf("%d days: label %q, a bar %d high", days, label, height)
		}
		x, _ := strconv.Atoi(label[1])
		const half = 21 // of a label's width
		if off := x + half - (left+right)/2; off < -4 || off > 4 {
			t.Errorf("%d days: the label %s is %d pixels beside its bar", days, want, off)
		}
	}
}
