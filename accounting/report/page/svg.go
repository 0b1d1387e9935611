package page

import (
	"fmt"
	"html"
	"math"
	"strconv"
	"strings"
	"time"
)

// Sizes of a chart, in pixels of a page. Its text is as large as that of a table.
const (
	wide       = 960
	charWide   = 6.9 // of a label's text, about
	rowHigh    = 26  // of one bar and the room around it
	barsHigh   = 240 // of a chart of periods
	axisRoom   = 24
	columnsTop = 8.0
	mostSlots  = 14 // labels below a chart of periods
)

// canvas is what a chart is drawn on. Its origin is at the upper left, and lengths are in pixels of a page.
type canvas interface {
	line(class string, x1, y1, x2, y2 float64) // class: grid or axis
	// text writes words whose start, middle or end is at x, as anchor says. Class is tick, value or "", a label.
	text(class, anchor string, x, y float64, words string)
	rect(x, y, w, h float64, color, title string)
}

// svg draws the chart for a page. Fonts of readers differ, so that all text is anchored where it belongs: labels end at their axis.
func (c *chart) svg() string {
	var s svgCanvas
	c.draw(&s)
	return fmt.Sprintf(`<svg viewBox="0 0 %d %.0f" role="img">%s</svg>`, wide, c.high(), s.String())
}

type svgCanvas struct{ strings.Builder }

func (s *svgCanvas) line(class string, x1, y1, x2, y2 float64) {
	fmt.Fprintf(s, `<line class="%s" x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f"/>`, class, x1, x2, y1, y2)
}

func (s *svgCanvas) text(class, anchor string, x, y float64, words string) {
	if class != "" {
		class = fmt.Sprintf(` class="%s"`, class)
	}
	fmt.Fprintf(s, `<text%s x="%.1f" y="%.1f" text-anchor="%s">%s</text>`, class, x, y, anchor, html.EscapeString(words))
}

func (s *svgCanvas) rect(x, y, w, h float64, color, title string) {
	fmt.Fprintf(s, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"><title>%s</title></rect>`, x, y, w, h, color, html.EscapeString(title))
}

// barHigh is the room that a label's bars have.
func (c *chart) barHigh() float64 {
	if c.stacked {
		return rowHigh
	}
	return float64(rowHigh + 12*(len(c.data)-1))
}

// high is the height of the drawing.
func (c *chart) high() float64 {
	if c.timed {
		return columnsTop + barsHigh + axisRoom
	}
	return c.barHigh()*float64(len(c.labels)) + axisRoom
}

func (c *chart) draw(to canvas) {
	if c.timed {
		c.columns(to)
	} else {
		c.bars(to)
	}
}

// bars draws a bar for each label, from left to right.
func (c *chart) bars(to canvas) {
	least, most, ticks := c.ends()
	left := 0.0
	for _, l := range c.labels {
		left = max(left, charWide*float64(len([]rune(l))))
	}
	left = min(left, 300) + 14
	const right = 84 // for the value at a bar's end
	each := 1
	if !c.stacked {
		each = len(c.data)
	}
	high := c.barHigh()
	x := func(v float64) float64 { return left + (v-least)/(most-least)*(wide-right-left) }
	bottom := high * float64(len(c.labels))
	for i := range ticks {
		v := least + float64(i)*(most-least)/float64(ticks-1)
		to.line("grid", x(v), 0, x(v), bottom)
		to.text("tick", "middle", x(v), bottom+17, tickText(v, (most-least)/float64(ticks-1)))
	}
	for at, l := range c.labels {
		top := high * float64(at)
		to.text("", "end", left-8, top+high/2+4, l)
		barHigh, y := high-8, top+4
		if !c.stacked {
			barHigh = (high - 8) / float64(each)
		}
		from, sum := 0.0, 0.0
		for i := range c.data {
			v := c.data[i][at]
			if c.stacked {
				c.value(to, x(from), y, x(from+v)-x(from), barHigh, i, at)
				from += v
			} else {
				c.value(to, min(x(0), x(v)), y+barHigh*float64(i), math.Abs(x(v)-x(0)), barHigh-1, i, at)
			}
			sum += v
		}
		if c.stacked || each == 1 {
			to.text("value", "start", x(max(sum, 0))+6, top+high/2+4, valueText(sum))
		}
	}
	to.line("axis", x(0), 0, x(0), bottom)
}

// columns draws a column for each period, the first on the left.
func (c *chart) columns(to canvas) {
	least, most, ticks := c.ends()
	left := 0.0
	for i := range ticks {
		left = max(left, charWide*float64(len(tickText(least+float64(i)*(most-least)/float64(ticks-1), (most-least)/float64(ticks-1)))))
	}
	left += 12
	const top, bottom = columnsTop, columnsTop + barsHigh
	y := func(v float64) float64 { return bottom - (v-least)/(most-least)*(bottom-top) }
	slot := (wide - left) / float64(len(c.labels))
	for i := range ticks {
		v := least + float64(i)*(most-least)/float64(ticks-1)
		to.line("grid", left, y(v), wide, y(v))
		to.text("tick", "end", left-6, y(v)+4, tickText(v, (most-least)/float64(ticks-1)))
	}
	every := (len(c.labels) + mostSlots - 1) / mostSlots
	for at, l := range c.labels {
		x, barWide := left+slot*float64(at), min(slot*0.78, 56)
		if at%every == 0 {
			to.text("tick", "middle", x+slot/2, bottom+17, periodText(l))
		}
		from := 0.0
		for i := range c.data {
			v := c.data[i][at]
			c.value(to, x+(slot-barWide)/2, min(y(from+v), y(from)), barWide, math.Abs(y(from)-y(from+v)), i, at)
			if c.stacked {
				from += v
			}
		}
	}
	to.line("axis", left, y(0), wide, y(0))
}

// value draws one value, with its words where a pointer is. What cannot be seen is left out.
func (c *chart) value(to canvas, x, y, w, h float64, series, at int) {
	if w < 0.05 || h < 0.05 {
		return
	}
	name := c.labels[at]
	if len(c.names) > 1 {
		name += ", " + c.names[series]
	}
	to.rect(x, y, w, h, c.color(series), name+": "+valueText(c.data[series][at]))
}

// legend names the series of a chart that has several.
func (c *chart) legend() string {
	if len(c.names) < 2 {
		return ""
	}
	var b strings.Builder
	b.WriteString(`<p class="legend">`)
	for i, n := range c.names {
		fmt.Fprintf(&b, `<span><i style="background:%s"></i>%s</span> `, c.color(i), html.EscapeString(n))
	}
	b.WriteString("</p>")
	return b.String()
}

// tickText is a number at an axis, with as many digits as its steps need.
func tickText(v, step float64) string {
	digits := 0
	for s := math.Abs(step); s > 0 && s < 0.999 && digits < 6; s *= 10 {
		digits++
	}
	return grouped(strconv.FormatFloat(v, 'f', digits, 64))
}

// valueText is a number at a bar: three digits at least.
func valueText(v float64) string {
	switch a := math.Abs(v); {
	case a >= 100:
		return grouped(strconv.FormatFloat(v, 'f', 0, 64))
	case a >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case a >= 0.005 || a == 0:
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
	return "under 0.01"
}

// periodText is a period at an axis: "Nov 23", or "Nov 2026".
func periodText(p string) string {
	if d, err := time.Parse(time.DateOnly, p); err == nil {
		return d.Format("Jan 2")
	}
	if m, err := time.Parse("2006-01", p); err == nil {
		return m.Format("Jan 2006")
	}
	return p
}
