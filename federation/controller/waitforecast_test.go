package controller

import (
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/predict"
)

// A queue that is new is foretold after each look, so that the first jobs know of its first starts; later ones every few seconds.
func TestNewQueueIsForetoldAtOnce(t *testing.T) {
	b := newBench(t)
	c, s := b.ctl, b.ctl.sites.byName["cheap"]
	brief := c.planner.briefing
	brief.waits = predict.Waits{}
	look := func() (anew bool) {
		was := s.Outlook
		s.Seen = &federation.Observation{At: b.clock, Waiting: []federation.WaitingJob{{Job: 7, Submit: b.clock, Nodes: 1, CPUs: 1, Stake: federation.Stake{User: "local", Partition: "main"}}}}
		brief.foresee(s)
		b.clock = b.clock.Add(3 * time.Second)
		return s.Outlook != was
	}
	for i := range int(youngFor / (3 * time.Second)) {
		if !look() {
			t.Fatalf("it is not foretold anew at look %d", i+1)
		}
	}
	n := 0
	for range 12 {
		if look() {
			n++
		}
	}
	if n < 2 || n > 4 {
		t.Errorf("of 12 further looks in 36 seconds %d lead to a forecast, want one every %v", n, outlookEvery)
	}
}
