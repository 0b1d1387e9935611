package controller

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/accounts"
	"fsub/federation/decision"
	"fsub/sbatch"
)

// What is told of a job that is only tried is what is told when it is submitted: its turn among those that wait, what it depends on, its budget.
func TestTryIsAsASubmission(t *testing.T) {
	b := newBench(t)
	empty, _ := accounts.New(nil)
	tree := &changing{empty}
	tree.edit(t, accounts.Edit{Op: accounts.Add, Key: accounts.AccountKey("physics")}, accounts.Edit{Op: accounts.Add, Key: accounts.UserKey("physics", "alice")})
	b.cheap.nodes, b.dear.nodes, b.cheap.shows = 1, 0, true
	b.limited(tree)
	b.wait(5 * time.Second)
	whole := func(s *sbatch.Spec) { s.GPUsPerNode, s.TimeLimit = "4", time.Hour }
	first := b.submit(whole)
	b.wait(2 * time.Second)
	b.cheap.start(first)
	ends := b.clock.Add(time.Hour)
	b.wait(10 * time.Second)
	try := func(change func(*sbatch.Spec)) *decision.Trial {
		t.Helper()
		j := b.job(first)
		j.ID, j.State, j.Attempt, j.Site, j.Submit, j.Start = 0, federation.Pending, 0, "", b.clock, time.Time{}
		spec := *j.Spec
		change(&spec)
		j.SetSpec(spec)
		got := b.ctl.forecasts.tried(&j)
		if got == nil {
			t.Fatal("placement has failed")
		}
		return got
	}
	second := try(whole)
	if got := second.Start; got.Before(ends.Add(-time.Second)) || got.After(ends.Add(time.Minute)) {
		t.Errorf("its node is held until %s, and it would start at %s", ends, got)
	}
	id := b.submit(whole)
	b.wait(5 * time.Second)
	if s := b.ctl.forecasts.starts()[id]; (s.At.Sub(second.Start)).Abs() > time.Second {
		t.Errorf("tried, it would start at %s; submitted, at %s", second.Start, s.At)
	}
	third := try(whole)
	also := b.submit(whole)
	b.wait(5 * time.Second)
	if s := b.ctl.forecasts.starts()[also]; (s.At.Sub(third.Start)).Abs() > time.Second {
		t.Errorf("behind or before a job of an hour, it would start at %s if it is tried, and at %s if it is submitted", third.Start, s.At)
	}
	behind := try(func(s *sbatch.Spec) { whole(s); s.Dependency = fmt.Sprintf("afterok:%d", id) })
	if behind.Unknown || behind.Start.Before(second.Start.Add(30*time.Minute)) {
		t.Errorf("it waits for one that starts at %s, and would start at %s", second.Start, behind.Start)
	}
	if none := try(func(s *sbatch.Spec) { s.Dependency = "singleton" }); !none.Unknown || !none.Start.IsZero() {
		t.Errorf("nobody knows when it may start, and it would at %s", none.Start)
	}
	tree.edit(t, accounts.Edit{Op: accounts.Modify, Key: accounts.AccountKey("physics"), Set: map[string]string{"Budget": "1/month"}})
	poor := try(whole)
	if poor.Waits == nil || poor.Waits.Kind != decision.HeldByBudget || !strings.Contains(poor.Waits.Text, "physics") || !poor.Start.IsZero() {
		t.Errorf("with a budget of a dollar: %+v, it would start at %s", poor.Waits, poor.Start)
	}
	if o := poor.Decision.Offers[0]; o.Most != 4 || o.Price() != 2 {
		t.Errorf("four GPUs for an hour cost %v at most, %v expected", o.Most, o.Price())
	}
	if n := b.ctl.queue.world.Len(); n != 2 {
		t.Errorf("%d jobs wait, want the two that were submitted", n)
	}
}
