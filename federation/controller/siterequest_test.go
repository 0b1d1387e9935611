package controller

import (
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/action"
	"fsub/sbatch"
)

// TestSuspendAfterAnEnd: an array's request that comes as the attempt of one of its tasks has ended does not hide an earlier one that its site has not answered.
func TestSuspendAfterAnEnd(t *testing.T) {
	b := newBench(t)
	p := &pauser{fakeSite: b.cheap, err: federation.ErrUnavailable}
	b.drive(p)
	id := b.submit(func(s *sbatch.Spec) { s.Array = "1-29:2" })
	b.rounds(4)
	b.turn(wellDone)
	var part federation.Job
	for _, k := range b.partsOf(id) {
		if k.State == federation.Running && k.Site == "cheap" {
			part = k
		}
	}
	if part.ID == 0 {
		t.Fatal("no task runs: this shows nothing")
	}
	b.pauses(part.ID, action.Suspend)
	b.rounds(2)
	if b.ctl.requests.asks.open[part.ID] == nil {
		t.Fatal("its site is not asked: this shows nothing")
	}
	// In one round its nodes are seen to fail, and the array's request is read.
	b.cheap.jobs[part.ID].State, b.cheap.jobs[part.ID].End = federation.NodeFail, b.now()
	for n := 0; b.ctl.jobs.Of(part.ID).live(); n++ {
		if n == 100 {
			t.Fatal("its end is not seen")
		}
		b.ctl.calls.make(t.Context())
		b.clock = b.clock.Add(200 * time.Millisecond)
		b.ctl.watch.look()
		b.ctl.repairs.reconcile()
		b.ctl.takeResults()
	}
	b.request(action.Request{Job: id, Tasks: federation.Tasks(part.Part.Index), Kind: action.Suspend, Operator: true})
	b.ctl.requests.carryOutAll(b.ctl.readStore(t.Context()))
	p.err = nil
	b.wait(10 * time.Second)
	b.noRequests()
	if len(b.ctl.inbox.taken) > 0 {
		t.Errorf("still taken up: %v", b.ctl.inbox.taken)
	}
}
