package cloud_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"fsub/cloud/provider"
	"fsub/federation"
)

// TestRiskIsLearnt: machines that are taken back raise the risk of their offering, those that we end lower it, a restart forgets neither, and on-demand machines have none.
func TestRiskIsLearnt(t *testing.T) {
	bubble(t, func(w *world) {
		w.cloud.Offers[0].Market, w.cloud.Offers[0].Interrupts = provider.Spot, 0.05
		w.cfg.Pools[0].Idle = time.Minute
		w.ready()
		risk := func() federation.Rented {
			t.Helper()
			o, err := w.driver.Observe(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			return *o.Nodes[0].Rented
		}
		if r := risk(); r.Interrupts != 0.05 || r.Taken != 0 || r.TakenIn != 0 {
			t.Fatalf("before anything was seen: %+v", r)
		}
		run := func(take bool) {
			s := w.job("work 7000", func(s *federation.Submission) { s.Job.Spec.TimeLimit = 3 * time.Hour })
			if _, err := w.driver.Submit(context.Background(), s); err != nil {
				t.Fatal(err)
			}
			w.until("the job runs", time.Hour, func() bool { return w.lookup(s.Job.ID).State == federation.Running })
			if take {
				time.Sleep(time.Hour)
				w.cloud.Kill(w.cloud.Living()[0].ID, "Server.SpotInstanceTermination")
			}
			w.until("the machine has ended", 4*time.Hour, func() bool { return len(w.cloud.Living()) == 0 && w.lookup(s.Job.ID).State.Ended() })
			time.Sleep(5 * time.Minute)
		}
		for range 2 {
			run(true)
		}
		was := risk()
		if was.Taken != 2 || was.TakenIn != 2 || was.Interrupts < 0.13 || was.Interrupts > 0.14 { // (1 + 2) / (20 + 2)
			t.Errorf("two taken within two hours: %+v", was)
		}
		w.stop()
		w.ready()
		if is := risk(); is.Interrupts != was.Interrupts || is.Taken != was.Taken || is.TakenIn != was.TakenIn {
			t.Errorf("after a restart %+v, before %+v", is, was)
		}
		run(false)
		if is := risk(); is.Taken != 2 || is.TakenIn != 4 || is.Interrupts >= was.Interrupts {
			t.Errorf("after two hours more %+v, before %+v", is, was)
		}
		if all := w.driver.Risks(); len(all) != 1 || all[0].Taken != 2 || !strings.HasPrefix(all[0].Offering.ID, "small") {
			t.Errorf("%+v", all)
		}
	})
}
