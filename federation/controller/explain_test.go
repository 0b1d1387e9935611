package controller

import (
	"slices"
	"strings"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/decision"
	"fsub/federation/health"
	"fsub/sbatch"
)

// Of an array is told where the tasks go that wait; of one without, nothing that only they would do.
func TestExplainArray(t *testing.T) {
	b := newBench(t)
	b.rounds(3)
	id := b.submit(func(s *sbatch.Spec) { s.Array = "0-9%3" })
	b.rounds(4)
	says := func(what, want string, offers bool) {
		t.Helper()
		if got := b.explains(id); !strings.HasPrefix(got, want) || strings.Contains(got, "$") != offers {
			t.Errorf("%s: it says\n%s, want %s", what, got, want)
		}
	}
	says("some are bound", "job 30000000_[3-9%3] waits (JobArrayTaskLimit)\n  its array runs at most 3 tasks at once (%3), and 3 run\n", true)
	b.turn(wellDone)
	says("some run", "job 30000000_[3-9%3] waits (JobArrayTaskLimit)\n  its array runs at most 3 tasks at once (%3), and 3 run\n", true)
	for b.job(id).Spec.Array != "" {
		b.turn(wellDone)
	}
	says("none waits", "job 30000000 has no task that waits to be sent to a site\n", false)
	for !b.job(id).State.Ended() {
		b.turn(wellDone)
	}
	says("all have ended", "job 30000000 has ended\n", false)
}

// TestKeptOffIsToldOnce: a waiting gang hears of each switch once, with what speaks against it, though several of its pools have nodes there.
func TestKeptOffIsToldOnce(t *testing.T) {
	at := time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC)
	v := &View{}
	v.told.Store(&health.Report{Breakers: []health.Breaker{{Name: health.PartBreaker("alpha", "leaf1"), Open: at, Until: at.Add(24 * time.Hour), Why: "4 of 5 gangs below it failed"}}})
	leaf := func(site federation.SiteName, nodes int, needed bool) []decision.KeptOff {
		return []decision.KeptOff{{Site: site, Part: "leaf1", Nodes: nodes, Needed: needed}}
	}
	d := decision.Decision{Offers: []*decision.Offer{
		{Site: "alpha", KeptOff: leaf("alpha", 2, true)}, {Site: "alpha", KeptOff: leaf("alpha", 8, false)}, {Site: "beta"},
		{Site: "beta", Parts: []decision.Offer{{Site: "beta", KeptOff: leaf("beta", 1, true)}}}}}
	var got []string
	for _, k := range v.keptOff(&d) {
		got = append(got, k.Text(time.UTC))
	}
	want := []string{"leaf1 of alpha (8 nodes) until 2026-12-01 10:00:00: 4 of 5 gangs below it failed",
		"leaf1 of beta (1 node); it may run there all the same, as it finds too few other nodes"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
