package sim

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/controller"
	"fsub/federation/place"
	"fsub/federation/store"
	"fsub/sbatch"
	"fsub/testbed/simsite"
)

// TestShortJobs: jobs of a second, single ones and tasks of an array, leave no slot of a site empty for want of others that wait there, though
// the site is looked at every half second only. Long jobs do not wait there in such numbers.
func TestShortJobs(t *testing.T) {
	const slots = 64
	for name, c := range map[string]struct {
		array bool
		run   time.Duration
		n     int
		most  float64 // of the time that the slots need at least
		ahead int     // jobs that wait there at most
	}{
		"single": {false, time.Second, 1000, 1.15, 500},
		"array":  {true, time.Second, 1000, 1.15, 500},
		"long":   {false, time.Minute, 200, 1.15, 16},
	} {
		t.Run(name, func(t *testing.T) {
			s := sites(4, slurmAt(t))[0]
			s.Config.Nodes[0].CPUs = slots / 4
			clock := simsite.NewVirtualClock(start)
			s.Config.Clock = clock
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
			spec := sbatch.Spec{Name: "short", NTasks: 1, TimeLimit: 2 * time.Hour, WorkDir: "/"}
			n := c.n
			if c.array {
				spec.Array, n = fmt.Sprintf("0-%d", c.n-1), 1
			}
			payload := sbatch.Payload{Script: fmt.Sprintf("#!/bin/sh\n#SIM run=%s\n", c.run), Environment: []string{"PATH=/bin"}}
			var ids []federation.JobID
			for range n {
				j := federation.Job{User: "alice", UID: 7001, GID: 7001, State: federation.Pending, Submit: clock.Now(), Spec: &spec}
				if err := st.CreateJob(t.Context(), &j, &payload); err != nil {
					t.Fatal(err)
				}
				ids = append(ids, j.ID)
			}
			ctl, err := controller.New(t.Context(), controller.Config{Federation: "sim", Store: st, Policy: place.DefaultPolicy(), Now: clock.Now, Inline: true,
				Sites: []controller.Site{{Name: "a", Driver: d}}})
			if err != nil {
				t.Fatal(err)
			}
			limit := time.Duration(float64(c.run) * c.most * float64((c.n+slots-1)/slots))
			waited := 0
			for live := true; live; {
				next := ctl.Round(t.Context())
				clock.Advance(max(next.Sub(clock.Now()), time.Millisecond))
				site.Advance(0)
				pending, _ := site.Counts()
				waited = max(waited, pending)
				if live = clock.Now().Sub(start) < 2*limit; live {
					left, err := st.Jobs(t.Context(), federation.JobQuery{IDs: ids, Live: true, Limit: 1})
					if err != nil {
						t.Fatal(err)
					}
					live = len(left) > 0
				}
			}
			if took := clock.Now().Sub(start); took > limit || waited > c.ahead {
				t.Errorf("%d jobs took %s, want %s; at most %d waited at the site, want %d", c.n, took, limit, waited, c.ahead)
			}
		})
	}
}
