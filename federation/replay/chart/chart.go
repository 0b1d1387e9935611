// Package chart draws replays: waits, completion, cost, utilisation and fairness of one or several beside each other, as SVG and PNG.
package chart

import (
	"bytes"
	"cmp"
	"fmt"
	"image/color"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"fsub/federation/replay"
)

// Replay is one that is drawn.
type Replay struct {
	Name    string
	Result  *replay.Result
	Summary replay.Summary
}

// Colours that people with any kind of sight tell apart (Okabe and Ito).
var colours = []color.RGBA{{0, 114, 178, 255}, {213, 94, 0, 255}, {0, 158, 115, 255}, {204, 121, 167, 255}, {230, 159, 0, 255}, {86, 180, 233, 255}, {90, 90, 90, 255}}

func colourOf(i int) color.RGBA { return colours[i%len(colours)] }

const (
	width, height = 42 * vg.Centimeter, 27 * vg.Centimeter
	headline      = 14 * vg.Millimeter // the height of what stands above the panels
	rows, columns = 2, 3
)

// Write draws replays into BASE.svg and BASE.png and returns the names of both. The title says what was replayed, and where.
func Write(base, title string, all []Replay) ([]string, error) {
	plots, err := panels(all)
	if err != nil {
		return nil, err
	}
	return save(base, width, height, func(c draw.Canvas) {
		const pad = 6 * vg.Millimeter
		head(draw.Crop(c, pad, -pad, height-headline, 0), title, all)
		t := draw.Tiles{Rows: rows, Cols: columns, PadX: pad, PadY: pad, PadTop: pad, PadBottom: pad, PadLeft: pad, PadRight: pad}
		c = draw.Crop(c, 0, 0, 0, -headline)
		canvases := plot.Align(plots, t, c)
		for i := range plots {
			for j, p := range plots[i] {
				if p != nil {
					p.Draw(canvases[i][j])
				}
			}
		}
		figures(t.At(c, columns-1, rows-1), all)
	})
}

// save has something drawn into BASE.svg and BASE.png, on white.
func save(base string, w, h vg.Length, paint func(draw.Canvas)) (names []string, err error) {
	if err := os.MkdirAll(filepath.Dir(base), 0o755); err != nil {
		return nil, err
	}
	svg, png := vgsvg.New(w, h), vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(w, h), vgimg.UseDPI(96))}
	for _, f := range []struct {
		ending string
		canvas vg.CanvasSizer
		out    io.WriterTo
	}{{".svg", svg, svg}, {".png", png, png}} {
		c := draw.New(f.canvas)
		c.FillPolygon(color.White, []vg.Point{{}, {X: w}, {X: w, Y: h}, {Y: h}})
		paint(c)
		var b bytes.Buffer
		if _, err := f.out.WriteTo(&b); err != nil {
			return nil, err
		}
		// Who has no Liberation has a font of the same widths.
		text := bytes.ReplaceAll(b.Bytes(), []byte("font-family:Liberation Sans;"), []byte("font-family:Liberation Sans,Arial,Helvetica,sans-serif;"))
		if err := os.WriteFile(base+f.ending, text, 0o644); err != nil {
			return nil, err
		}
		names = append(names, base+f.ending)
	}
	return names, nil
}

// newPlot is a plot without serifs.
func newPlot(title, x, y string) *plot.Plot {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, x, y
	for _, f := range []*font.Font{&p.Title.TextStyle.Font, &p.X.Label.TextStyle.Font, &p.Y.Label.TextStyle.Font, &p.X.Tick.Label.Font, &p.Y.Tick.Label.Font, &p.Legend.TextStyle.Font} {
		f.Variant = "Sans"
	}
	p.Title.TextStyle.Font.Size, p.BackgroundColor = vg.Points(13), color.White
	return p
}

// style is that of words beside the plots.
func style(size float64, c color.Color, x text.XAlignment) text.Style {
	return text.Style{Color: c, Font: font.Font{Typeface: plot.DefaultFont.Typeface, Variant: "Sans", Size: vg.Points(size)}, XAlign: x, Handler: plot.DefaultTextHandler}
}

// head writes the title, and the colour of each replay.
func head(c draw.Canvas, title string, all []Replay) {
	big, small := style(15, color.Black, draw.XLeft), style(12, color.Black, draw.XLeft)
	for long := []rune(title); big.Width(title) > c.Size().X && len(long) > 1; title = string(long) + "…" {
		long = long[:len(long)-1]
	}
	c.FillText(big, vg.Point{X: c.Min.X, Y: c.Max.Y - 8*vg.Millimeter}, title)
	x, y := c.Min.X, c.Max.Y-14*vg.Millimeter
	for i := range all {
		c.StrokeLine2(draw.LineStyle{Color: colourOf(i), Width: vg.Points(4)}, x, y+vg.Points(4), x+vg.Points(20), y+vg.Points(4))
		x += vg.Points(26)
		c.FillText(small, vg.Point{X: x, Y: y}, all[i].Name)
		x += small.Width(all[i].Name) + vg.Points(24)
	}
}

// figures is a table of them, in the place of a panel.
func figures(c draw.Canvas, all []Replay) {
	rows := []struct {
		name string
		of   func(*replay.Summary) string
	}{
		{"jobs that ended", func(s *replay.Summary) string { return strconv.Itoa(s.Ended) }},
		{"never started", func(s *replay.Summary) string { return strconv.Itoa(s.Jobs - s.Ended) }},
		{"mean completion", func(s *replay.Summary) string { return span(s.MeanTime) }},
		{"mean wait", func(s *replay.Summary) string { return span(s.MeanWait) }},
		{"wait of 90 %, at most", func(s *replay.Summary) string { return span(s.WaitP90) }},
		{"wait of 99 %, at most", func(s *replay.Summary) string { return span(s.WaitP99) }},
		{"mean slow-down", func(s *replay.Summary) string { return fmt.Sprintf("%.2f", s.SlowDown) }},
		{"fairness (Jain)", func(s *replay.Summary) string { return fmt.Sprintf("%.2f", s.Fairness) }},
		{"utilisation", func(s *replay.Summary) string { return fmt.Sprintf("%.1f %%", 100*s.Utilisation) }},
		{"GPU-hours, owned", func(s *replay.Summary) string { return number(math.Round(s.GPUHours)) }},
		{"GPU-hours, rented", func(s *replay.Summary) string { return number(math.Round(s.RentedHours)) }},
		{"cost", func(s *replay.Summary) string { return "$" + number(float64(s.Cost)) }},
	}
	const most = 4 // replays that have room beside each other
	shown := all[:min(len(all), most)]
	line, left := c.Size().Y/vg.Length(len(rows)+2), 4*vg.Centimeter
	column := (c.Size().X - left) / vg.Length(max(len(shown), 2))
	at := func(row, i int) vg.Point {
		return vg.Point{X: c.Min.X + left + column*vg.Length(i+1), Y: c.Max.Y - line*vg.Length(row+1)}
	}
	for i := range shown {
		name := style(11, colourOf(i), draw.XRight)
		words := shown[i].Name
		for long := []rune(words); name.Width(words) > column-vg.Points(6) && len(long) > 1; words = string(long) + "…" {
			long = long[:len(long)-1]
		}
		c.FillText(name, at(0, i), words)
	}
	c.StrokeLine2(draw.LineStyle{Color: color.Gray{150}, Width: vg.Points(.7)}, c.Min.X, at(0, 0).Y-line/3, at(0, max(len(shown), 2)-1).X, at(0, 0).Y-line/3)
	for k, r := range rows {
		c.FillText(style(11, color.Black, draw.XLeft), vg.Point{X: c.Min.X, Y: at(k+1, 0).Y}, r.name)
		for i := range shown {
			c.FillText(style(11, color.Black, draw.XRight), at(k+1, i), r.of(&shown[i].Summary))
		}
	}
}

// span is a time in the units in which one says it.
func span(d time.Duration) string {
	switch {
	case d < 2*time.Minute:
		return fmt.Sprintf("%.0f s", d.Seconds())
	case d < 2*time.Hour:
		return fmt.Sprintf("%.0f min", d.Minutes())
	case d < 48*time.Hour:
		return fmt.Sprintf("%.1f h", d.Hours())
	}
	return fmt.Sprintf("%.1f d", d.Hours()/24)
}

func panels(all []Replay) ([][]*plot.Plot, error) {
	var out [][]*plot.Plot
	row := []*plot.Plot{}
	for _, draw := range []func([]Replay) (*plot.Plot, error){waits, completion, cost, utilisation, fairness} {
		p, err := draw(all)
		if err != nil {
			return nil, err
		}
		if row = append(row, p); len(row) == columns {
			out, row = append(out, row), nil
		}
	}
	if len(row) > 0 {
		out = append(out, append(row, make([]*plot.Plot, columns-len(row))...))
	}
	return out, nil
}

// shares draws which share of jobs has no more than so many hours of something.
func shares(all []Replay, title, label string, of func(*replay.Outcome) time.Duration) (*plot.Plot, error) {
	p := newPlot(title, label, "share of jobs, %")
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, spans{}
	p.Y.Min, p.Y.Max, p.Y.Tick.Marker = 0, 100, marks{0, 25, 50, 75, 100}
	p.X.Min, p.X.Max = 1.0/60, 1
	p.Add(plotter.NewGrid())
	for i := range all {
		var hours []float64
		for k := range all[i].Result.Jobs {
			if o := &all[i].Result.Jobs[k]; !o.End.IsZero() {
				hours = append(hours, math.Max(of(o).Hours(), 1.0/60))
			}
		}
		if len(hours) == 0 {
			continue
		}
		slices.Sort(hours)
		p.X.Max = math.Max(p.X.Max, hours[len(hours)-1])
		const points = 400
		xy := plotter.XYs{{X: hours[0]}}
		for k := range points + 1 {
			n := min(k*len(hours)/points, len(hours)-1)
			xy = append(xy, plotter.XY{X: hours[n], Y: 100 * float64(n+1) / float64(len(hours))})
		}
		if err := addLine(p, i, xy); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func addLine(p *plot.Plot, i int, xy plotter.XYs) error {
	l, err := plotter.NewLine(xy)
	if err != nil {
		return err
	}
	l.Color, l.Width = colourOf(i), vg.Points(1.6)
	p.Add(l)
	return nil
}

func waits(all []Replay) (*plot.Plot, error) {
	return shares(all, "Wait", "from submission to start (log)", func(o *replay.Outcome) time.Duration { return o.Start.Sub(o.Submit) })
}

func completion(all []Replay) (*plot.Plot, error) {
	return shares(all, "Completion", "from submission to end (log)", func(o *replay.Outcome) time.Duration { return o.End.Sub(o.Submit) })
}

// marks are those of an axis.
type marks []float64

func (m marks) Ticks(low, high float64) (out []plot.Tick) {
	for _, v := range m {
		if v >= low && v <= high {
			out = append(out, plot.Tick{Value: v, Label: number(v)})
		}
	}
	return out
}

// spans marks an axis of hours. What is shorter than a minute counts as a minute.
type spans struct{}

func (spans) Ticks(low, high float64) (out []plot.Tick) {
	for _, t := range []struct {
		hours float64
		label string
	}{{1.0 / 60, "≤ 1 min"}, {10.0 / 60, "10 min"}, {1, "1 h"}, {6, "6 h"}, {24, "1 d"}, {7 * 24, "1 w"}, {30 * 24, "30 d"}} {
		if t.hours >= low*0.99 && t.hours <= high*1.01 {
			out = append(out, plot.Tick{Value: t.hours, Label: t.label})
		}
	}
	return out
}

// cost draws what each replay cost; what was paid for rented nodes is paler, and on top.
func cost(all []Replay) (*plot.Plot, error) {
	p := newPlot("Cost of what ran", "", "US dollars")
	p.Y.Min, p.Y.Tick.Marker = 0, amounts{}
	wide := vg.Points(min(46, 200/float64(max(len(all), 1))))
	totals := plotter.XYLabels{}
	var names []string
	for i := range all {
		rented := 0.0
		for k := range all[i].Result.Jobs {
			if o := &all[i].Result.Jobs[k]; o.Rented {
				rented += float64(o.Cost)
			}
		}
		total := float64(all[i].Summary.Cost)
		owned, err := plotter.NewBarChart(plotter.Values{max(total-rented, 0)}, wide)
		if err != nil {
			return nil, err
		}
		owned.Color, owned.LineStyle.Width, owned.XMin = colourOf(i), 0, float64(i)
		p.Add(owned)
		if rented > 0 {
			b, err := plotter.NewBarChart(plotter.Values{rented}, wide)
			if err != nil {
				return nil, err
			}
			b.Color, b.LineStyle.Width, b.XMin = pale(colourOf(i)), 0, float64(i)
			b.StackOn(owned)
			p.Add(b)
			p.Title.Text = "Cost of what ran (pale: on rented nodes)"
		}
		names = append(names, all[i].Name)
		p.Y.Max = math.Max(p.Y.Max, 1.15*total)
		totals.XYs = append(totals.XYs, plotter.XY{X: float64(i), Y: total})
		totals.Labels = append(totals.Labels, number(total))
	}
	if p.Y.Max == 0 {
		p.Y.Max = 1
	}
	p.X.Min, p.X.Max = -0.7, float64(len(all))-0.3
	nominal(p, names)
	l, err := plotter.NewLabels(totals)
	if err != nil {
		return nil, err
	}
	for i := range l.TextStyle {
		l.TextStyle[i].XAlign, l.TextStyle[i].YAlign, l.TextStyle[i].Font.Variant = draw.XCenter, draw.YBottom, "Sans"
	}
	l.Offset.Y = vg.Points(3)
	p.Add(l)
	return p, nil
}

func pale(c color.RGBA) color.RGBA {
	mix := func(v uint8) uint8 { return v + uint8(.55*float64(255-v)) }
	return color.RGBA{mix(c.R), mix(c.G), mix(c.B), 255}
}

// amounts marks an axis of amounts in steps of 1, 2 or 5.
type amounts struct{}

func (amounts) Ticks(low, high float64) (out []plot.Tick) {
	step := math.Pow(10, math.Floor(math.Log10(high-low)))
	for _, part := range []float64{.1, .2, .5} {
		if (high-low)/(part*step) <= 9 {
			step *= part
			break
		}
	}
	for n := math.Ceil(low/step-1e-9) + 0; n*step <= high+1e-9*step; n++ { // + 0: it may be a negative zero
		out = append(out, plot.Tick{Value: n * step, Label: number(math.Round(n*step*1e9) / 1e9)})
	}
	return out
}

func number(v float64) string {
	switch {
	case v >= 1e6:
		return fmt.Sprintf("%.3g M", v/1e6)
	case v >= 1e4:
		return fmt.Sprintf("%.3g k", v/1e3)
	case v >= 1e3 || v == math.Trunc(v):
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.3g", v)
}

// utilisation draws what of the owned fleet is in use over time, and how many GPUs are waited for, as means of some hundred slices.
func utilisation(all []Replay) (*plot.Plot, error) {
	p := newPlot("Owned nodes: in use, and (dotted) waited for", "days", "% of the fleet's GPUs")
	p.Y.Min, p.Y.Max, p.Y.Tick.Marker = 0, 150, upTo150{}
	p.X.Min = 0
	p.Add(plotter.NewGrid())
	const slicesOfTime = 150
	unit := 24.0
	if len(all) > 0 {
		r := all[0].Result
		if !r.OfGPUs() {
			p.Y.Label.Text = "% of the fleet's CPUs"
		}
		if r.End.Sub(r.Begin) < 3*24*time.Hour {
			unit, p.X.Label.Text = 1, "hours"
		}
		if r.Begin.Year() > 2000 { // else the trace does not say
			p.X.Label.Text += " since " + r.Begin.Format("2006-01-02 15:04 UTC")
		}
	}
	for i := range all {
		r := all[i].Result
		if len(r.Samples) == 0 || r.GPUs+r.CPUs == 0 {
			continue
		}
		span := r.Samples[len(r.Samples)-1].At.Sub(r.Begin).Hours() / unit
		type mean struct{ used, waits, n float64 }
		var means [slicesOfTime + 1]mean
		for _, s := range r.Samples {
			at := s.At.Sub(r.Begin).Hours() / unit
			m := &means[min(int(at/math.Max(span, 1e-9)*slicesOfTime), slicesOfTime)]
			if r.OfGPUs() {
				m.used += 100 * float64(s.GPUsUsed) / float64(r.GPUs)
				m.waits += 100 * float64(s.GPUsWaiting) / float64(r.GPUs)
			} else {
				m.used += 100 * float64(s.CPUsUsed) / float64(r.CPUs)
				m.waits += 100 * float64(s.CPUsWaiting) / float64(r.CPUs)
			}
			m.n++
		}
		var used, waits plotter.XYs
		for k, m := range means {
			if m.n > 0 {
				x := float64(k) / slicesOfTime * span
				used = append(used, plotter.XY{X: x, Y: m.used / m.n})
				waits = append(waits, plotter.XY{X: x, Y: math.Min(m.waits/m.n, p.Y.Max)})
			}
		}
		if err := addLine(p, i, used); err != nil {
			return nil, err
		}
		l, err := plotter.NewLine(waits)
		if err != nil {
			return nil, err
		}
		l.Color, l.Width, l.Dashes = colourOf(i), vg.Points(0.8), []vg.Length{vg.Points(1.5), vg.Points(2)}
		p.Add(l)
	}
	return p, nil
}

// upTo150 marks an axis at whose end stands whatever is more.
type upTo150 struct{}

func (upTo150) Ticks(_, _ float64) []plot.Tick {
	return []plot.Tick{{Value: 0, Label: "0"}, {Value: 50, Label: "50"}, {Value: 100, Label: "100"}, {Value: 150, Label: "150 +"}}
}

func oneTwoFive() (m marks) {
	for ten := 1.0; ten < 1e9; ten *= 10 {
		m = append(m, ten, 2*ten, 5*ten)
	}
	return m
}

// fairness draws the p99 slow-down of the accounts with most GPU-time.
func fairness(all []Replay) (*plot.Plot, error) {
	p := newPlot("p99 slow-down by account (largest first, log)", "", "times as long as it ran")
	p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, oneTwoFive()
	p.Y.Min, p.Y.Max = 1, 10
	if len(all) == 0 {
		return p, nil
	}
	grid := plotter.NewGrid()
	grid.Vertical.Color = nil
	p.Add(grid)
	const most = 12
	var names []string
	for _, a := range all[0].Summary.Accounts[:min(most, len(all[0].Summary.Accounts))] {
		names = append(names, a.Account)
	}
	for i := range all {
		var xy plotter.XYs
		for _, a := range all[i].Summary.Accounts {
			if k := slices.Index(names, a.Account); k >= 0 {
				xy = append(xy, plotter.XY{X: float64(k) + beside(i, len(all)), Y: math.Max(a.SlowDownP99, 1)})
				p.Y.Max = math.Max(p.Y.Max, 1.3*a.SlowDownP99)
			}
		}
		if len(xy) == 0 {
			continue
		}
		points, err := plotter.NewScatter(xy)
		if err != nil {
			return nil, err
		}
		points.Color, points.Shape, points.Radius = colourOf(i), draw.CircleGlyph{}, vg.Points(3)
		p.Add(points)
	}
	for i, n := range names {
		names[i] = cmp.Or(strings.TrimSpace(n[:min(len(n), 12)]), "(none)")
	}
	nominal(p, names)
	p.X.Min, p.X.Max = -0.5, float64(max(len(names), 1))-0.5
	return p, nil
}

// beside is where the i-th of n points of one account stands: equal ones are not to hide each other.
func beside(i, n int) float64 { return 0.16 * (float64(i) - float64(n-1)/2) }

// nominal names what stands along the axis; aslant, where the names are long.
func nominal(p *plot.Plot, names []string) {
	if len(names) == 0 {
		p.HideX()
		return
	}
	p.NominalX(names...)
	if longest := slices.MaxFunc(append(names, ""), func(a, b string) int { return cmp.Compare(len(a), len(b)) }); len(longest)*len(names) <= 50 {
		return
	}
	p.X.Tick.Label.Rotation, p.X.Tick.Label.XAlign, p.X.Tick.Label.YAlign = math.Pi/6, draw.XRight, draw.YCenter
}
