package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"fsub/federation/decision"
	"fsub/federation/place"
	"fsub/federation/replay"
	"fsub/federation/replay/chart"
)

// rented are figures of others on the whole trace with a cloud, by GPUs owned: of a policy that starts each job at once, on an owned node that is free or else in the cloud,
// as SkyPilot does, and what the goal is. They were measured apart.
var rented = map[int]struct{ hours, goal float64 }{480: {263_734, .8}, 600: {157_382, .6}, 720: {66_210, .5}}

// wholeValue is what an hour's wait of a job is worth in dollars where the whole trace is replayed. The mean completion counts each job alike, and so does this.
const wholeValue = 20

// waitValues are others. With the first one nobody waits.
var waitValues = []decision.Dollars{10_000, 60, wholeValue, 8, 4, 2}

// clouds replays the trace on owned sites and a cloud that has GPUs enough, for three times the price. Run times are not known and there are no time limits. The whole
// trace is replayed with one value of waiting, its eighth week with others too.
func clouds(pictures string) (string, error) {
	whole, err := tracesFile("philly_2017_sia.csv.gz")
	if err != nil {
		return "", err
	}
	week, _ := tracesFile("philly_w8.csv.gz")
	fleets := []int{480, 600, 720}
	if small { // on more GPUs few jobs rent nothing
		fleets = fleets[:1]
	}
	all, weeks := make([]cloudRun, len(fleets)), make([][]cloudRun, len(fleets))
	var g errgroup.Group
	g.SetLimit(atOnce)
	for k, gpus := range fleets {
		g.Go(func() (err error) {
			all[k], err = cloudRunOf(whole, gpus, wholeValue)
			return err
		})
	}
	for k, gpus := range fleets {
		weeks[k] = make([]cloudRun, len(waitValues))
		for i, value := range waitValues {
			g.Go(func() (err error) {
				weeks[k][i], err = cloudRunOf(week, gpus, value)
				return err
			})
		}
	}
	if err := g.Wait(); err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString("| whole trace, GPUs owned | cloud GPU-hours | SkyPilot-like | of that (goal) | mean completion, s | longer than without any wait (goal) | wait p50 / p90 / p99, s | at least, max-flow | of that |\n|---|---|---|---|---|---|---|---|---|\n")
	for k, gpus := range fleets {
		r, like := &all[k], rented[gpus]
		mean := r.MeanTime.Seconds()
		fmt.Fprintf(&b, "| %d | %.0f | %.0f | **%.2f** (%.1f) | %.0f | **%.1f %%** (6 %%) | %.0f / %.0f / %.0f | %.0f | %s |\n", gpus, r.RentedHours, like.hours, r.RentedHours/like.hours, like.goal, mean,
			100*r.longer(), r.WaitP50.Seconds(), r.WaitP90.Seconds(), r.WaitP99.Seconds(), r.least, r.ofLeast())
	}
	b.WriteString("\n| eighth week, GPUs owned | an hour's wait of a job is worth | cloud GPU-hours | of those where nobody waits | mean completion, s | longer than without any wait | wait p99, s | at least, max-flow | of that |\n|---|---|---|---|---|---|---|---|---|\n")
	var curves []chart.Curve
	for k, gpus := range fleets {
		curve := chart.Curve{Name: fmt.Sprintf("%d GPUs owned", gpus), Colour: k}
		for i, r := range weeks[k] {
			share := r.RentedHours / weeks[k][0].RentedHours
			if i > 0 { // where nobody waits all curves begin
				curve.Points = append(curve.Points, [2]float64{100 * r.longer(), share})
			}
			value := fmt.Sprintf("$%.2f", float64(waitValues[i]))
			if i == 0 {
				value = "nobody waits"
			} else {
				curve.Labels = append(curve.Labels, fmt.Sprintf("$%.0f", float64(waitValues[i])))
			}
			fmt.Fprintf(&b, "| %d | %s | %.0f | %.2f | %.0f | %.1f %% | %.0f | %.0f | %s |\n", gpus, value, r.RentedHours, share, r.MeanTime.Seconds(), 100*r.longer(), r.WaitP99.Seconds(), math.Abs(r.least), r.ofLeast())
		}
		curves = append(curves, curve, chart.Curve{Name: fmt.Sprintf("goal with %d on the whole trace", gpus), Points: [][2]float64{{6, rented[gpus].goal}}, Lone: true, Colour: k})
	}
	_, err = chart.Curves(filepath.Join(pictures, "philly-clouds"), "What waiting saves (eighth week; at the points, what an hour's wait of a job is worth)", "mean completion longer than without any wait, %",
		"cloud GPU-hours of those where nobody waits", curves)
	return b.String(), err
}

// cloudRun is one replay, and the least that had to be rented.
type cloudRun struct {
	replay.Summary
	least float64
}

// ofLeast is how many times as much was rented as had to be; "" where that is nothing.
func (r *cloudRun) ofLeast() string {
	if r.least < 1 {
		return ""
	}
	return fmt.Sprintf("%.2f", r.RentedHours/r.least)
}

// longer is how much longer jobs took than they ran, as a share.
func (r *cloudRun) longer() float64 {
	return r.MeanWait.Seconds() / (r.MeanTime - r.MeanWait).Seconds()
}

func cloudRunOf(file string, gpus int, value decision.Dollars) (cloudRun, error) {
	jobs, err := readTrace(file)
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
	p.Reservations, p.WaitGPUHour, p.WaitJobHour = 1, -1, value
	r, err := replay.Run(replay.Config{Sites: append(sites, cloud), Jobs: jobs, Policy: p, Order: replay.Short, Gap: 5 * time.Second})
	if err != nil {
		return cloudRun{}, err
	}
	out := cloudRun{r.Summary(), leastRented(r, gpus)}
	fmt.Fprintf(os.Stderr, "clouds, %d GPUs, $%.2f: %.0f GPU-hours rented, at least %.0f, mean completion %.0f s\n", gpus, float64(value), out.RentedHours, out.least, out.MeanTime.Seconds())
	return out, nil
}
