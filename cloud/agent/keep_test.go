package agent

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"fsub/cloud/agentapi"
	"fsub/sbatch"
)

// TestKeeperOutlivesItsScript: what a job has left when its time is over is killed, and the script that carries its files saves what the job keeps. Of any other job nothing is spared.
func TestKeeperOutlivesItsScript(t *testing.T) {
	t.Parallel()
	const body = "trap : TERM\ntrap 'touch told' URG\n(trap '' TERM; touch began; while :; do sleep 0.01; done) &\nwhile kill -0 $! 2>/dev/null; do wait $!; done\ntouch saved\n"
	for name, c := range map[string]struct {
		first string
		saves bool
	}{"carried": {"_fsub_scratch=x\n", true}, "the user's own": {"x=x\n", false}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newFakeServer(t)
			startAgent(t, d, nil)
			dir := d.launch("r1", c.first+body, func(l *agentapi.Launch) {
				l.Script = "#!/bin/sh\n" + c.first + body
				l.Groups[0].Spec.Fed = &sbatch.Fed{Keep: []string{"ck"}}
			})
			awaitFile(t, filepath.Join(dir, "began"))
			d.order(func(o *agentapi.Orders) {
				o.Runs[0].Stop = &agentapi.Stop{Why: agentapi.WhyRequeue, Grace: 200 * time.Millisecond}
			})
			d.awaitEnd("r1")
			if _, err := os.Stat(filepath.Join(dir, "saved")); (err == nil) != c.saves {
				t.Errorf("saved: %v", err)
			}
		})
	}
}
