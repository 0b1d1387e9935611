package health

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"fsub/federation"
)

// TestStale: of which reasons a proof that they are over is known, by what the site shows, as the file has it.
func TestStale(t *testing.T) {
	drained := time.Unix(10_000, 0)
	since := map[string]federation.NodeInfo{
		"-":       {Booted: drained.Add(-time.Hour), Started: drained.Add(-time.Hour)},
		"restart": {Booted: drained.Add(-time.Hour), Started: drained.Add(time.Minute)},
		"boot":    {Booted: drained.Add(time.Minute), Started: drained.Add(2 * time.Minute)},
	}
	var b strings.Builder
	for _, reason := range []string{"Low RealMemory (reported:100 < 100.00% of configured:200)", "Low CPUs, Low TmpDisk", "Low socket*core*thread count", "gres/gpu count reported lower than configured (3 < 4)",
		"gres/gpu count too low (3 < 4)", "Low CPUs, gres/gpu type changed", "gres/gpu count changed", "Duplicate jobid", "Kill task failed", "Kill task failed : 30000017", "Job step not running",
		"reboot timed out", "Not responding", "Not responding : cooling", "Node unexpectedly rebooted", "ResumeTimeout reached", "Prolog error", "Prolog/Epilog failure", "batch job complete failure",
		"SlurmdSpoolDir is full", "reboot requested", "cooling", "NHC: disk", "fed:olga: fan", ""} {
		for _, state := range []string{"IDLE+DRAIN", "MIXED+DRAIN", "IDLE+DRAIN+INVALID_REG", "IDLE+DRAIN+NOT_RESPONDING", "DOWN", "DOWN+NOT_RESPONDING", "DOWN+DRAIN", "IDLE", "IDLE+DRAIN+REBOOT_REQUESTED"} {
			for _, what := range []string{"-", "restart", "boot"} {
				for _, by := range []string{"slurm", "root", "olga", ""} {
					info := since[what]
					info.ReasonUser, info.ReasonAt = by, drained
					n := &federation.Node{Name: "n1", State: strings.Split(state, "+"), Reason: reason, Info: &info}
					p, ok := Stale(n, "slurm")
					if !ok {
						continue
					}
					fmt.Fprintf(&b, "%s | %s | by %s | since then: %s -> %s after %v: %s\n", reason, state, by, what, p.Kind, p.Hold, p.Text)
					if a := AuthorOf(n, "", "fed"); a != Slurmctld && a != Silence || by != "slurm" && by != "root" {
						t.Errorf("%s by %s, who is %q: no word of slurmctld's", reason, a, by)
					}
					if _, ok := Stale(n, ""); ok && by == "slurm" {
						t.Errorf("%s: slurmctld's user is not known", reason)
					}
					if n.Info = nil; func() bool { _, ok := Stale(n, "slurm"); return ok }() {
						t.Errorf("%s: nothing is told of the node", reason)
					}
				}
			}
		}
	}
	if *update {
		if err := os.WriteFile("testdata/stale", []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/stale")
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(want) {
		t.Errorf("now\n%s", b.String())
	}
}
