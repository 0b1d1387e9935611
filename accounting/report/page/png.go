package page

import (
	"bytes"
	"fmt"
	"image/color"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/font/liberation"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

// png draws the chart as a picture for mail, whose readers show no SVG. Its legend is below it.
func (c *chart) png() ([]byte, error) {
	p := pngCanvas{high: c.high(), fonts: text.Plain{Fonts: font.NewCache(liberation.Collection())}}
	legend := p.legend(c, false)
	img := vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(wide, vg.Length(p.high+legend)), vgimg.UseDPI(72))} // a point is a pixel
	p.Canvas = draw.New(img)
	p.high += legend
	p.rect(0, 0, wide, p.high, "#ffffff", "")
	c.draw(&p)
	p.legend(c, true)
	var b bytes.Buffer
	_, err := img.WriteTo(&b)
	return b.Bytes(), err
}

// pngCanvas is a canvas of pixels.
type pngCanvas struct {
	draw.Canvas
	high  float64
	fonts text.Handler
}

func (p *pngCanvas) at(x, y float64) vg.Point {
	return vg.Point{X: vg.Length(x), Y: vg.Length(p.high - y)}
}

func (p *pngCanvas) line(class string, x1, y1, x2, y2 float64) {
	shade := color.Gray{0xdd}
	if class == "axis" {
		shade = color.Gray{0x77}
	}
	p.StrokeLines(draw.LineStyle{Color: shade, Width: 1}, []vg.Point{p.at(x1, y1), p.at(x2, y2)})
}

func (p *pngCanvas) style() text.Style {
	return text.Style{Color: color.Gray{0x33}, Font: font.Font{Typeface: "Liberation", Variant: "Sans", Size: 12}, Handler: p.fonts}
}

func (p *pngCanvas) text(_, anchor string, x, y float64, words string) {
	style := p.style()
	switch anchor {
	case "middle":
		style.XAlign = text.XCenter
	case "end":
		style.XAlign = text.XRight
	}
	p.FillText(style, p.at(x, y), words)
}

func (p *pngCanvas) rect(x, y, w, h float64, fill, _ string) {
	c := color.RGBA{A: 255}
	fmt.Sscanf(fill, "#%02x%02x%02x", &c.R, &c.G, &c.B)
	p.FillPolygon(c, []vg.Point{p.at(x, y), p.at(x+w, y), p.at(x+w, y+h), p.at(x, y+h)})
}

// legend names the series of a chart that has several, at the bottom of the picture if draws, and returns how much room that takes.
func (p *pngCanvas) legend(c *chart, draws bool) float64 {
	if len(c.names) < 2 {
		return 0
	}
	const line, square, gap = 20, 10, 18
	x, y, style := 0.0, c.high()+line, p.style()
	for i, name := range c.names {
		w := square + 6 + float64(style.Width(name)) + gap
		if x > 0 && x+w > wide {
			x, y = 0, y+line
		}
		if draws {
			p.rect(x, y-square, square, square, c.color(i), "")
			p.text("", "start", x+square+6, y, name)
		}
		x += w
	}
	return y + line/2 - c.high()
}
