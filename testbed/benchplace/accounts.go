package main

import (
	"fmt"
	"maps"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"fsub/federation/place"
	"fsub/federation/replay"
)

// accountFigures compares the accounts' p99 slow-downs in the trace's eighth week on 600 GPUs.
func accountFigures() (string, error) {
	file, err := tracesFile("philly_w8.csv.gz")
	if err != nil {
		return "", err
	}
	orders := []struct {
		words  string
		order  replay.Order
		limits bool
	}{{"fair-share, no limits", replay.FairShare, false}, {"short first, no limits", replay.Short, false}, {"short first, with limits", replay.Short, true}}
	all := make([]replay.Summary, len(orders))
	var g errgroup.Group
	g.SetLimit(atOnce)
	for i, o := range orders {
		g.Go(func() error {
			jobs, err := readTrace(file)
			if err != nil {
				return err
			}
			if o.limits {
				askLimits(jobs)
			}
			sites, err := phillySites(600)
			if err != nil {
				return err
			}
			r, err := replay.Run(replay.Config{Sites: sites, Jobs: jobs, Policy: place.DefaultPolicy(), Order: o.order, Gap: 5 * time.Second})
			if err == nil {
				all[i] = r.Summary()
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return "", err
	}
	armada, mean, err := armadaP99(file, 0)
	if err != nil {
		return "", err
	}
	most := maps.Clone(armada) // of its rule, looked at at other seconds of the minute
	for _, phase := range []time.Duration{15, 30, 45} {
		later, _, err := armadaP99(file, phase*time.Second)
		if err != nil {
			return "", err
		}
		for account, p99 := range later {
			most[account] = max(most[account], p99)
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Mean completion: by Armada's rule %.0f s", mean)
	for i, o := range orders {
		fmt.Fprintf(&b, ", %s %.0f s", o.words, all[i].MeanTime.Seconds())
	}
	b.WriteString(".\n\n| account | jobs | GPU-hours | Armada's rule | the most of it, at other seconds |")
	for _, o := range orders {
		b.WriteString(" " + o.words + " |")
	}
	b.WriteString("\n|---|---|---|---|---|" + strings.Repeat("---|", len(orders)) + "\n")
	for _, a := range all[0].Accounts {
		fmt.Fprintf(&b, "| %s | %d | %.0f | %.1f | %.1f |", a.Account, a.Jobs, a.GPUHours, armada[a.Account], most[a.Account])
		for i := range all {
			for _, o := range all[i].Accounts {
				if o.Account == a.Account {
					fmt.Fprintf(&b, " %.1f |", o.SlowDownP99)
				}
			}
		}
		b.WriteString("\n")
	}
	return b.String(), nil
}

// armadaP99 are the accounts' p99 slow-downs by Armada's rule, and the mean completion.
func armadaP99(file string, phase time.Duration) (p99 map[string]float64, mean float64, err error) {
	jobs, err := readTrace(file)
	if err != nil {
		return nil, 0, err
	}
	r := replay.Result{}
	for i, w := range drf(jobs, []int{10, 20, 20, 25}, phase) {
		j := &jobs[i]
		r.Jobs = append(r.Jobs, replay.Outcome{Job: j.Job, Submit: j.Submit, Start: j.Submit.Add(w), End: j.Submit.Add(w + j.Run), GPUs: replay.GPUs(j.Job)})
	}
	s := r.Summary()
	p99 = map[string]float64{}
	for _, a := range s.Accounts {
		p99[a.Account] = a.SlowDownP99
	}
	return p99, s.MeanTime.Seconds(), nil
}
