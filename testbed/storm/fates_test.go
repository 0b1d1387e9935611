package storm

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"fsub/accounting"
	book "fsub/accounting/ledger"
	"fsub/cloud"
	"fsub/cloud/agentapi"
	"fsub/cloud/cloudtest"
	"fsub/cloud/provider"
	"fsub/federation"
	"fsub/federation/action"
	"fsub/federation/controller"
	"fsub/federation/decision"
	"fsub/federation/driver"
	"fsub/federation/ledger"
	"fsub/federation/place"
	"fsub/federation/store"
	"fsub/sbatch"
)

// TestFates: gangs whose machines come up one after the other, machines that are drained, taken back and shared, jobs that are cancelled, and daemons that begin
// anew: what the books have of runs and of machines without one comes to what the machines have cost.
func TestFates(t *testing.T) {
	seeds := 1
	if os.Getenv("FSUB_FULL") != "" {
		seeds = 20
	} else {
		t.Log("only one of twenty: set FSUB_FULL=1 for all of them")
	}
	for seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { synctest.Test(t, func(t *testing.T) { fates(t, uint64(seed)) }) })
	}
}

// fleet is a daemon over one cloud, which lives on without it.
type fleet struct {
	*testing.T
	store  *store.Store
	cloud  *cloudtest.Provider
	server *cloudtest.AgentServer
	driver *cloud.Driver
	ctl    *controller.Controller
	stop   func()
}

func (f *fleet) begin() {
	log := slog.New(slog.DiscardHandler)
	d, err := cloud.New(cloud.Config{Site: "aws", Provider: f.cloud, Store: f.store, AgentServer: f.server, Secret: []byte("0123456789abcdef"), Users: people{}, Logger: log,
		Pools: []cloud.PoolConfig{{Name: "main", Max: 64, Idle: 2 * time.Minute}, {Name: "shared", Max: 64, Idle: 2 * time.Minute, Shared: true}}, Boot: agentapi.Boot{PowerOff: true}})
	if err != nil {
		f.Fatal(err)
	}
	ctl, err := controller.New(f.Context(), controller.Config{Federation: "test", Store: f.store, Policy: place.Policy{}, Sites: []controller.Site{{Name: "aws", Driver: d}}, Logger: log})
	if err != nil {
		f.Fatal(err)
	}
	ctx, cancel := context.WithCancel(f.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = d.Run(ctx) })
	running.Go(func() { _ = ctl.Run(ctx) })
	f.driver, f.ctl = d, ctl
	f.stop = func() {
		f.server.Remove("aws")
		cancel()
		running.Wait()
	}
}

func fates(t *testing.T, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 11))
	st, err := store.Open(t.Context(), store.Config{Path: filepath.Join(t.TempDir(), "fed.db"), Volatile: true})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	f := &fleet{T: t, store: st, server: &cloudtest.AgentServer{}}
	var mu sync.Mutex
	f.cloud = &cloudtest.Provider{Boot: 20 * time.Second, Lag: time.Second, AgentServer: f.server, Slower: func(string) time.Duration {
		mu.Lock()
		defer mu.Unlock()
		return time.Duration(rng.IntN(90_000)) * time.Millisecond
	}}
	for _, market := range []provider.Market{provider.Spot, provider.OnDemand} {
		f.cloud.Offers = append(f.cloud.Offers, provider.Offering{ID: "x/a/" + string(market), Type: "x", Region: "here", Zone: "a", Market: market, CPUs: 4, Mem: 16000, Arch: "x86_64",
			Price: decision.Dollars(map[provider.Market]float64{provider.Spot: 3.21, provider.OnDemand: 7.77}[market]), PricedAt: time.Now(), PriceFrom: "test", Boot: 60 * time.Second})
	}
	f.begin()
	draw := func(n int) int {
		mu.Lock()
		defer mu.Unlock()
		return rng.IntN(n)
	}
	time.Sleep(10 * time.Second)
	var ids []federation.JobID
	for range 60 {
		time.Sleep(time.Duration(draw(60_000)) * time.Millisecond)
		j := federation.Job{User: "alice", UID: 2001, GID: 2001, Account: "bio", Spec: &sbatch.Spec{Name: "job", TimeLimit: time.Hour, WorkDir: "/tmp", CPUsPerTask: 1 + draw(4), MinNodes: 1 + draw(3)}}
		if j.Spec.Partition = []string{"main", "shared"}[draw(2)]; j.Spec.Partition == "shared" {
			j.Spec.MinNodes = 1
		}
		if err := st.CreateJob(t.Context(), &j, &sbatch.Payload{Script: fmt.Sprintf("#!/bin/bash\nsleep %d", draw(400)), Environment: []string{"PATH=/bin"}}); err != nil {
			t.Fatal(err)
		}
		f.ctl.Wake()
		ids = append(ids, j.ID)
		switch living := f.cloud.Living(); draw(8) {
		case 0: // a job is cancelled, perhaps before its machines are up
			if _, err := st.AddRequest(t.Context(), action.Request{Job: ids[draw(len(ids))], Kind: action.Cancel, UID: 2001}); err != nil {
				t.Fatal(err)
			}
			f.ctl.Wake()
		case 1: // a spot machine is taken back
			if len(living) > 0 {
				f.cloud.Preempt(living[draw(len(living))].ID, 30*time.Second)
			}
		case 2, 3: // a node is drained, with or without a job, and perhaps resumed
			if len(living) > 0 {
				nodes := []string{living[draw(len(living))].Name}
				if _, err := f.driver.SetNodes(t.Context(), driver.NodeOrder{Wish: federation.WishDrain, Nodes: nodes, Text: "test:op:1 looked at", Mark: "test"}); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Duration(draw(40)) * time.Second)
				if _, err := f.driver.SetNodes(t.Context(), driver.NodeOrder{Wish: federation.WishResume, Nodes: nodes, Mark: "test"}); err != nil {
					t.Fatal(err)
				}
			}
		case 4: // the daemon begins anew
			f.stop()
			time.Sleep(time.Duration(draw(20)) * time.Second)
			f.begin()
		}
	}
	for end := time.Now().Add(6 * time.Hour); ; time.Sleep(time.Minute) {
		live, err := st.Jobs(t.Context(), federation.JobQuery{Live: true})
		if err != nil {
			t.Fatal(err)
		}
		if len(live) == 0 && len(f.cloud.Living()) == 0 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("%d jobs and %d machines live", len(live), len(f.cloud.Living()))
		}
	}
	time.Sleep(5 * time.Minute)
	f.stop()
	f.checkFates()
}

func (f *fleet) checkFates() {
	f.Helper()
	all, err := rented{f.store}.Machines(f.Context(), "aws", time.Time{}, 1<<20)
	if err != nil {
		f.Fatal(err)
	}
	var cost federation.Money
	for i := range all {
		if m := &all[i]; m.Ended.IsZero() || m.IdleCost < 0 {
			f.Errorf("machine %+v", m)
		}
		cost += all[i].Cost
	}
	books := ledger.New(ledger.Config{Store: f.store, Books: f.store, Rented: rented{f.store}, Logger: slog.New(slog.DiscardHandler)})
	for range 2 {
		if _, err := books.Charges(f.Context()); err != nil {
			f.Fatal(err)
		}
		if err := books.Machines(f.Context()); err != nil {
			f.Fatal(err)
		}
	}
	rows, err := f.store.BookedSums(f.Context(), book.SumQuery{Until: 1 << 20})
	if err != nil {
		f.Fatal(err)
	}
	got, cpu, runs, sum := map[book.Fate]federation.Money{}, map[book.Fate]int64{}, int64(0), federation.Money(0)
	for _, r := range rows {
		cpu[r.Fate] += r.CPU
		got[r.Fate] += r.Amount
		sum += r.Amount
		runs += r.Runs
	}
	f.Logf("$%s for %d machines, %d runs: %v", cost.Text(2), len(all), runs, got)
	// The price of a gang is rounded once, those of its machines each.
	if off := sum - cost; off > accounting.Money(3*runs) || off < -accounting.Money(3*runs) {
		f.Errorf("the books have $%s, and the machines have cost $%s", sum.Text(6), cost.Text(6))
	}
	for _, fate := range []book.Fate{book.Productive, book.Provisioning, book.GangWait, book.Drained, book.Unused} {
		if got[fate] <= 0 {
			f.Errorf("nothing was %s", fate)
		} else if cpu[fate] == 0 {
			f.Errorf("no CPUs were %s", fate)
		}
	}
}
