package chart

import (
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Curve is one that [Curves] draws, with a mark at each of its points. Lone points are not joined.
type Curve struct {
	Name   string
	Points [][2]float64
	Labels []string // beside the points; none for those that are not there
	Lone   bool
	Colour int // which of the colours; those that belong together have the same
}

// Curves draws some into BASE.svg and BASE.png and returns the names of both.
func Curves(base, title, x, y string, all []Curve) ([]string, error) {
	const wide, high = 24 * vg.Centimeter, 16 * vg.Centimeter
	p := newPlot(title, x, y)
	p.X.Tick.Marker, p.Y.Tick.Marker = amounts{}, amounts{}
	p.Legend.Top, p.Legend.Left, p.Legend.Padding = true, true, vg.Points(3)
	longest := vg.Length(0)
	p.Add(plotter.NewGrid())
	for _, c := range all {
		var xy plotter.XYs
		for _, at := range c.Points {
			xy = append(xy, plotter.XY{X: at[0], Y: at[1]})
		}
		longest = max(longest, p.Legend.TextStyle.Width(c.Name))
		if len(c.Labels) > 0 {
			l, err := plotter.NewLabels(plotter.XYLabels{XYs: xy[:min(len(xy), len(c.Labels))], Labels: c.Labels})
			if err != nil {
				return nil, err
			}
			for i := range l.TextStyle {
				l.TextStyle[i].Font.Variant, l.TextStyle[i].Color = "Sans", colourOf(c.Colour)
			}
			l.Offset = vg.Point{X: vg.Points(5), Y: vg.Points(3)}
			p.Add(l)
		}
		line, marks, err := plotter.NewLinePoints(xy)
		if err != nil {
			return nil, err
		}
		line.Color, line.Width = colourOf(c.Colour), vg.Points(1.6)
		marks.Color, marks.Radius, marks.Shape = colourOf(c.Colour), vg.Points(3), draw.CircleGlyph{}
		if c.Lone {
			marks.Radius, marks.Shape = vg.Points(6), draw.CrossGlyph{}
			p.Add(marks)
			p.Legend.Add(c.Name, marks)
			continue
		}
		p.Add(line, marks)
		p.Legend.Add(c.Name, line, marks)
	}
	p.X.Min, p.Y.Min = min(p.X.Min, 0), min(p.Y.Min, 0)
	p.X.Max, p.Y.Max = 1.03*p.X.Max, 1.03*p.Y.Max
	p.Legend.XOffs, p.Legend.YOffs = wide-longest-4*vg.Centimeter, -vg.Points(6) // to the right, and yet with the words behind the marks: fonts may be wider
	return save(base, wide, high, func(c draw.Canvas) {
		const pad = 4 * vg.Millimeter
		p.Draw(draw.Crop(c, pad, -pad, pad, -pad))
	})
}
