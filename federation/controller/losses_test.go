package controller

import (
	"strings"
	"testing"
	"time"

	"fsub/federation"
	"fsub/sbatch"
)

// TestLossesAreTold: a node that a job has lost at its site stands with the attempt, in the history once, and again when another one came; what the site says that the run cost is
// what it is charged.
func TestLossesAreTold(t *testing.T) {
	b := newBench(t)
	id := b.running()
	lost := federation.NodeLoss{Node: "m2", At: b.clock.UTC(), Why: "it is gone"}
	j := b.cheap.jobs[id]
	j.Losses = []federation.NodeLoss{lost}
	b.wait(time.Second)
	b.restart()
	b.wait(time.Second)
	lost.By = "m4"
	b.cheap.jobs[id].Losses = []federation.NodeLoss{lost, {Node: "m3", At: b.clock.UTC(), Why: "it is taken", Shrunk: true}}
	b.wait(time.Second)
	b.cheap.jobs[id].Cost = 5 * federation.Dollar
	b.cheap.end(id, federation.Completed)
	b.wait(time.Second)
	a := b.costs(id, 5)
	if len(a.Losses) != 2 || a.Losses[0] != lost || !a.Losses[1].Shrunk {
		t.Errorf("losses: %+v", a.Losses)
	}
	said := b.history(id)
	for _, want := range []string{"lost node m2 (it is gone): its other nodes are kept", "node m4 came in the place of node m2", "lost node m3 (it is taken): it goes on without"} {
		if strings.Count(said, want) != 1 {
			t.Errorf("%q is not told once:\n%s", want, said)
		}
	}
}

// TestShrunkAtACluster: a job with --no-kill that its site shows with fewer nodes has lost those. One without it, or whose nodes are others, has not.
func TestShrunkAtACluster(t *testing.T) {
	for _, c := range []struct{ option, after, lost string }{
		{"shrink", "m[1,3]", "m2"}, {"shrink", "m1", "m2 m3"}, {"shrink", "m[1-3]", ""}, {"shrink", "m[1,4]", ""}, {"requeue", "m[1,3]", ""},
	} {
		b := newBench(t)
		id := b.submit(func(s *sbatch.Spec) { s.Fed = &sbatch.Fed{OnNodeLoss: c.option} })
		b.rounds(4)
		b.cheap.start(id)
		b.cheap.jobs[id].Nodes = "m[1-3]"
		b.rounds(4)
		b.cheap.jobs[id].Nodes = c.after
		b.wait(10 * time.Second)
		attempts, err := b.store.Attempts(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		var lost []string
		for _, l := range attempts[0].Losses {
			if lost = append(lost, l.Node); !l.Shrunk {
				t.Errorf("%+v", l)
			}
		}
		if got := strings.Join(lost, " "); got != c.lost || strings.Count(b.history(id), "shows the job without it): it goes on without") != len(lost) {
			t.Errorf("%+v: lost are %q\n%s", c, got, b.history(id))
		}
	}
}
