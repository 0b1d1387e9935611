package simsite

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fsub/federation"
)

// TestRunsBetweenLooks: of a job that its site has queued again, runs that were over before a look at the site are told as slurmdbd has them. Where looks
// have shown all of them, or slurmdbd does not answer, there is nothing to tell.
func TestRunsBetweenLooks(t *testing.T) {
	const id = federation.FirstJobID
	for _, c := range []struct {
		name   string
		looks  string // at the runs, and at the queue (a, b) after them
		down   bool   // slurmdbd is, until the end
		before int    // how many runs the last look tells
	}{
		{"none", "", false, 2}, {"the first", "0", false, 2}, {"both", "01", false, 2}, // the second run looks like the first
		{"the second", "1", false, 0}, // and tells the first
		{"all", "0a1", false, 0}, {"late", "0", true, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, ctx := conformanceSite(t, "24.11.5"), context.Background()
			d := restDriver(t, s)
			var mark federation.Mark
			look := func() (told *federation.SiteJob) {
				r, err := d.Jobs(ctx, mark)
				if err != nil {
					t.Fatal(err)
				}
				mark = r.Mark
				for i := range r.Changed {
					told = &r.Changed[i]
				}
				return told
			}
			if _, err := d.Submit(ctx, submission(id)); err != nil {
				t.Fatal(err)
			}
			var runs []federation.AttemptRun
			s.SetSlurmdbd(!c.down)
			for n := range 2 {
				s.Advance(requeueDelay + 10*time.Second)
				if strings.Contains(c.looks, string(rune('0'+n))) {
					look()
				}
				run := s.Runs(uint32(id))[n]
				runs = append(runs, federation.AttemptRun{State: federation.Requeued, Started: run.Start.Truncate(time.Second).UTC(),
					Ended: s.Now().Truncate(time.Second).UTC(), Nodes: run.Nodes})
				if err := s.Requeue(slurmUser, uint32(id)); err != nil {
					t.Fatal(err)
				}
				if strings.Contains(c.looks, string(rune('a'+n))) {
					look()
				}
			}
			j := look()
			if j == nil || j.Restarts != 2 || len(j.Earlier) != c.before {
				t.Fatalf("told %+v, want %d runs", j, c.before)
			}
			if c.down {
				s.SetSlurmdbd(true)
				if j = look(); j == nil {
					t.Fatal("slurmdbd is not asked again")
				}
			}
			if j.Earlier != nil {
				if diff := cmp.Diff(runs, j.Earlier); diff != "" {
					t.Errorf("(-want +got)\n%s", diff)
				}
			}
			s.Advance(requeueDelay + 10*time.Second)
			if j := look(); j == nil || j.State != federation.Running || j.Earlier != nil {
				t.Errorf("in its third run: %+v", j)
			}
		})
	}
}
