package cloud_test

import (
	"testing"
	"time"

	"fsub/cloud/agentapi"
	"fsub/federation"
	"fsub/federation/reasons"
)

// TestRaisedSignal: why a job has failed is said as slurmctld says it.
func TestRaisedSignal(t *testing.T) {
	for exit, want := range map[int32]reasons.Reason{15: "RaisedSignal:15(Terminated)", 11: "RaisedSignal:11(Segmentation fault)", 2 << 8: reasons.NonZeroExit} {
		byHand(t, func(w *world) {
			id := w.submit("kill $$", nil)
			head := w.let()[0]
			run := w.poll(head, agentapi.Poll{}).Runs[0].Run
			w.report(head, agentapi.Status{Run: run, State: agentapi.RunEnded, Exit: exit, Start: time.Now(), End: time.Now()})
			if j := w.lookup(id); j.State != federation.Failed || j.Reason != want || j.ExitStatus != exit {
				t.Errorf("status %d: %s, %s, %d", exit, j.State, j.Reason, j.ExitStatus)
			}
		})
	}
}
