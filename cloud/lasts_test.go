package cloud_test

import (
	"strings"
	"testing"
	"time"

	"fsub/cloud/provider"
	"fsub/federation"
	"fsub/sbatch"
)

// TestRunTime: machines that the cloud rents for a time are asked for as long as their job may run and they take to start. A later job has them if it will have ended by
// then; placement sees until when they are there; a job that is on one when the cloud takes it back is preempted.
func TestRunTime(t *testing.T) {
	bubble(t, func(w *world) {
		o := offer("small/flex", 1)
		o.Market, o.Run = provider.Flex, 7*24*time.Hour
		w.cloud.Offers = []provider.Offering{o}
		w.cfg.Pools[0].Idle = 20 * time.Hour
		var asked time.Duration
		w.cloud.Before = func(op string, r *provider.Request) error {
			if op == "Create" {
				asked = r.Run
			}
			return nil
		}
		w.ready()
		w.wants(w.submit("sleep 1", limited(2*time.Hour)), federation.Completed, time.Minute)
		first := asked
		if first < 2*time.Hour+10*time.Minute || first > 3*time.Hour || first%time.Minute != 0 {
			t.Errorf("machines of a job of two hours are asked for %s", first)
		}
		seen, err := w.driver.Observe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if n := seen.Nodes[0]; time.Until(n.Rented.Until) > first || time.Until(n.Rented.Until) < first-5*time.Minute {
			t.Errorf("%s is there for %s, not %s", n.Name, time.Until(n.Rented.Until), first)
		}
		w.wants(w.submit("sleep 1", limited(time.Hour)), federation.Completed, time.Minute)
		if n := len(w.cloud.Machines()); n != 1 {
			t.Errorf("%d machines for a second job that ends in time", n)
		}
		time.Sleep(time.Hour)
		w.wants(w.submit("sleep 1", limited(2*time.Hour)), federation.Completed, time.Minute)
		if n := len(w.cloud.Machines()); n != 2 {
			t.Errorf("%d machines: the first goes before a job of two hours would end", n)
		}
		for _, limit := range []time.Duration{sbatch.Unlimited, 30 * 24 * time.Hour} {
			w.wants(w.submit("sleep 1", limited(limit)), federation.Completed, time.Minute)
			if asked != o.Run {
				t.Errorf("a job of %s has its machines for %s", limit, asked)
			}
		}
		longer := w.submit("sleep 600", limited(2*time.Hour))
		w.wants(longer, federation.Running, time.Minute)
		if err := w.update(longer, 2*time.Hour, 2*time.Hour+5*time.Minute); err != nil {
			t.Errorf("a limit within what its machine was asked for: %v", err)
		}
		if err := w.update(longer, 2*time.Hour+5*time.Minute, 200*time.Hour); err == nil || !strings.Contains(err.Error(), "takes its machines back at") {
			t.Errorf("a limit that its machine does not last for: %v", err)
		}
		w.wants(longer, federation.Completed, 15*time.Minute)
		id := w.submit("sleep 4000000", limited(sbatch.Unlimited))
		w.wants(id, federation.Running, time.Minute)
		on := w.cloud.Machines()[len(w.cloud.Machines())-1]
		time.Sleep(time.Until(on.Launched.Add(o.Run)) + time.Second)
		w.cloud.Kill(on.ID, "the instance was deleted")
		w.wants(id, federation.Preempted, 2*time.Minute)
	})
}
