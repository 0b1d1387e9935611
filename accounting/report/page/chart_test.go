package page

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
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
