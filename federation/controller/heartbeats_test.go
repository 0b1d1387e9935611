package controller

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/driver"
	"fsub/federation/health"
	"fsub/federation/heartbeat"
	"fsub/sbatch"
)

// heartSite is a site that reads the heartbeats of a gang on n1, n2 and n3.
type heartSite struct {
	*able
	b    *bench
	took map[string]time.Duration // a step, on each node
	dead bool                     // none is written any more
	last heartbeat.Beats
	step int64
}

func (h *heartSite) Abilities() driver.Abilities { return driver.Abilities{Requeue: h, Beats: h} }

func (h *heartSite) BeatsEvery() time.Duration { return heartbeat.Every }

func (h *heartSite) Beats(_ context.Context, jobs []federation.JobRef) (heartbeat.Of, error) {
	if !h.dead {
		h.step += 40
		h.last = heartbeat.Beats{Nodes: 3}
		for i := range 3 {
			node := fmt.Sprint("n", i+1)
			h.last.Of = append(h.last.Of, heartbeat.Beat{Node: node, Rank: i, Step: h.step, Work: h.took[node], At: h.b.now()})
		}
	}
	out := heartbeat.Of{}
	for _, j := range jobs {
		out[j.ID] = h.last
	}
	return out, nil
}

// TestHeartbeats: the slow node of a running gang is told of once, and avoided; a gang that stops is told of, and when it goes on.
func TestHeartbeats(t *testing.T) {
	b := newBench(t)
	h := &heartSite{able: &able{fakeSite: b.cheap}, b: b, took: map[string]time.Duration{"n1": time.Second, "n2": time.Second, "n3": 1500 * time.Millisecond}}
	b.drive(h)
	id := b.submit(func(s *sbatch.Spec) { s.Fed = &sbatch.Fed{Heartbeat: "beat-%n"} })
	b.rounds(4)
	h.start(id)
	b.rounds(4)
	lines := func() string {
		attempts, err := b.store.Attempts(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(attempts[0].Heartbeat.Lines(), "\n")
	}
	b.wait(10 * time.Minute)
	if got := lines(); got != "" {
		t.Fatalf("too soon: %s", got)
	}
	b.wait(10 * time.Minute)
	if got := lines(); !strings.HasPrefix(got, "n3 (node 2 of the job) takes 1.50 times as long for a step as the others, in 45 looks of 45, since ") || strings.Count(got, "\n") > 0 {
		t.Errorf("%q", got)
	}
	if at := b.ctl.Health().Nodes; len(at) != 1 || at[0].Node.Name != "n3" || at[0].Rule != "slow-in-gang" {
		t.Errorf("%+v", at)
	}
	h.took["n3"] = time.Second
	b.wait(5 * time.Minute)
	if got := lines(); !strings.Contains(got, "took 1.50 times") {
		t.Errorf("%q", got)
	}
	h.dead = true
	b.wait(20 * time.Minute)
	if got := lines(); !strings.Contains(got, "no node has written its heartbeat since") {
		t.Errorf("%q", got)
	}
	hung, err := b.store.HealthFindings(t.Context(), health.FindingQuery{})
	if err != nil || len(hung) != 2 || hung[0].Rule != health.RuleHung && hung[1].Rule != health.RuleHung {
		t.Errorf("%+v, %v", hung, err)
	}
	h.dead = false
	b.wait(2 * time.Minute)
	if got := lines(); !strings.Contains(got, "no node wrote its heartbeat from") {
		t.Errorf("%q", got)
	}
}
