package controller

import (
	"slices"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/reasons"
	"fsub/sbatch"
)

// failLaunch is what a site does whose node cannot start a job: it queues the job again and holds it.
func (f *fakeSite) failLaunch(id federation.JobID) {
	j := f.jobs[id]
	j.State, j.Start, j.Nodes, j.Reason = federation.Pending, time.Time{}, "", reasons.LaunchHeld
	j.Restarts++
}

// The first time another node of the site is to run it, the second time another site: a failure of nodes, for tasks of arrays too.
func TestLaunchFailure(t *testing.T) {
	for name, array := range map[string]string{"job": "", "task": "0-1"} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			id := b.submit(func(s *sbatch.Spec) { s.Array = array })
			b.wait(time.Second)
			if array != "" {
				id = b.part(id, 0).ID
			}
			b.cheap.failLaunch(id)
			b.rounds(5)
			b.want(id, federation.Pending, reasons.LaunchHeld, "cheap")
			b.wait(time.Second)
			if !slices.Contains(b.cheap.released, id) || b.job(id).Restarts != 1 || slices.Contains(b.cheap.cancelled, id) {
				t.Fatalf("released %v, cancelled %v, %d restarts", b.cheap.released, b.cheap.cancelled, b.job(id).Restarts)
			}
			b.cheap.jobs[id].Reason = reasons.Priority
			b.wait(time.Second)
			b.cheap.failLaunch(id)
			b.wait(5 * time.Second)
			b.want(id, federation.Pending, "", "dear")
			if n := b.job(id).Restarts; n != 2 {
				t.Errorf("%d restarts", n)
			}
			b.noRequests()
		})
	}
}

// A job that no node can start is not tried on one after another.
func TestLaunchFailureHasBounds(t *testing.T) {
	b := newBench(t)
	id := b.submit(func(s *sbatch.Spec) { s.Fed = &sbatch.Fed{Sites: []string{"cheap"}} })
	b.wait(time.Second)
	for range 8 {
		b.cheap.failLaunch(id)
		b.wait(time.Second)
		if slices.Contains(b.cheap.released, id) {
			b.cheap.jobs[id].Reason = reasons.Priority
			b.wait(time.Second)
		}
		b.cheap.released = nil
	}
	b.cheap.failLaunch(id)
	b.wait(5 * time.Second)
	b.want(id, federation.Pending, reasons.LaunchHeld, "cheap")
	if len(b.cheap.released) > 0 {
		t.Errorf("released after %d restarts", b.job(id).Restarts)
	}
}

// The nodes of a site go down: what waits there moves to a site that can run it, and is there only once.
func TestStuckJobsMove(t *testing.T) {
	b := newBench(t)
	id := b.submit(nil)
	only := b.submit(func(s *sbatch.Spec) { s.Fed = &sbatch.Fed{Sites: []string{"cheap"}} })
	b.wait(2 * time.Second)
	b.cheap.state = "DOWN"
	b.wait(30 * time.Second)
	b.want(id, federation.Pending, "", "cheap")
	b.wait(45 * time.Second)
	b.want(id, federation.Pending, "", "dear")
	b.want(only, federation.Pending, "", "cheap")
	if j := b.job(id); j.Restarts != 0 || !b.cheap.jobs[id].State.Ended() || slices.Contains(b.cheap.cancelled, only) {
		t.Errorf("restarts %d, at cheap %s, cancelled %v", j.Restarts, b.cheap.jobs[id].State, b.cheap.cancelled)
	}
	b.noRequests()
}

// Nodes that are back soon keep their jobs.
func TestShortOutageMovesNothing(t *testing.T) {
	b := newBench(t)
	id := b.submit(nil)
	b.wait(2 * time.Second)
	for range 4 {
		b.cheap.state = "DOWN"
		b.wait(40 * time.Second)
		b.cheap.state = "IDLE"
		b.wait(10 * time.Second)
	}
	b.want(id, federation.Pending, "", "cheap")
}
