package storm

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"fsub/cloud"
	"fsub/cloud/agentapi"
	"fsub/cloud/cloudtest"
	"fsub/cloud/provider"
	"fsub/cloud/records"
	"fsub/federation"
	"fsub/federation/controller"
	"fsub/federation/place"
	"fsub/federation/store"
	"fsub/sbatch"
)

// TestTakenOftenGoesOnDemand: a job goes to spot machines at half the price, and on demand where the store knows that these spot machines are taken every twenty minutes.
func TestTakenOftenGoesOnDemand(t *testing.T) {
	for want, taken := range map[provider.Market]int{provider.Spot: 0, provider.OnDemand: 60} {
		t.Run(string(want), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				st, err := store.Open(t.Context(), store.Config{Path: filepath.Join(t.TempDir(), "fed.db"), Volatile: true})
				if err != nil {
					t.Fatal(err)
				}
				defer st.Close()
				if taken > 0 {
					data := fmt.Sprintf(`{"taken": %d, "hours": 20, "at": %q}`, taken, time.Now().Format(time.RFC3339))
					if err := st.CommitPool(t.Context(), "aws", []records.PoolRecord{{Kind: records.PoolRisk, ID: "x/a/spot", Closed: time.Now().Add(time.Hour), Data: []byte(data)}}); err != nil {
						t.Fatal(err)
					}
				}
				server := &cloudtest.AgentServer{}
				c := &cloudtest.Provider{Boot: 20 * time.Second, Lag: time.Second, AgentServer: server}
				for _, m := range []provider.Market{provider.Spot, provider.OnDemand} {
					o := provider.Offering{ID: "x/a/" + string(m), Type: "x", Zone: "a", Market: m, CPUs: 4, Mem: 16000, Arch: "x86_64", Price: 10, Boot: 30 * time.Second}
					if m == provider.Spot {
						o.Price, o.Interrupts = 5, 0.05
					}
					c.Offers = append(c.Offers, o)
				}
				ctx, cancel := context.WithCancel(t.Context())
				var running sync.WaitGroup
				d, err := cloud.New(cloud.Config{Site: "aws", Provider: c, Store: st, AgentServer: server, Secret: []byte("0123456789abcdef"), Users: people{}, Logger: slog.New(slog.DiscardHandler),
					Pools: []cloud.PoolConfig{{Name: "main"}}, Boot: agentapi.Boot{PowerOff: true}})
				if err != nil {
					t.Fatal(err)
				}
				running.Go(func() { _ = d.Run(ctx) })
				ctl, err := controller.New(ctx, controller.Config{Federation: "test", Store: st, Policy: place.Policy{LostWork: time.Hour}, Sites: []controller.Site{{Name: "aws", Driver: d}}})
				if err != nil {
					t.Fatal(err)
				}
				running.Go(func() { _ = ctl.Run(ctx) })
				time.Sleep(10 * time.Second)
				j := federation.Job{User: "alice", UID: 2001, GID: 2001, Spec: &sbatch.Spec{Name: "job", TimeLimit: 4 * time.Hour, WorkDir: "/tmp", CPUsPerTask: 4}}
				if err := st.CreateJob(ctx, &j, &sbatch.Payload{Script: "#!/bin/bash\nwork 3600", Environment: []string{"PATH=/bin"}}); err != nil {
					t.Fatal(err)
				}
				ctl.Wake()
				time.Sleep(3 * time.Minute)
				if living := c.Living(); len(living) != 1 || !strings.HasSuffix(living[0].Offering, "/"+string(want)) {
					t.Errorf("machines %+v, want one %s", living, want)
				}
				time.Sleep(4 * time.Hour)
				cancel()
				running.Wait()
			})
		})
	}
}
