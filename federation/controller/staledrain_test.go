package controller

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/audit"
	"fsub/federation/health"
)

const (
	lowMemory = "Low RealMemory (reported:100 < 100.00% of configured:200)"
	duplicate = "Duplicate jobid"
)

// lifts has drains of the cheap site lifted. All that is drained there was drained by slurmctld, now.
func (b *bench) lifts(h *hall, kinds ...health.Lift) {
	b.ctl.nodes.of("cheap").kinds = kinds
	h.info = federation.NodeInfo{ReasonUser: "slurm", ReasonAt: b.clock, Booted: b.clock.Add(-time.Hour), Started: b.clock.Add(-time.Hour)}
}

// TestLift: a drain of slurmctld's ends once it is proven that its cause is gone, and not before; what that was is in the audit log and the history.
func TestLift(t *testing.T) {
	b := newBench(t)
	h := b.makeHall()
	b.lifts(h, health.SafeLifts...)
	h.set("n1", lowMemory, "DRAIN", "INVALID_REG")
	h.set("n2", "cooling", "DRAIN")
	b.wait(3 * time.Minute)
	h.is(t, "n1", lowMemory, "DRAIN", "INVALID_REG")
	h.set("n1", lowMemory, "DRAIN") // it has registered well
	b.wait(50 * time.Second)
	h.is(t, "n1", lowMemory, "DRAIN")
	b.wait(20 * time.Second)
	h.is(t, "n1", "")
	h.is(t, "n2", "cooling", "DRAIN")
	const why = lowMemory + ": it has registered well since: INVALID_REG is gone"
	if got := b.nodeHistory("n1"); !strings.HasSuffix(got, ">LIFT fed "+why+"; DRAIN>UP fed lifted: "+lowMemory) {
		t.Errorf("history %s", got)
	}
	acts, err := b.store.Audit(t.Context(), audit.Query{Verb: "lift"})
	if err != nil || len(acts) != 1 || acts[0].Object != "cheap/n1" || acts[0].Why != why || acts[0].Who != audit.Daemon || acts[0].Before != "DRAIN" {
		t.Errorf("audit %+v, %v", acts, err)
	}
}

// TestLiftNothing: nothing is lifted where no kind is configured, where an operator of ours wants a drain, or where an admin changes the reason
// at the last moment.
func TestLiftNothing(t *testing.T) {
	b := newBench(t)
	h := b.makeHall()
	b.lifts(h, health.LiftDuplicate)
	h.set("n1", lowMemory, "DRAIN")
	h.set("n2", duplicate, "DRAIN")
	b.wait(4 * time.Second)
	b.wish(federation.WishDrain, nil, "n2")
	b.wait(12 * time.Minute)
	h.is(t, "n1", lowMemory, "DRAIN")
	h.is(t, "n2", duplicate, "DRAIN")
	if len(h.orders) != 0 {
		t.Errorf("orders %+v", h.orders)
	}
	b.wish(federation.WishResume, nil, "n2")
	b.wait(11 * time.Minute)
	h.is(t, "n2", "")

	b.lifts(h, health.LiftRegistration)
	h.refuse = federation.ErrUnavailable
	b.wait(62 * time.Second)
	h.set("n1", "keep it: the fan", "DRAIN")
	h.refuse = nil
	b.wait(2 * time.Minute)
	h.is(t, "n1", "keep it: the fan", "DRAIN")
}

// TestLiftBounds: a node that is drained again and again stays drained, and no site is lifted out of its drains all at once. Both hold over daemons.
func TestLiftBounds(t *testing.T) {
	b := newBench(t)
	b.cheap.nodes = 30
	h := b.makeHall()
	b.lifts(h, health.LiftRegistration)
	again := func() {
		h.set("n1", lowMemory, "DRAIN")
		b.wait(80 * time.Second)
	}
	again()
	h.is(t, "n1", "")
	again()
	h.is(t, "n1", "")
	b.restart()
	b.drive(h)
	b.ctl.nodes.of("cheap").kinds = []health.Lift{health.LiftRegistration}
	again()
	h.is(t, "n1", lowMemory, "DRAIN")
	for i := range 25 {
		h.set(fmt.Sprintf("n%d", i+2), lowMemory, "DRAIN")
	}
	b.wait(10 * time.Minute)
	up := 0
	for i := range 25 {
		if len(h.states[fmt.Sprintf("n%d", i+2)]) == 0 {
			up++
		}
	}
	if up != liftsOfSite-2 {
		t.Errorf("%d of 25 nodes were lifted", up)
	}
	b.wait(55 * time.Minute)
	up = 0
	for i := range 25 {
		if len(h.states[fmt.Sprintf("n%d", i+2)]) == 0 {
			up++
		}
	}
	if up != 2*liftsOfSite-2 && up != 2*liftsOfSite {
		t.Errorf("%d of 25 nodes were lifted after an hour", up)
	}
}
