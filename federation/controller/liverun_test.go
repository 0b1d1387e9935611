package controller

import (
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/reasons"
	"fsub/sbatch"
)

// A run that was forgotten may still live on its node: the job goes to another site at once, and to the same one only when its nodes
// have had the time to end it, and answer.
func TestForgottenRunMayLive(t *testing.T) {
	for name, only := range map[string]bool{"two sites": false, "one site": true} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			id := b.submit(func(s *sbatch.Spec) {
				if only {
					s.Fed = &sbatch.Fed{Sites: []string{"cheap"}}
				}
			})
			b.wait(time.Second)
			b.cheap.start(id)
			b.wait(time.Second)
			delete(b.cheap.jobs, id)
			b.cheap.state = "NOT_RESPONDING"
			b.wait(6 * time.Second)
			if !only {
				b.want(id, federation.Pending, "", "dear")
				return
			}
			b.want(id, federation.Pending, reasons.Forgotten, "")
			b.restart() // and it is not forgotten by a new daemon
			b.wait(40 * time.Second)
			b.want(id, federation.Pending, reasons.Forgotten, "")
			b.cheap.state = ""
			b.wait(10 * time.Second)
			b.want(id, federation.Pending, "", "cheap")
			if n := b.job(id).Restarts; n != 1 {
				t.Errorf("%d restarts", n)
			}
		})
	}
}
