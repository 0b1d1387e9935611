package sim

import (
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

// TestPartialOutages: what breaks at a site is a condition with a name, which is over when its cause is, and is in the site's history.
func TestPartialOutages(t *testing.T) {
	clock := simsite.NewVirtualClock(start)
	st, err := store.Open(t.Context(), store.Config{Path: filepath.Join(t.TempDir(), "sim.db"), Volatile: true})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	s := sites(4, slurmAt(t))[0]
	s.Config.Clock, s.Config.Seed = clock, 1
	site, err := simsite.New(s.Config)
	if err != nil {
		t.Fatal(err)
	}
	d, err := s.Driver(site)
	if err != nil {
		t.Fatal(err)
	}
	boot := func() *controller.Controller {
		ctl, err := controller.New(t.Context(), controller.Config{Federation: "sim", Store: st, Policy: place.DefaultPolicy(), Now: clock.Now, Inline: true,
			Sites: []controller.Site{{Name: "a", Driver: d, Prices: s.Prices}}})
		if err != nil {
			t.Fatal(err)
		}
		return ctl
	}
	ctl := boot()
	pass := func(d time.Duration) {
		for end := clock.Now().Add(d); clock.Now().Before(end); {
			next := ctl.Round(t.Context())
			clock.Advance(min(max(next.Sub(clock.Now()), time.Millisecond), time.Second))
			site.Advance(0)
		}
	}
	wants := func(want ...federation.ConditionName) {
		t.Helper()
		pass(2 * time.Minute)
		var is []federation.ConditionName
		for _, c := range ctl.Sites()[0].Conditions {
			is = append(is, c.Name)
		}
		if !slices.Equal(is, want) {
			t.Errorf("conditions %v, want %v", is, want)
		}
	}
	submit := func(script string) federation.JobID {
		t.Helper()
		j := federation.Job{User: "alice", UID: 7001, GID: 7001, State: federation.Pending, Submit: clock.Now(),
			Spec: &sbatch.Spec{Name: "x", WorkDir: "/tmp", TimeLimit: time.Hour, GPUsPerNode: "1", MinNodes: 1, MaxNodes: 1}}
		if err := st.CreateJob(t.Context(), &j, &sbatch.Payload{Script: "#!/bin/sh\n#SIM " + script + "\n", Environment: []string{"PATH=/bin"}}); err != nil {
			t.Fatal(err)
		}
		return j.ID
	}
	completes := func() {
		t.Helper()
		id := submit("run=10s exit=0")
		pass(time.Minute)
		if j, err := st.Job(t.Context(), id); err != nil || j.State != federation.Completed {
			t.Errorf("a job is %s %s: %v", j.State, j.Reason, err)
		}
	}
	wants()

	site.SetSlurmdbd(false)
	d, err = s.Driver(site) // the daemon too begins anew, with slurmctld up and slurmdbd down
	if err != nil {
		t.Fatal(err)
	}
	wants()
	ctl = boot()
	wants(federation.CondNoAccounting)
	completes()
	site.SetSlurmdbd(true)
	wants()

	site.StopController()
	wants(federation.CondNoAnswer)
	site.StartController()
	wants()
	completes()

	submit("run=1h exit=0")
	wants()
	site.KillController(simsite.CrashOptions{Everything: true}) // its state directory was put back to an old copy
	site.StartController()
	wants(federation.CondRestored)
	if err := st.SetSiteState(t.Context(), federation.SiteRecord{Name: "a", State: federation.FedActive, By: "ann", At: clock.Now()}); err != nil {
		t.Fatal(err)
	}
	wants()

	events, err := st.SiteEvents(t.Context(), "a", 99)
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	for _, e := range events {
		told = append(told, e.From+">"+e.To)
		t.Logf("%s %s>%s %s", e.At.Format(time.TimeOnly), e.From, e.To, e.Why)
	}
	for _, want := range []string{"OK>NO_ACCOUNTING", "NO_ACCOUNTING>OK", "OK>NO_ANSWER", "NO_ANSWER>OK", "OK>RESTORED", "RESTORED>OK"} {
		if !slices.Contains(told, want) {
			t.Errorf("the history has no %s", want)
		}
	}
}
