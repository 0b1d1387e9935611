package controller

import (
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/action"
	"fsub/federation/reasons"
	"fsub/sbatch"
)

// A heterogeneous job is bound, requeued and ended as one; each component shows what its site says of it.
func TestComponents(t *testing.T) {
	b := newBench(t)
	id := b.submit(func(s *sbatch.Spec) {
		s.Het = []sbatch.Spec{{Name: "y", TimeLimit: time.Hour, WorkDir: "/"}}
	})
	b.rounds(4)
	if b.cheap.jobs[id] == nil || b.cheap.jobs[id+1] != nil {
		t.Fatalf("submitted: %v, want the leader alone", b.cheap.jobs)
	}
	b.want(id, federation.Pending, "", "cheap")
	b.want(id+1, federation.Pending, "", "cheap")
	b.cheap.startAll(id)
	b.cheap.jobs[id].Components[0].Nodes = "n2"
	b.rounds(4)
	b.want(id, federation.Running, "", "cheap")
	b.want(id+1, federation.Running, "", "cheap")
	if j := b.job(id + 1); j.Nodes != "n2" || j.Attempt != 0 {
		t.Errorf("component: %+v", j)
	}
	b.restart()
	b.rounds(3)

	// The nodes fail: both wait again, and run again.
	b.cheap.end(id, federation.NodeFail)
	b.wait(time.Second)
	if j := b.job(id + 1); j.State != federation.Pending || j.Nodes != "" {
		t.Fatalf("after the failure the component is %s on %q", j.State, j.Nodes)
	}
	delete(b.cheap.jobs, id)
	b.wait(5 * time.Second)
	s := b.cheap
	if b.job(id).Site == "dear" {
		s = b.dear
	}
	s.startAll(id)
	b.rounds(4)
	b.clock = b.clock.Add(time.Hour)
	s.end(id, federation.Completed)
	s.jobs[id].Components = nil // its own end is never seen
	b.rounds(4)
	b.want(id, federation.Completed, "", b.job(id).Site)
	j := b.job(id + 1)
	if j.State != federation.Completed || j.End.IsZero() || j.Cost == 0 {
		t.Errorf("component: %s, end %v, cost %v", j.State, j.End, j.Cost)
	}
	if n := b.ctl.jobs.Len(); n != 0 {
		t.Errorf("%d jobs are left", n)
	}
}

// TestSuspendedComponentCosts: what a component was suspended for costs nothing at a cluster, although its own end is never seen.
func TestSuspendedComponentCosts(t *testing.T) {
	b := newBench(t)
	id := b.submit(func(s *sbatch.Spec) { s.Het = []sbatch.Spec{{Name: "y", TimeLimit: time.Hour, WorkDir: "/"}} })
	b.rounds(4)
	b.cheap.startAll(id)
	began := b.cheap.jobs[id].Start
	b.rounds(4)
	second := &b.cheap.jobs[id].Components[0]
	second.State, second.Suspension = federation.Suspended, federation.Suspension{}.Suspend(began, began.Add(30*time.Minute))
	b.rounds(4)
	b.want(id+1, federation.Suspended, "", "cheap")
	b.clock = began.Add(2 * time.Hour)
	b.cheap.end(id, federation.Completed)
	b.cheap.jobs[id].Components = nil
	b.rounds(4)
	j := b.job(id + 1)
	if over := j.Suspension().Suspended(j.Start, j.End, false); j.Cost != federation.Dollar || over != 90*time.Minute {
		t.Errorf("it cost $%s for two GPUs at $1 over half an hour; suspended for %s", j.Cost, over)
	}
}

// startAll starts a job of two components.
func (f *fakeSite) startAll(id federation.JobID) {
	f.start(id)
	second := *f.jobs[id]
	second.ID++
	f.jobs[id].Components = []federation.SiteJob{second}
}

// What is asked of one component is done to all.
func TestComponentsAreCancelledTogether(t *testing.T) {
	b := newBench(t)
	b.cheap.nodes, b.dear.nodes = 0, 0
	b.wait(4 * time.Second)
	id := b.submit(func(s *sbatch.Spec) { s.Het = []sbatch.Spec{{Name: "y", WorkDir: "/"}, {Name: "z", WorkDir: "/"}} })
	b.rounds(3)
	b.request(action.Request{Job: id + 2, Kind: action.Hold, UID: 7001})
	b.rounds(3)
	for k := range federation.JobID(3) {
		if j := b.job(id + k); j.Held != federation.HeldUser || j.Reason != reasons.HeldUser {
			t.Errorf("component %d: held %q, %s", k, j.Held, j.Reason)
		}
	}
	b.request(action.Request{Job: id + 1, Kind: action.Cancel, UID: 7001})
	b.rounds(3)
	for k := range federation.JobID(3) {
		b.want(id+k, federation.Cancelled, "", "")
	}
}
