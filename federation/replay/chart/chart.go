// Package chart draws replays: waits, completion, cost, utilisation and fairness of one or several beside each other, as SVG and PNG.
package chart

import (
	"fmt"
	"image/color"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
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
	width, height = 42 * vg.Centimeter, 26 * vg.Centimeter
	rows, columns = 2, 3
)

// Write draws replays into BASE.svg and BASE.png and returns the names of both.
func Write(base string, all []Replay) ([]string, error) {
	plots, err := panels(all)
	if err != nil {
		return nil, err
	}
	svg := vgsvg.New(width, height)
	png := vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(96))}
	var names []string
	for _, c := range []struct {
		name   string
		canvas vg.CanvasSizer
		out    io.WriterTo
	}{{base + ".svg", svg, svg}, {base + ".png", png, png}} {
		tile(draw.New(c.canvas), plots)
		if err := save(c.name, c.out); err != nil {
			return nil, err
		}
		names = append(names, c.name)
	}
	return names, nil
}

func save(name string, from io.WriterTo) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	if _, err := from.WriteTo(f); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

func tile(c draw.Canvas, plots [][]*plot.Plot) {
	const pad = 6 * vg.Millimeter
	t := draw.Tiles{Rows: rows, Cols: columns, PadX: pad, PadY: pad, PadTop: pad, PadBottom: pad, PadLeft: pad, PadRight: pad}
	canvases := plot.Align(plots, t, c)
	for i := range plots {
		for j, p := range plots[i] {
			if p != nil {
				p.Draw(canvases[i][j])
			}
		}
	}
}

func panels(all []Replay) ([][]*plot.Plot, error) {
	var out [][]*plot.Plot
	row := []*plot.Plot{}
	for _, draw := range []func([]Replay) (*plot.Plot, error){waits, completion, cost, utilisation, fairness} {
		p, err := draw(all)
		if err != nil {
			return nil, err
		}
		p.Title.TextStyle.Font.Size = vg.Points(13)
		p.BackgroundColor = color.White
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
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, label, "share of jobs, %"
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, spans{}
	p.Y.Min, p.Y.Max = 0, 100
	p.X.Min, p.X.Max = 1.0/60, 1
	p.Legend.Left, p.Legend.Top = true, true
	p.Legend.XOffs, p.Legend.YOffs = vg.Points(6), -vg.Points(6)
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
		var xy plotter.XYs
		for k := range points + 1 {
			n := min(k*len(hours)/points, len(hours)-1)
			xy = append(xy, plotter.XY{X: hours[n], Y: 100 * float64(n+1) / float64(len(hours))})
		}
		if err := addLine(p, all[i].Name, i, xy); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func addLine(p *plot.Plot, name string, i int, xy plotter.XYs) error {
	l, err := plotter.NewLine(xy)
	if err != nil {
		return err
	}
	l.Color, l.Width = colourOf(i), vg.Points(1.6)
	p.Add(l)
	if name != "" {
		p.Legend.Add(name, l)
	}
	return nil
}

func waits(all []Replay) (*plot.Plot, error) {
	p, err := shares(all, "Wait", "from submission to start (log)", func(o *replay.Outcome) time.Duration { return o.Start.Sub(o.Submit) })
	if err == nil {
		p.Legend = plot.NewLegend() // that of the panel beside it counts for both
	}
	return p, err
}

func completion(all []Replay) (*plot.Plot, error) {
	return shares(all, "Completion", "from submission to end (log)", func(o *replay.Outcome) time.Duration { return o.End.Sub(o.Submit) })
}

// spans marks an axis of hours.
type spans struct{}

func (spans) Ticks(low, high float64) (out []plot.Tick) {
	for _, t := range []struct {
		hours float64
		label string
	}{{1.0 / 60, "1 min"}, {10.0 / 60, "10 min"}, {1, "1 h"}, {6, "6 h"}, {24, "1 d"}, {7 * 24, "1 w"}, {30 * 24, "30 d"}} {
		if t.hours >= low*0.99 && t.hours <= high*1.01 {
			out = append(out, plot.Tick{Value: t.hours, Label: t.label})
		}
	}
	return out
}

// bars draws one number for each replay.
func bars(all []Replay, title, label string, of func(*Replay) float64) (*plot.Plot, error) {
	p := plot.New()
	p.Title.Text, p.Y.Label.Text = title, label
	p.Y.Min, p.Y.Tick.Marker = 0, amounts{}
	var names []string
	for i := range all {
		b, err := plotter.NewBarChart(plotter.Values{of(&all[i])}, vg.Points(min(46, 200/float64(len(all)))))
		if err != nil {
			return nil, err
		}
		b.Color, b.LineStyle.Width, b.XMin = colourOf(i), 0, float64(i)
		p.Add(b)
		names = append(names, all[i].Name)
		p.Y.Max = math.Max(p.Y.Max, 1.15*of(&all[i]))
	}
	if p.Y.Max == 0 {
		p.Y.Max = 1
	}
	p.X.Min, p.X.Max = -0.7, float64(len(all))-0.3
	nominal(p, names)
	values := plotter.XYLabels{}
	for i := range all {
		v := of(&all[i])
		values.XYs = append(values.XYs, plotter.XY{X: float64(i), Y: v})
		values.Labels = append(values.Labels, number(v))
	}
	l, err := plotter.NewLabels(values)
	if err != nil {
		return nil, err
	}
	for i := range l.TextStyle {
		l.TextStyle[i].XAlign, l.TextStyle[i].YAlign = draw.XCenter, draw.YBottom
	}
	p.Add(l)
	return p, nil
}

// amounts marks an axis of amounts, in as few digits as they need.
type amounts struct{}

func (amounts) Ticks(low, high float64) []plot.Tick {
	out := plot.DefaultTicks{}.Ticks(low, high)
	for i := range out {
		if out[i].Label != "" {
			out[i].Label = number(out[i].Value)
		}
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

func cost(all []Replay) (*plot.Plot, error) {
	return bars(all, "Cost of what ran", "US dollars", func(r *Replay) float64 { return float64(r.Summary.Cost) })
}

// utilisation draws what of the owned fleet is in use over time, and how many GPUs are waited for, as means of some hundred slices.
func utilisation(all []Replay) (*plot.Plot, error) {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = "In use, and (dotted) waited for", "days", "% of the fleet's GPUs or CPUs"
	p.Y.Min, p.Y.Max = 0, 150
	p.Add(plotter.NewGrid())
	const slicesOfTime = 150
	for i := range all {
		r := all[i].Result
		if len(r.Samples) == 0 || r.GPUs+r.CPUs == 0 {
			continue
		}
		span := r.Samples[len(r.Samples)-1].At.Sub(r.Begin).Hours() / 24
		type mean struct{ used, waits, n float64 }
		var means [slicesOfTime + 1]mean
		for _, s := range r.Samples {
			day := s.At.Sub(r.Begin).Hours() / 24
			m := &means[min(int(day/math.Max(span, 1e-9)*slicesOfTime), slicesOfTime)]
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
		if err := addLine(p, "", i, used); err != nil { // named in the panels beside it
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

// fairness draws the p99 slow-down of the accounts with most GPU-time.
func fairness(all []Replay) (*plot.Plot, error) {
	p := plot.New()
	p.Title.Text, p.Y.Label.Text = "p99 slow-down by account (largest first, log)", "times as long as it ran"
	p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	p.Y.Min, p.Y.Max = 1, 10
	if len(all) == 0 {
		return p, nil
	}
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
		names[i] = strings.TrimSpace(n[:min(len(n), 12)])
	}
	nominal(p, names)
	return p, nil
}

// beside is where the i-th of n points of one account stands: equal ones are not to hide each other.
func beside(i, n int) float64 { return 0.16 * (float64(i) - float64(n-1)/2) }

// nominal names what stands along the axis, aslant: names may be long.
func nominal(p *plot.Plot, names []string) {
	p.NominalX(names...)
	p.X.Tick.Label.Rotation, p.X.Tick.Label.XAlign, p.X.Tick.Label.YAlign = math.Pi/6, draw.XRight, draw.YCenter
}
