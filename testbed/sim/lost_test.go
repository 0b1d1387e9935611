package sim

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/controller"
	"fsub/federation/place"
	"fsub/federation/store"
	"fsub/sbatch"
	"fsub/testbed/simsite"
)

// TestLostSite: a site is cut off for ever with 200 jobs, of which 80 run. Once an operator has said that it is lost they run elsewhere within 30 s; when it is back,
// what it still has of them is gone within one poll, and no job runs twice at once.
func TestLostSite(t *testing.T) {
	const jobs, nodes = 200, 10
	clock := simsite.NewVirtualClock(start)
	st, err := store.Open(t.Context(), store.Config{Path: filepath.Join(t.TempDir(), "sim.db"), Volatile: true})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	var members []controller.Site
	var sims []*simsite.Site
	for i, s := range sites(nodes, slurmAt(t))[:2] { // a, and the cheaper b
		s.Config.Clock, s.Config.Seed = clock, uint64(i)+1
		if i == 0 {
			s.Config.Nodes[0].Names = "a[1-30]"
		}
		sim, err := simsite.New(s.Config)
		if err != nil {
			t.Fatal(err)
		}
		d, err := s.Driver(sim)
		if err != nil {
			t.Fatal(err)
		}
		sims = append(sims, sim)
		members = append(members, controller.Site{Name: federation.SiteName(sim.Name()), Driver: d, Prices: s.Prices, Backlog: 2 * jobs})
	}
	other, cut := sims[0], sims[1]
	ctl, err := controller.New(t.Context(), controller.Config{Federation: "sim", Store: st, Policy: place.DefaultPolicy(), Now: clock.Now, Inline: true, Sites: members})
	if err != nil {
		t.Fatal(err)
	}
	pass := func(d time.Duration, done func() bool) time.Duration {
		t.Helper()
		began := clock.Now()
		for clock.Now().Sub(began) < d {
			if done != nil && done() {
				return clock.Now().Sub(began)
			}
			next := ctl.Round(t.Context())
			clock.Advance(min(max(next.Sub(clock.Now()), time.Millisecond), 500*time.Millisecond))
			for _, s := range sims {
				s.Advance(0)
			}
		}
		if done != nil {
			p, r := cut.Counts()
			t.Fatalf("not done within %v: %d wait and %d run at b, %d at a", d, p, r, len(other.Active()))
		}
		return d
	}
	say := func(r federation.SiteRecord) {
		t.Helper()
		r.At, r.By = clock.Now(), "ann"
		if err := st.SetSiteState(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	pass(10*time.Second, nil)
	say(federation.SiteRecord{Name: "a", State: federation.FedDrain})
	pass(10*time.Second, nil)
	ids := map[federation.JobID]bool{}
	for range jobs {
		j := federation.Job{User: "alice", UID: 7001, GID: 7001, State: federation.Pending, Submit: clock.Now(),
			Spec: &sbatch.Spec{Name: "x", WorkDir: "/tmp", TimeLimit: 2 * time.Minute, GPUsPerNode: "1", MinNodes: 1, MaxNodes: 1}}
		if err := st.CreateJob(t.Context(), &j, &sbatch.Payload{Script: "#!/bin/sh\n#SIM run=100s exit=0\n", Environment: []string{"PATH=/bin"}}); err != nil {
			t.Fatal(err)
		}
		ids[j.ID] = true
	}
	pass(time.Minute, func() bool {
		pending, running := cut.Counts()
		return pending == jobs-8*nodes && running == 8*nodes
	})
	power := func(set func(node string) error) {
		t.Helper()
		for i := range nodes {
			if err := set(fmt.Sprintf("b%d", i+1)); err != nil {
				t.Fatal(err)
			}
		}
	}
	cut.StopController() // the power fails: what runs at its nodes ends, and nobody learns of it
	power(func(node string) error { return cut.NodeDown(node, "no power") })
	say(federation.SiteRecord{Name: "a", State: federation.FedActive})
	pass(5*time.Minute, nil)
	if n := len(other.Active()); n != 0 {
		t.Fatalf("%d jobs were started elsewhere before anybody had said that the site is lost", n)
	}

	said := clock.Now()
	say(federation.SiteRecord{Name: "b", State: federation.FedDrain, Lost: said, Reason: "flood"})
	pass(time.Minute, func() bool { return len(other.Active()) == jobs })
	var waits []time.Duration
	for _, r := range other.Active() {
		waits = append(waits, r.Start.Sub(said))
	}
	slices.Sort(waits)
	p95 := waits[len(waits)*95/100]
	t.Logf("after the word: p50 %v, p95 %v", waits[len(waits)/2], p95)
	if p95 > 30*time.Second {
		t.Errorf("p95 is %v", p95)
	}

	pass(20*time.Second, nil)
	cut.StartController()
	took := pass(time.Minute, func() bool { pending, running := cut.Counts(); return pending+running == 0 })
	t.Logf("%v after it was back nothing of ours was left", took)
	if took > 3*time.Second { // it is asked every two seconds, a quarter more or less
		t.Errorf("copies lived for %v", took)
	}
	power(cut.NodeUp) // nodes register seconds after their controller is up
	pass(5*time.Minute, nil)
	all, err := st.Jobs(t.Context(), federation.JobQuery{})
	if err != nil {
		t.Fatal(err)
	}
	for _, j := range all {
		if ids[j.ID] && (j.State != federation.Completed || j.Site != "a") {
			t.Errorf("job %d is %s at %q", j.ID, j.State, j.Site)
		}
	}
	overlaps := 0
	for id := range ids {
		for _, r := range cut.Runs(uint32(id)) {
			for _, q := range other.Runs(uint32(id)) {
				if r.Start.Before(q.End) && (r.End.IsZero() || q.Start.Before(r.End)) {
					overlaps++
					t.Logf("job %d ran at b from %s to %s, and at a from %s to %s", id, r.Start.Format(time.TimeOnly), r.End.Format(time.TimeOnly), q.Start.Format(time.TimeOnly), q.End.Format(time.TimeOnly))
				}
			}
		}
	}
	if overlaps > 0 {
		t.Errorf("%d jobs ran twice at once", overlaps)
	}
}
