package cloud_test

import (
	"testing"
	"time"

	"fsub/federation"
)

// TestSlices: machines of which two come and go together are rented by twos, also for jobs of one or three; the other of two serves the next job, and both are ended
// when neither has one.
func TestSlices(t *testing.T) {
	bubble(t, func(w *world) {
		w.cloud.Offers[0].Hosts = 2
		w.ready()
		long := w.submit("sleep 400", nil)
		w.wants(long, federation.Running, time.Minute)
		w.wants(w.submit("sleep 5", nil), federation.Completed, time.Minute)
		if n := len(w.cloud.Machines()); n != 2 {
			t.Fatalf("%d machines for two jobs", n)
		}
		time.Sleep(4 * time.Minute) // one of them is idle for longer than the pool keeps it
		if n := w.cloud.Calls("Delete", time.Time{}); n != 0 {
			t.Errorf("half a slice was ended")
		}
		w.wants(long, federation.Completed, 5*time.Minute)
		w.wants(w.submit("sleep 5", func(s *federation.Submission) { s.Job.Spec.MinNodes, s.Job.Spec.MaxNodes = 3, 3 }), federation.Completed, time.Minute)
		if n := len(w.cloud.Machines()); n != 4 {
			t.Errorf("%d machines", n)
		}
		time.Sleep(5 * time.Minute)
		for _, m := range w.cloud.Machines() {
			if m.State != "ended" {
				t.Errorf("%s is %s", m.Name, m.State)
			}
		}
	})
}
