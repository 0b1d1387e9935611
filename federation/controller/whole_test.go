package controller

import (
	"time"

	"fsub/federation"
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
	if err := b.store.Commit(b.t.Context(), &federation.Batch{Jobs: []*federation.Job{&j}, Specs: []*federation.Job{&j}, Attempts: []*federation.Attempt{&a}}); err != nil {
		b.t.Fatal(err)
	}
	b.cheap.jobs[id] = &federation.SiteJob{ID: id, SiteJobID: uint32(id), Key: a.Key, State: federation.Pending, Submit: b.clock}
	b.restart()
	b.rounds(4)
	return id
}
