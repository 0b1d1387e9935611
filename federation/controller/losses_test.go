package controller

import (
	"strings"
	"testing"
	"time"

	"fsub/federation"
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
