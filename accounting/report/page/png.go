package page

import (
	"slices"

	"github.com/go-analyze/charts"
)

// png draws the chart as a picture for mail, whose readers show no SVG.
func (c *chart) png() ([]byte, error) {
	height := 340
	labels, names := slices.Clone(c.labels), slices.Clone(c.names)
	data := make([][]float64, len(c.data))
	for i := range c.data {
		data[i] = slices.Clone(c.data[i])
	}
	if !c.timed {
		each := 26
		if !c.stacked {
			each += 12 * (len(data) - 1)
		}
		height = 90 + each*len(labels)
		for i := range data { // the first row is to be on top
			slices.Reverse(data[i])
		}
		slices.Reverse(labels)
	}
	// Of bars upon each other with a value between 0 and 1 the library moves the axis: hundredths are whole numbers.
	const hundredths = 100
	for i := range data {
		for at := range data[i] {
			data[i][at] = float64(int64(data[i][at]*hundredths + 0.5))
		}
	}
	if c.timed { // the library labels the last period too, over the one before
		every := (len(labels) + mostSlots - 1) / mostSlots
		for i := range labels {
			if labels[i] = periodText(labels[i]); i%every != 0 {
				labels[i] = ""
			}
		}
	}
	least, most, ticks := c.ends()
	step := (most - least) / float64(ticks-1)
	least, most = least*hundredths, most*hundredths
	opt := charts.NewBarChartOptionWithData(data)
	opt.Horizontal = !c.timed
	axis := &opt.ValueAxis[0]
	axis.ValueFormatter = func(v float64) string { return tickText(v/hundredths, step) }
	axis.Min, axis.Max, axis.LabelCount, axis.RangeValuePaddingScale = &least, &most, ticks, charts.Ptr(0.0)
	var colors []charts.Color
	for i := range data {
		colors = append(colors, charts.ParseColor(c.color(i)))
	}
	opt.Theme = opt.Theme.WithSeriesColors(colors)
	if c.timed {
		opt.CategoryAxis.LabelCount = len(labels)
		opt.CategoryAxis.BoundaryGap = charts.Ptr(true) // else the labels of many periods drift away from their bars
	}
	opt.CategoryAxis.Labels, opt.Legend.SeriesNames, opt.StackSeries = labels, names, &c.stacked
	p := charts.NewPainter(charts.PainterOptions{OutputFormat: charts.ChartOutputPNG, Width: 960, Height: height})
	if err := p.BarChart(opt); err != nil {
		return nil, err
	}
	return p.Bytes()
}
