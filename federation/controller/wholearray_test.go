package controller

import (
	"slices"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/journal"
	"fsub/sbatch"
)

// tasks has the first tasks of an array start where they are, and come so far; those with "" stay as they are.
func (b *bench) tasks(array federation.JobID, states ...federation.State) {
	b.t.Helper()
	for i, state := range states {
		p := b.part(array, i)
		site := map[federation.SiteName]*fakeSite{"cheap": b.cheap, "dear": b.dear}[p.Site]
		switch {
		case state == "":
		case site == nil:
			b.t.Fatalf("task %d is at no site: %s %s", i, p.State, p.Reason)
		default:
			site.start(p.ID)
			if state.Ended() {
				site.end(p.ID, state)
			}
		}
	}
}

// handedOver is an array that an earlier version has handed over whole to cheap.
func (b *bench) handedOver(array string) federation.JobID {
	b.t.Helper()
	id := b.submit(func(s *sbatch.Spec) { s.Array, s.Begin = array, b.clock.Add(time.Hour) })
	b.rounds(2)
	j := b.job(id)
	j.Whole.Spread, j.Site, j.Attempt = false, "cheap", 1
	j.EditSpec(func(s *sbatch.Spec) { s.Begin = time.Time{} })
	a := federation.Attempt{Job: id, Number: 1, Key: federation.AttemptKey("test", &j, 1), Site: "cheap", State: federation.AttemptSubmitted, Created: b.clock, Acked: b.clock}
	if err := b.store.Commit(b.t.Context(), &journal.Batch{Jobs: []*federation.Job{&j}, Specs: []*federation.Job{&j}, Attempts: []*federation.Attempt{&a}}); err != nil {
		b.t.Fatal(err)
	}
	b.cheap.jobs[id] = &federation.SiteJob{ID: id, SiteJobID: uint32(id), Key: a.Key, State: federation.Pending, Submit: b.clock}
	b.restart()
	b.rounds(4)
	return id
}

// A task that ran in an array which was handed over whole, and was forgotten, is told how often it has been started before.
func TestRestartsOfForgottenTasks(t *testing.T) {
	b := newBench(t)
	id := b.handedOver("0-1")
	j := b.cheap.jobs[id]
	j.State, j.Start, j.Nodes = federation.Running, b.clock, "n1"
	j.Tasks = []federation.SiteTask{{Index: 0, State: federation.Running, Start: b.clock, Nodes: "n1"}}
	j.PendingTasks = "1"
	b.wait(time.Second)
	delete(b.cheap.jobs, id)
	b.wait(10 * time.Second)
	if p := b.part(id, 0); p.Restarts != 1 {
		t.Errorf("task 0, which ran: %d restarts", p.Restarts)
	}
	if p := b.part(id, 1); p.Restarts != 0 {
		t.Errorf("task 1, which waited: %d restarts", p.Restarts)
	}
}

// A site would count from one in SLURM_RESTART_COUNT: what has been started elsewhere before is requeued by the federation.
func TestRequeueGoesOnCounting(t *testing.T) {
	b := newBench(t)
	a := b.makeAble()
	id := b.submit(func(s *sbatch.Spec) { s.Fed = &sbatch.Fed{Sites: []string{"cheap"}} })
	b.wait(time.Second)
	b.cheap.start(id)
	b.wait(time.Second)
	delete(b.cheap.jobs, id) // forgotten, and submitted again
	b.wait(30*time.Second + freeFor)
	b.cheap.start(id)
	b.wait(time.Second)
	r := requeue(id)
	r.Restarts = 1
	b.request(r)
	b.wait(3 * time.Second)
	if j := b.job(id); j.Restarts != 2 || len(a.requeues) != 0 || !slices.Contains(b.cheap.cancelled, id) {
		t.Errorf("%d restarts, requeues there %v, cancelled %v", j.Restarts, a.requeues, b.cheap.cancelled)
	}
}
