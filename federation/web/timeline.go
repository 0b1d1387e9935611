package web

import (
	"fmt"
	"strconv"
	"time"

	"fsub/federation/api/client"
	. "fsub/federation/web/html"
)

// timeline draws a job's attempts, one bar each: what it waited and what it ran. The table of attempts has the same in words.
func timeline(rec *client.JobRecord, now time.Time) Node {
	j := &rec.Job
	end := now
	if j.State.Ended() && !j.End.IsZero() {
		end = j.End
	}
	whole := end.Sub(j.Submit)
	if len(rec.Attempts) == 0 || whole <= 0 {
		return nil
	}
	shown := rec.Attempts[max(len(rec.Attempts)-8, 0):]
	const width, row, left = 720, 26, 92
	at := func(t time.Time) float64 {
		return left + float64(width-left-8)*min(max(t.Sub(j.Submit).Seconds()/whole.Seconds(), 0), 1)
	}
	height := row*len(shown) + 26
	svg := E("svg", A("viewBox", fmt.Sprintf("0 0 %d %d", width, height)), A("role", "img"), A("aria-label", "Timeline of the attempts; the table of attempts below has the same"), Class("timeline"))
	bar := func(class string, y int, from, to time.Time) {
		x, w := at(from), max(at(to)-at(from), 2)
		svg.Children = append(svg.Children, E("rect", Class(class), num("x", x), num("y", float64(y+5)), num("width", w), num("height", row-10), A("rx", "2")))
	}
	label := func(x float64, y int, anchor, words string) {
		svg.Children = append(svg.Children, E("text", num("x", x), num("y", float64(y)), A("text-anchor", anchor), words))
	}
	for i := range shown {
		a, y := &shown[i], i*row
		label(0, y+18, "start", strconv.Itoa(a.Number)+" "+clip(string(a.Site), 12))
		begin := a.Started
		if begin.IsZero() {
			begin = later(a.Ended, end)
		}
		from := a.Created
		if a.Number == 1 {
			from = j.Submit
		}
		bar("w", y, from, begin)
		if !a.Started.IsZero() {
			class := "r"
			if a.Final != "" {
				class = stateClass(a.Final)
			}
			bar(class, y, a.Started, later(a.Ended, end))
		}
	}
	label(left, height-6, "start", j.Submit.UTC().Format("15:04:05"))
	label(width-8, height-6, "end", end.UTC().Format("15:04:05")+" UTC")
	return E("figure", A("tabindex", "0"), svg, E("figcaption", E("span", Class("key w"), "waited"), E("span", Class("key r"), "runs"), E("span", Class("key good"), "ended well"), E("span", Class("key bad"), "failed")))
}

func later(t, otherwise time.Time) time.Time {
	if t.IsZero() {
		return otherwise
	}
	return t
}

func num(name string, v float64) Attr { return A(name, strconv.FormatFloat(v, 'f', 1, 64)) }

func clip(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}
