package drain

import (
	"context"
	"strings"
	"testing"
	"time"

	"fsub/testbed/bed"
)

// TestLift: of slurmctld's own drains those end whose cause is proven to be gone; the same words of an admin stay, and so does what nothing is proven of.
func TestLift(t *testing.T) {
	if !full {
		t.Skip("SKIPPED: takes two minutes: FSUB_FULL=1 runs it")
	}
	const low = "Low RealMemory (reported:100 < 100.00% of configured:64000)"
	eachSite(t, func(s *story) {
		s.Cleanup(func() {
			for i := range 4 {
				s.scontrol("update", "nodename="+s.node(i+1), "state=undrain")
			}
		})
		asSlurm := func(i int, reason string) {
			var out strings.Builder
			if err := world.Bed.Exec(context.Background(), bed.Cmd{Site: s.site, User: "slurm", Args: []string{"scontrol", "update", "nodename=" + s.node(i), "state=drain", "reason=" + reason},
				Stdout: &out, Stderr: &out}); err != nil {
				s.Fatalf("%v: %s", err, out.String())
			}
		}
		began := time.Now()
		asSlurm(1, low)
		s.admin("update", "nodename="+s.node(2), "state=drain", "reason="+low)
		asSlurm(3, "Kill task failed")
		asSlurm(4, "Duplicate jobid")
		time.Sleep(2 * time.Second)
		if err := world.Bed.KillService(s.site, "slurmd:"+s.node(4)); err != nil {
			s.Fatal(err)
		}
		if err := world.Bed.StartService(context.Background(), s.site, "slurmd:"+s.node(4)); err != nil {
			s.Fatal(err)
		}
		s.wants(1, "")
		if took := time.Since(began); took < time.Minute {
			s.Errorf("it was lifted after %v", took)
		}
		s.wants(4, "")
		s.stays(2, low)
		s.stays(3, "Kill task failed")
		for i, want := range map[int]string{1: low + ": it has registered well since", 4: "Duplicate jobid: its slurmd has started since"} {
			found := false
			for _, h := range s.seen(i).History {
				found = found || h.Who == "fed" && h.To == "LIFT" && strings.HasPrefix(h.Why, want)
			}
			if !found {
				s.Errorf("%s: the history has no line %q: %+v", s.node(i), want, s.seen(i).History)
			}
		}
	})
}
