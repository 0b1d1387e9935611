package controller

import (
	"strings"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/action"
	"fsub/federation/decision"
)

// busy says of a site that every job there waits for so long still.
type busy struct{ left time.Duration }

func (b busy) Wait(decision.QueueAsk) *decision.Foreseen { return b.Left(0, decision.QueueAsk{}) }
func (b busy) Left(federation.JobID, decision.QueueAsk) *decision.Foreseen {
	return &decision.Foreseen{P50: b.left, P90: 2 * b.left, Of: "from what the test says"}
}

func (busy) Bounds(byLimits time.Duration) (p50, p90 time.Duration) { return byLimits, byLimits }

// A job that waits at a site leaves it for one that starts it sooner, if that saves enough, once: by the same path as when an operator moves it.
func TestMovesToWhereItStartsSooner(t *testing.T) {
	for _, c := range []struct {
		name   string
		left   time.Duration
		margin decision.Dollars
		before func(b *bench, id federation.JobID)
		moves  bool
	}{
		{name: "sooner", left: 2 * time.Hour, moves: true}, // 2 h of waiting cost $6.80, the dear site $2.00
		{name: "dearer", left: 30 * time.Minute},
		{name: "margin", left: 2 * time.Hour, margin: 10},
		{name: "off", left: 2 * time.Hour, margin: -1},
		{name: "held", left: 2 * time.Hour, before: func(b *bench, id federation.JobID) {
			b.request(action.Request{Job: id, Kind: action.Hold, UID: 7001})
		}},
		{name: "started", left: 2 * time.Hour, before: func(b *bench, id federation.JobID) { b.cheap.start(id) }},
		{name: "full", left: 2 * time.Hour, before: func(b *bench, id federation.JobID) { b.dear.nodes = 0 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			b.margin = c.margin
			b.restart()
			id := b.submit(nil)
			b.wait(2 * time.Second)
			b.want(id, federation.Pending, "", "cheap")
			b.ctl.sites.byName["cheap"].Outlook = busy{c.left}
			if c.before != nil {
				c.before(b, id)
			}
			b.wait(9 * time.Minute)
			if j := b.job(id); j.Site != "cheap" {
				t.Fatal("it has moved before its time")
			}
			b.wait(3 * time.Minute)
			if j := b.job(id); (j.Site == "dear") != c.moves {
				t.Fatalf("it is at %q: %s", j.Site, b.history(id))
			}
			if !c.moves {
				return
			}
			if h := b.history(id); strings.Count(h, "moved from cheap: dear would start it within 30s (p90), cheap in 2h0m0s (p50, from what the test says); that saves $4.") != 2 {
				t.Errorf("its history is %s", h)
			}
			b.ctl.sites.byName["dear"].Outlook = busy{5 * time.Hour}
			b.wait(30 * time.Minute)
			b.noRequests()
			live := 0
			for _, s := range []*fakeSite{b.cheap, b.dear} {
				if j := s.jobs[id]; j != nil && !j.State.Ended() {
					live++
				}
			}
			if n := len(b.attempts(id)); live != 1 || n > mostAttempts {
				t.Errorf("%d live copies, %d attempts", live, n)
			}
		})
	}
}
