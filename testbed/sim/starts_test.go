package sim

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/controller"
	"fsub/federation/decision"
	"fsub/federation/place"
	"fsub/federation/predict"
	"fsub/federation/store"
	"fsub/sbatch"
	"fsub/slurm/hostlist"
	"fsub/slurm/wire"
	"fsub/testbed/simsite"
	"fsub/testbed/starts"
)

// TestNoStartBeforeItIsPossible: beside local jobs that keep a site's nodes, and all of them for a while now and then, no job is foretold to start before its nodes were free at all,
// though it was known who held them. testbed/starts has the same on real Slurm.
func TestNoStartBeforeItIsPossible(t *testing.T) {
	const nodes, cpus = 4, 64
	s := sites(nodes, slurmAt(t))[0]
	clock := simsite.NewVirtualClock(start)
	s.Config.Clock = clock
	s.Config.Users = append(s.Config.Users, simsite.UserConfig{Name: "bob", UID: 7002, GID: 7002, Accounts: []string{"vision"}})
	site, err := simsite.New(s.Config)
	if err != nil {
		t.Fatal(err)
	}
	d, err := s.Driver(site)
	if err != nil {
		t.Fatal(err)
	}
	st, err := store.Open(t.Context(), store.Config{Path: filepath.Join(t.TempDir(), "x.db"), Volatile: true})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	ctl, err := controller.New(t.Context(), controller.Config{Federation: "sim", Store: st, Policy: place.DefaultPolicy(), Now: clock.Now, Inline: true,
		Runs: predict.New(.5), Waits: predict.Waits{}, Sites: []controller.Site{{Name: "a", Driver: d, Prices: s.Prices}}})
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	local := func(run int) {
		_, _, err := site.Submit(simsite.Caller{Name: "bob"}, &wire.JobDesc{Name: "l", WorkDir: "/", Environment: wire.Environment{"PATH=/bin"},
			CPUsPerTask: cpus, TimeLimit: wire.Num(int64(1 + run/60 + rng.IntN(20))), Script: fmt.Sprintf("#!/bin/sh\n#SIM run=%ds\n", run)})
		if err != nil {
			t.Fatal(err)
		}
	}
	ask := func() decision.Starts {
		told := make(chan decision.Starts, 1)
		go func() {
			s, err := ctl.Starts(t.Context())
			if err != nil {
				t.Error(err)
			}
			told <- s
		}()
		for {
			select {
			case s := <-told:
				return s
			default:
				ctl.Round(t.Context())
			}
		}
	}
	type forecast struct {
		job   federation.JobID
		at    time.Time
		start decision.Start
	}
	var said []forecast
	wants := map[federation.JobID]int{} // nodes
	for step := range 3600 {
		ctl.Round(t.Context())
		clock.Advance(time.Second)
		site.Advance(0)
		if step%600 == 0 {
			for range nodes {
				local(200 + rng.IntN(200))
			}
		}
		if pending, _ := site.Counts(); pending < 2 {
			local(5 + rng.IntN(60))
		}
		if step%20 == 10 {
			n := 1 + rng.IntN(3)
			j := federation.Job{User: "alice", UID: 7001, GID: 7001, State: federation.Pending, Submit: clock.Now(),
				Spec: &sbatch.Spec{Name: "x", NTasks: n, MinNodes: n, CPUsPerTask: cpus, TimeLimit: time.Duration(1+rng.IntN(10)) * time.Minute, WorkDir: "/"}}
			if err := st.CreateJob(t.Context(), &j, &sbatch.Payload{Script: fmt.Sprintf("#!/bin/sh\n#SIM run=%ds\n", 5+rng.IntN(50)), Environment: []string{"PATH=/bin"}}); err != nil {
				t.Fatal(err)
			}
			wants[j.ID] = n
		}
		if step%15 == 0 {
			for id, start := range ask() {
				said = append(said, forecast{id, clock.Now(), start})
			}
		}
	}
	truth, began := starts.Site{Nodes: nodes}, map[federation.JobID]time.Time{}
	site.EachRun(func(r simsite.Run) bool {
		names, err := hostlist.Expand(r.Nodes)
		if err != nil {
			t.Fatal(err)
		}
		end := r.End
		if end.IsZero() {
			end = clock.Now()
		}
		for _, n := range names {
			truth.Held = append(truth.Held, starts.Held{Node: n, Start: r.Start, End: end})
		}
		began[federation.JobID(r.JobID)] = r.Start
		return true
	})
	half, high, known := 0, 0, 0
	for _, f := range said {
		bound := f.start.At
		if !f.start.Within.IsZero() {
			bound = f.start.Within
		}
		if free := truth.Free(wants[f.job], f.at); bound.Add(time.Second).Before(free) {
			t.Errorf("job %d of %d nodes: at %s it was to start within %s (%s), and nodes were not free before %s", f.job, wants[f.job], f.at.Format(time.TimeOnly), bound.Format(time.TimeOnly),
				f.start.Of, free.Format(time.TimeOnly))
		}
		if b, started := began[f.job]; started {
			known++
			if !b.After(f.start.At) {
				half++
			}
			if !b.After(bound) {
				high++
			}
		}
	}
	t.Logf("%d jobs, %d forecasts: of %d whose starts came, %d within the p50, %d within the p90", len(wants), len(said), known, half, high)
	if known < 100 {
		t.Errorf("only %d forecasts of %d were held against starts", known, len(said))
	}
}
