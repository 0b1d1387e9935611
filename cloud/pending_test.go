package cloud_test

import (
	"context"
	"testing"
	"time"

	"fsub/cloud/cloudtest"
	"fsub/cloud/provider"
	"fsub/federation"
	"fsub/federation/reasons"
)

// TestQueuedRequest: a request that the cloud queues for half an hour is asked for under its token until its machines are there, by a later daemon too; one whose job
// is cancelled meanwhile is withdrawn, and makes no machine.
func TestQueuedRequest(t *testing.T) {
	bubble(t, func(w *world) {
		w.cloud.Offers[0].Queue, w.cloud.Queued = 2*time.Hour, 30*time.Minute
		w.ready()
		id, gone := w.submit("sleep 5", nil), w.submit("sleep 5", nil)
		time.Sleep(2 * time.Minute)
		if j := w.lookup(id); j.State != federation.Pending || j.Reason != reasons.CloudQueue {
			t.Errorf("%s %s", j.State, j.Reason)
		}
		w.stop()
		resumed, anew := 0, 0 // by the next daemon
		w.cloud.Before = func(op string, r *provider.Request) error {
			switch {
			case op != "Create":
			case r.Resume == "queued-"+r.Token:
				resumed++
			default:
				anew++
			}
			return nil
		}
		time.Sleep(15 * time.Minute)
		w.ready()
		if err := w.driver.Cancel(context.Background(), federation.JobRef{ID: gone}, nil); err != nil {
			t.Fatal(err)
		}
		w.wants(gone, federation.Cancelled, time.Minute)
		j := w.wants(id, federation.Completed, 20*time.Minute)
		if wait := j.Start.Sub(j.Submit); wait < 30*time.Minute || wait > 34*time.Minute {
			t.Errorf("it waited %s", wait)
		}
		if n := len(w.cloud.Machines()); n != 1 {
			t.Errorf("%d machines", n)
		}
		if n := w.cloud.Calls("Withdraw", time.Time{}); n != 1 {
			t.Errorf("%d withdrawn", n)
		}
		if resumed == 0 || anew != 0 {
			t.Errorf("the next daemon resumed the requests in %d calls, and asked anew in %d", resumed, anew)
		}
	})
}

// TestQueuedTooLong: a request that the cloud does not answer in time is withdrawn, and its job's next one starts anew.
func TestQueuedTooLong(t *testing.T) {
	bubble(t, func(w *world) {
		w.cloud.Offers[0].Queue, w.cloud.Queued = 10*time.Minute, time.Hour
		w.ready()
		id := w.submit("sleep 5", nil)
		time.Sleep(12 * time.Minute)
		if n := w.cloud.Calls("Withdraw", time.Time{}); n != 1 {
			t.Errorf("%d withdrawn", n)
		}
		w.cloud.Change(func(p *cloudtest.Provider) { p.Queued = 0 })
		w.wants(id, federation.Completed, 5*time.Minute)
		if n := len(w.cloud.Machines()); n != 1 {
			t.Errorf("%d machines", n)
		}
	})
}
