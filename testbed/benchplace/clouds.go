package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"fsub/federation"
	"fsub/federation/place"
	"fsub/federation/replay"
	"fsub/federation/replay/chart"
	"fsub/federation/replay/trace"
)

// rented are figures of others on the trace with a cloud, by GPUs owned: of a policy that starts each job at once, on an owned node that is free or else in the cloud, as
// SkyPilot does, and what the goal is.
var rented = map[int]struct{ hours, goal float64 }{480: {263_734, .8}, 600: {157_382, .6}, 720: {66_210, .5}}

// waitValues are what a GPU-hour of waiting is worth, in dollars; a job-hour is worth an eighth of that, as by default. The first one has nobody wait.
var waitValues = []federation.Dollars{10_000, 4, 1.6, .8}

// usual is the default of waitValues: the bound is worked out for it.
const usual = 1.6

// clouds replays the trace on owned sites and a cloud that has GPUs enough, for three times the price. Run times are not known and there are no time limits.
func clouds(pictures string) (string, error) {
	file, err := tracesFile("philly_2017_sia.csv.gz")
	if err != nil {
		return "", err
	}
	fleets := []int{480, 600, 720}
	var b strings.Builder
	b.WriteString("| GPUs owned | a GPU-hour's wait is worth | cloud GPU-hours | of SkyPilot-like (goal) | mean completion, s | longer than SkyPilot-like | mean wait, s | wait p99, s | at least, max-flow | of that |\n|---|---|---|---|---|---|---|---|---|---|\n")
	var curves []chart.Curve
	all := make([][]cloudRun, len(fleets))
	var g errgroup.Group
	g.SetLimit(atOnce)
	for k, gpus := range fleets {
		all[k] = make([]cloudRun, len(waitValues))
		for i, value := range waitValues {
			g.Go(func() (err error) {
				all[k][i], err = cloudRunOf(file, gpus, value)
				return err
			})
		}
	}
	if err := g.Wait(); err != nil {
		return "", err
	}
	for k, gpus := range fleets {
		like := rented[gpus]
		fmt.Fprintf(&b, "| %d | SkyPilot-like | %.0f | 1.00 | | | | | | |\n", gpus, like.hours)
		rows := make([]string, len(waitValues))
		curve := chart.Curve{Name: fmt.Sprintf("%d GPUs owned", gpus), Points: make([][2]float64, len(waitValues)), Colour: k}
		means := make([]float64, len(waitValues))
		for i, r := range all[k] {
			means[i] = r.MeanTime.Seconds()
			longer := means[i]/means[0] - 1
			curve.Points[i] = [2]float64{100 * longer, r.RentedHours / like.hours}
			value := fmt.Sprintf("$%.2f", float64(waitValues[i]))
			if i == 0 {
				value = "nobody waits"
			}
			bound := " | "
			if waitValues[i] == usual {
				bound = fmt.Sprintf("%.0f | %.2f", r.least, r.RentedHours/math.Max(r.least, 1))
			}
			rows[i] = fmt.Sprintf("| %d | %s | %.0f | %.2f (%.1f) | %.0f | %.1f %% | %.0f | %.0f | %s |\n", gpus, value, r.RentedHours, r.RentedHours/like.hours, like.goal, means[i], 100*longer,
				r.MeanWait.Seconds(), r.WaitP99.Seconds(), bound)
		}
		b.WriteString(strings.Join(rows, ""))
		curves = append(curves, curve, chart.Curve{Name: fmt.Sprintf("goal with %d", gpus), Points: [][2]float64{{6, like.goal}}, Lone: true, Colour: k})
	}
	_, err = chart.Curves(filepath.Join(pictures, "philly-clouds"), "What waiting saves: cloud GPU-hours by how much longer jobs take", "mean completion longer than if nobody waits, %", "cloud GPU-hours of SkyPilot-like", curves)
	return b.String(), err
}

// cloudRun is one replay, and the least that had to be rented.
type cloudRun struct {
	replay.Summary
	least float64
}

func cloudRunOf(file string, gpus int, value federation.Dollars) (cloudRun, error) {
	jobs, _, err := trace.Read(file, trace.Shape{})
	if err != nil {
		return cloudRun{}, err
	}
	sites, err := phillySites(gpus)
	if err != nil {
		return cloudRun{}, err
	}
	cloud, err := replay.ParseSite("cloud=250x8:p100,price=3,rented=3m")
	if err != nil {
		return cloudRun{}, err
	}
	p := place.DefaultPolicy()
	p.Reservations, p.WaitGPUHour, p.WaitJobHour = 1, value, value/8
	r, err := replay.Run(replay.Config{Sites: append(sites, cloud), Jobs: jobs, Policy: p, Order: replay.Short, Gap: 5 * time.Second})
	if err != nil {
		return cloudRun{}, err
	}
	out := cloudRun{Summary: r.Summary()}
	if value == usual {
		out.least = leastRented(r, gpus)
	}
	fmt.Fprintf(os.Stderr, "clouds, %d GPUs, $%.2f: %.0f GPU-hours rented, at least %.0f, mean completion %.0f s\n", gpus, float64(value), out.RentedHours, out.least, out.MeanTime.Seconds())
	return out, nil
}
