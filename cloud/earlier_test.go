package cloud_test

import (
	"context"
	"testing"
	"time"

	"fsub/cloud/agentapi"
	"fsub/federation"
)

// TestEarlierRuns: what a requeue has ended here is told with its times, nodes and cost, also by a daemon that has begun anew.
func TestEarlierRuns(t *testing.T) {
	byHand(t, func(w *world) {
		id := w.submit("work", nil)
		head := w.let()[0]
		run := w.poll(head, agentapi.Poll{}).Runs[0].Run
		time.Sleep(time.Second)
		start := w.wants(id, federation.Configuring, time.Second).Start
		w.report(head, agentapi.Status{Run: run, State: agentapi.RunRunning, Start: time.Now()})
		price := w.lookup(id).PricePerHour
		time.Sleep(30*time.Second - time.Since(start))
		if err := w.driver.Requeue(context.Background(), federation.JobRef{ID: id}, nil); err != nil {
			t.Fatal(err)
		}
		w.report(head, agentapi.Status{Run: run, State: agentapi.RunEnded, End: time.Now(), Exit: 15, Why: agentapi.WhyRequeue})
		check := func(when string) {
			t.Helper()
			j := w.lookup(id)
			if len(j.Earlier) != 1 || j.Restarts != 1 {
				t.Fatalf("%s: %d restarts, %+v", when, j.Restarts, j.Earlier)
			}
			r := j.Earlier[0]
			if want := price / 120; r.State != federation.Requeued || !r.Started.Equal(start) || r.Ended.Sub(start) != 30*time.Second || r.Nodes == "" || r.ExitStatus != 15 ||
				price == 0 || r.Cost < want-1 || r.Cost > want+1 {
				t.Errorf("%s: %+v, at %v an hour", when, r, price)
			}
		}
		check("when it waits again")
		w.stop()
		time.Sleep(time.Second)
		w.ready()
		check("after a restart")
	})
}
