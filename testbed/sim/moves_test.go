package sim

import (
	"fmt"
	"os"
	"testing"
	"time"

	"fsub/slurm/wire"
	"fsub/testbed/simsite"
)

// crowd has jobs of others hold every node of site a for an hour and those of b for a quarter of one, and wait at a.
func crowd(nodes int) func([]*simsite.Site) error {
	return func(sites []*simsite.Site) error {
		for i, run := range []time.Duration{time.Hour, 15 * time.Minute} {
			n := nodes
			if i == 0 {
				n += 4
			}
			for range n {
				d := &wire.JobDesc{Name: "local", Script: fmt.Sprintf("#!/bin/sh\n#SIM run=%s exit=0\n", run), WorkDir: "/", TRESPerNode: "gres/gpu:8", Environment: wire.Environment{"A=b"},
					TimeLimit: wire.Num(int64(2*time.Hour/time.Minute) + int64(i)*600)}
				if _, _, err := sites[i].Submit(simsite.Caller{Name: "alice"}, d); err != nil {
					return err
				}
			}
		}
		return nil
	}
}

// TestMoves: jobs wait in the queue of a crowded site until another one falls free, and move there, while the daemon dies at any of its steps, controllers are
// killed, and requests and replies are lost. Each starts exactly once, but for those of which a killed controller has lost the start.
func TestMoves(t *testing.T) {
	jobs, nodes := 40, 8
	if os.Getenv("FSUB_FULL") != "" {
		jobs, nodes = 500, 80
	} else {
		t.Log("FSUB_FULL is not set: 40 moves instead of 500")
	}
	for name, kills := range map[string]time.Duration{"daemon": 0, "controllers": time.Minute} {
		t.Run(name, func(t *testing.T) {
			cfg := Config{Seed: 7, Jobs: jobs, Sites: sites(nodes, slurmAt(t))[:2], MeanGap: 100 * time.Millisecond, Limit: 12 * time.Hour, Crowd: crowd(nodes),
				Crash: 20 * time.Second, Controller: kills, Loss: Loss{Request: 0.01, Refused: 0.01, Reply: 0.03}}
			cfg.Sites[0].Prices, cfg.Sites[1].Prices = map[string]float64{"gres/gpu": 1}, map[string]float64{"gres/gpu": 1}
			r := play(t, cfg)
			if r.Moved < jobs*8/10 || r.Crashes == 0 || r.Lost == 0 || kills > 0 && r.Kills == 0 {
				t.Errorf("too few jobs have moved, or nothing has failed: %+v", r)
			}
			if kills == 0 && (r.Runs != r.Submitted || r.Completed != r.Submitted) {
				t.Errorf("not every job started exactly once: %+v", r)
			}
		})
	}
}
