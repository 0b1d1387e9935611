package chart

import (
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Curve is one that [Curves] draws, with a mark at each of its points. Lone points are not joined.
type Curve struct {
	Name   string
	Points [][2]float64
	Lone   bool
	Colour int // which of the colours; those that belong together have the same
}

// Curves draws some into BASE.svg and BASE.png and returns the names of both.
func Curves(base, title, x, y string, all []Curve) ([]string, error) {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, x, y
	p.Title.TextStyle.Font.Size, p.BackgroundColor = vg.Points(13), color.White
	p.Legend.Top, p.Legend.XOffs, p.Legend.YOffs = true, -vg.Points(6), -vg.Points(6)
	p.Add(plotter.NewGrid())
	for _, c := range all {
		var xy plotter.XYs
		for _, at := range c.Points {
			xy = append(xy, plotter.XY{X: at[0], Y: at[1]})
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
	const wide, high = 24 * vg.Centimeter, 16 * vg.Centimeter
	svg := vgsvg.New(wide, high)
	const pad = 4 * vg.Millimeter
	p.Draw(draw.Crop(draw.New(svg), pad, -pad, pad, -pad))
	png := vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(wide, high), vgimg.UseDPI(96))}
	p.Draw(draw.Crop(draw.New(png), pad, -pad, pad, -pad))
	if err := save(base+".svg", svg); err != nil {
		return nil, err
	}
	return []string{base + ".svg", base + ".png"}, save(base+".png", png)
}
