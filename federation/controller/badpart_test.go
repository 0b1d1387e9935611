package controller

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/health"
	"fsub/sbatch"
)

// TestGangsAvoidABadSwitch: gangs of several users fail below one switch. Then the planner gives gangs no nodes below
// it and the site is told to leave them out, until an operator closes the breaker.
func TestGangsAvoidABadSwitch(t *testing.T) {
	b := newBench(t)
	b.cheap.nodes, b.cheap.leaf = 8, 2
	b.wait(time.Minute)
	id := 0
	end := func(leaf int, state federation.State) {
		id++
		x := health.Ended{At: b.clock, Job: federation.JobID(id), User: fmt.Sprint("u", id%5), Like: fmt.Sprint("kind", id%7), Site: "cheap", Nodes: []string{fmt.Sprintf("n%d", 2*leaf+1), fmt.Sprintf("n%d", 2*leaf+2)},
			End: health.End{State: state, Exit: 1 << 8, Ran: time.Hour}}
		v, _ := b.ctl.rules.engine.Ended(x)
		b.ctl.rules.carryOutAll(b.ctl.rules.engine.Fabric.Ended(x, v))
		b.clock = b.clock.Add(time.Second)
	}
	for n := range 60 {
		end(n%4, federation.Completed)
	}
	for range 5 {
		end(0, federation.Failed)
		end(1, federation.Completed)
	}
	b.rounds(5)
	excluded := func() string {
		t.Helper()
		gang := b.submit(func(s *sbatch.Spec) { s.MinNodes, s.MaxNodes, s.Fed = 2, 2, &sbatch.Fed{Sites: []string{"cheap"}} })
		b.rounds(5)
		if b.cheap.asked[gang] == nil {
			t.Fatalf("the gang is not submitted: %+v", b.job(gang))
		}
		return b.cheap.asked[gang].Exclude
	}
	if got := excluded(); got != "n[1-2]" {
		t.Fatalf("a gang goes to the site with --exclude=%s", got)
	}
	one := b.submit(func(s *sbatch.Spec) { s.Fed = &sbatch.Fed{Sites: []string{"cheap"}} })
	b.rounds(5)
	if got := b.cheap.asked[one].Exclude; got != "" {
		t.Errorf("a job of one node goes there with --exclude=%s", got)
	}
	why := ""
	for _, k := range b.ctl.Health().Breakers {
		if k.Name == "part:cheap/leaf0" {
			why = k.Why
		}
	}
	if !strings.Contains(why, "gangs below it failed") {
		t.Errorf("shown is %q", why)
	}
	b.ctl.rules.engine.Reset("part:cheap/leaf0", b.clock)
	b.wait(2 * time.Minute)
	if got := excluded(); got != "" {
		t.Errorf("after the reset a gang goes there with --exclude=%s", got)
	}
}
