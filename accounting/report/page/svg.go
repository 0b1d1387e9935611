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
	wide      = 960
	charWide  = 6.9 // of a label's text, about
	rowHigh   = 26  // of one bar and the room around it
	barsHigh  = 240 // of a chart of periods
	axisRoom  = 24
	mostSlots = 14 // labels below a chart of periods
)

// svg draws the chart. Fonts of readers differ, so that all text is anchored where it belongs: labels end at their axis.
func (c *chart) svg() string {
	if c.timed {
		return c.columns()
	}
	return c.bars()
}

// bars draws a bar for each label, from left to right.
func (c *chart) bars() string {
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
	high := float64(rowHigh + 12*(each-1))
	x := func(v float64) float64 { return left + (v-least)/(most-least)*(wide-right-left) }
	bottom := high * float64(len(c.labels))
	var b strings.Builder
	fmt.Fprintf(&b, `<svg viewBox="0 0 %d %.0f" role="img">`, wide, bottom+axisRoom)
	for i := range ticks {
		v := least + float64(i)*(most-least)/float64(ticks-1)
		fmt.Fprintf(&b, `<line class="grid" x1="%.1f" x2="%.1[1]f" y1="0" y2="%.0[2]f"/>`, x(v), bottom)
		fmt.Fprintf(&b, `<text class="tick" x="%.1f" y="%.0f" text-anchor="middle">%s</text>`, x(v), bottom+17, tickText(v, (most-least)/float64(ticks-1)))
	}
	for at, l := range c.labels {
		top := high * float64(at)
		fmt.Fprintf(&b, `<text x="%.1f" y="%.1f" text-anchor="end">%s</text>`, left-8, top+high/2+4, html.EscapeString(l))
		barHigh, y := high-8, top+4
		if !c.stacked {
			barHigh = (high - 8) / float64(each)
		}
		from, sum := 0.0, 0.0
		for i := range c.data {
			v := c.data[i][at]
			if c.stacked {
				c.rect(&b, x(from), y, x(from+v)-x(from), barHigh, i, at)
				from += v
			} else {
				c.rect(&b, min(x(0), x(v)), y+barHigh*float64(i), math.Abs(x(v)-x(0)), barHigh-1, i, at)
			}
			sum += v
		}
		if c.stacked || each == 1 {
			fmt.Fprintf(&b, `<text class="value" x="%.1f" y="%.1f">%s</text>`, x(max(sum, 0))+6, top+high/2+4, valueText(sum))
		}
	}
	fmt.Fprintf(&b, `<line class="axis" x1="%.1f" x2="%.1[1]f" y1="0" y2="%.0[2]f"/></svg>`, x(0), bottom)
	return b.String()
}

// columns draws a column for each period, the first on the left.
func (c *chart) columns() string {
	least, most, ticks := c.ends()
	left := 0.0
	for i := range ticks {
		left = max(left, charWide*float64(len(tickText(least+float64(i)*(most-least)/float64(ticks-1), (most-least)/float64(ticks-1)))))
	}
	left += 12
	const top, bottom = 8.0, 8.0 + barsHigh
	y := func(v float64) float64 { return bottom - (v-least)/(most-least)*(bottom-top) }
	slot := (wide - left) / float64(len(c.labels))
	var b strings.Builder
	fmt.Fprintf(&b, `<svg viewBox="0 0 %d %.0f" role="img">`, wide, bottom+axisRoom)
	for i := range ticks {
		v := least + float64(i)*(most-least)/float64(ticks-1)
		fmt.Fprintf(&b, `<line class="grid" x1="%.1f" x2="%d" y1="%.1[3]f" y2="%.1[3]f"/>`, left, wide, y(v))
		fmt.Fprintf(&b, `<text class="tick" x="%.1f" y="%.1f" text-anchor="end">%s</text>`, left-6, y(v)+4, tickText(v, (most-least)/float64(ticks-1)))
	}
	every := (len(c.labels) + mostSlots - 1) / mostSlots
	for at, l := range c.labels {
		x, barWide := left+slot*float64(at), min(slot*0.78, 56)
		if at%every == 0 {
			fmt.Fprintf(&b, `<text class="tick" x="%.1f" y="%.0f" text-anchor="middle">%s</text>`, x+slot/2, bottom+17, periodText(l))
		}
		from := 0.0
		for i := range c.data {
			v := c.data[i][at]
			c.rect(&b, x+(slot-barWide)/2, min(y(from+v), y(from)), barWide, math.Abs(y(from)-y(from+v)), i, at)
			if c.stacked {
				from += v
			}
		}
	}
	fmt.Fprintf(&b, `<line class="axis" x1="%.1f" x2="%d" y1="%.1[3]f" y2="%.1[3]f"/></svg>`, left, wide, y(0))
	return b.String()
}

// rect draws one value, with its words where a pointer is. What cannot be seen is left out.
func (c *chart) rect(b *strings.Builder, x, y, w, h float64, series, at int) {
	if w < 0.05 || h < 0.05 {
		return
	}
	name := c.labels[at]
	if len(c.names) > 1 {
		name += ", " + c.names[series]
	}
	fmt.Fprintf(b, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"><title>%s: %s</title></rect>`, x, y, w, h, c.color(series), html.EscapeString(name), valueText(c.data[series][at]))
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
