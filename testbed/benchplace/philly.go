package main

import (
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"fsub/federation"
	"fsub/federation/place"
	"fsub/federation/replay"
	"fsub/federation/replay/chart"
)

// Mean completion in seconds of others on the same trace and fleets, by GPUs. They were measured apart: Armada by its own simulator, the others by one of policies.
var others = map[int][]struct {
	name string
	mean float64
}{
	600: {{"federation-like: first come, first served at all sites", 41_412}, {"Armada", 23_030}, {"short first with perfect run times", 16_889}},
	480: {{"federation-like: first come, first served at all sites", 217_586}, {"Armada", 45_796}, {"short first with perfect run times", 24_532}},
}

// philly replays 82,247 jobs of Microsoft's Philly cluster (2017) on four sites. FSUB_ORACLE says where the trace is.
func philly(pictures string) (string, error) {
	file, err := tracesFile("philly_2017_sia.csv.gz")
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString("| GPUs | policy | mean completion, s | of federation-like | of Armada | of short first, perfect | wait p50 / p90 / p99, s | worst account's p99 slow-down | a plan takes |\n|---|---|---|---|---|---|---|---|---|\n")
	fleets := []int{600, 480}
	if small {
		fleets = fleets[:1]
	}
	runs := make([][]chart.Replay, len(fleets))
	var g errgroup.Group
	for k, gpus := range fleets {
		g.Go(func() (err error) {
			runs[k], err = phillyRuns(file, gpus)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return "", err
	}
	for k, gpus := range fleets {
		drawn, ref := runs[k], others[gpus]
		for _, o := range ref {
			fmt.Fprintf(&b, "| %d | %s | %.0f | %.2f | %.2f | %.2f | | | |\n", gpus, o.name, o.mean, o.mean/ref[0].mean, o.mean/ref[1].mean, o.mean/ref[2].mean)
		}
		for i := range drawn {
			s := &drawn[i].Summary
			worst, _ := s.WorstP99(1)
			mean := s.MeanTime.Seconds()
			fmt.Fprintf(&b, "| %d | **this planner: %s** | %.0f | %.2f | %.2f | %.2f | %.0f / %.0f / %.0f | %.0f | %s |\n", gpus, drawn[i].Name, mean, mean/ref[0].mean, mean/ref[1].mean, mean/ref[2].mean,
				s.WaitP50.Seconds(), s.WaitP90.Seconds(), s.WaitP99.Seconds(), worst, s.PerPlan.Round(time.Microsecond))
		}
		if _, err := chart.Write(filepath.Join(pictures, fmt.Sprintf("philly-%d", gpus)), fmt.Sprintf("Philly, 109 days of 2017, on four sites of %d GPUs in all", gpus), drawn); err != nil {
			return "", err
		}
	}
	return b.String(), nil
}

// phillyRuns are those of one fleet.
func phillyRuns(file string, gpus int) ([]chart.Replay, error) {
	variants := []struct {
		name   string
		order  replay.Order
		limits bool
	}{{"short first, with limits", replay.Short, true}, {"short first, no limits", replay.Short, false}}
	out := make([]chart.Replay, len(variants))
	var g errgroup.Group
	g.SetLimit(atOnce)
	for i, v := range variants {
		g.Go(func() error {
			r, err := phillyRun(file, gpus, v.order, v.limits)
			if err != nil {
				return err
			}
			out[i] = chart.Replay{Name: v.name, Result: r, Summary: r.Summary()}
			fmt.Fprintf(os.Stderr, "philly, %d GPUs, %s: mean completion %.0f s\n", gpus, v.name, out[i].Summary.MeanTime.Seconds())
			return nil
		})
	}
	return out, g.Wait()
}

func phillyRun(file string, gpus int, order replay.Order, limits bool) (*replay.Result, error) {
	jobs, err := readTrace(file)
	if err != nil {
		return nil, err
	}
	if limits {
		askLimits(jobs)
	}
	sites, err := phillySites(gpus)
	if err != nil {
		return nil, err
	}
	p := place.DefaultPolicy()
	p.Reservations = 1
	return replay.Run(replay.Config{Sites: sites, Jobs: jobs, Policy: p, Order: order, Gap: 5 * time.Second})
}

// phillySites are four sites of nodes with eight GPUs.
func phillySites(gpus int) (sites []*federation.Site, err error) {
	for i, nodes := range []int{8, 16, 16, 20} {
		s, err := replay.ParseSite(fmt.Sprintf("s%d=%dx8:p100,price=1", i+1, nodes*gpus/480))
		if err != nil {
			return nil, err
		}
		sites = append(sites, s)
	}
	return sites, nil
}

// askLimits gives jobs the time limits that users would have asked for: the trace has none. The next usual one above 1.2 times the run, and for half of the jobs
// one more, for a quarter two, and so on up to 14 days. The planner knows more by them than by limits as they are.
func askLimits(jobs []replay.Job) {
	const h = time.Hour
	usual := []time.Duration{h, 4 * h, 12 * h, 24 * h, 48 * h, 96 * h, 168 * h, 336 * h, 60 * 24 * h, 365 * 24 * h}
	rng := rand.New(rand.NewSource(1))
	for i := range jobs {
		j := &jobs[i]
		for k, l := range usual {
			if float64(l) < 1.2*float64(j.Run) {
				continue
			}
			for k < 7 && rng.Intn(2) == 0 {
				k++
			}
			spec := *j.Spec
			spec.TimeLimit = usual[k]
			j.SetSpec(spec)
			break
		}
	}
}
