package controller

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/action"
	"fsub/federation/reasons"
	"fsub/federation/store"
	"fsub/sbatch"
)

// copied has the store copied, and returns what puts the copy in its place, with a new daemon.
func (b *bench) copied() (restore func()) {
	b.t.Helper()
	to := filepath.Join(b.t.TempDir(), "copy.db")
	if err := store.Backup(b.t.Context(), b.path, to); err != nil {
		b.t.Fatal(err)
	}
	return func() {
		b.t.Helper()
		b.store.Close()
		if _, err := store.Restore(b.t.Context(), to, b.path); err != nil {
			b.t.Fatal(err)
		}
		b.open()
		b.restart()
	}
}

// forget has the site's controller forget a job that has ended: accounting remembers it.
func (f *fakeSite) forget(id federation.JobID) {
	f.books[id] = f.jobs[id]
	delete(f.jobs, id)
}

// Jobs that waited when the copy was made and have run since are adopted, wherever they did; what has not run starts. No ID is given twice.
func TestRestoreFromAnOlderCopy(t *testing.T) {
	b := newBench(t)
	hold := func(id federation.JobID) federation.JobID {
		b.request(action.Request{Job: id, Kind: action.Hold, UID: 7001})
		return id
	}
	release := func(id federation.JobID) {
		b.request(action.Request{Job: id, Kind: action.Release, UID: 7001})
	}
	done, runs, twice, waits := hold(b.submit(nil)), hold(b.submit(nil)), hold(b.submit(nil)), hold(b.submit(nil))
	array := hold(b.submit(func(s *sbatch.Spec) { s.Array = "0-3" }))
	b.rounds(3)
	for _, id := range []federation.JobID{done, runs, twice, waits, array} {
		release(id)
	}
	restore := b.copied() // with the releases, and before anything is bound
	hold(waits)
	hold(array)
	b.rounds(3)
	for _, id := range []federation.JobID{done, runs, twice} {
		b.want(id, federation.Pending, "", "cheap")
		b.cheap.start(id)
	}
	b.rounds(3)
	b.cheap.end(done, federation.Completed)
	b.cheap.end(twice, federation.NodeFail)
	b.rounds(3)
	b.cheap.forget(done)
	b.wait(time.Minute)
	last := b.submit(nil) // since the copy
	b.rounds(3)
	before := b.attempts(twice) // the second was refused at the same site
	if n := len(before); n != 3 || before[2].Site != "dear" {
		t.Fatalf("attempts of the job whose node failed: %+v", before)
	}
	submits := b.cheap.submits + b.dear.submits

	b.dear.fail = fmt.Errorf("%w: connection refused", federation.ErrNotSent)
	restore()
	b.wait(10 * time.Second)
	if b.cheap.submits+b.dear.submits != submits {
		t.Fatal("something was started before all sites have answered")
	}
	b.want(waits, federation.Pending, reasons.Restored, "")
	b.want(done, federation.Completed, "", "cheap")
	b.want(runs, federation.Running, "", "cheap")
	b.dear.fail = nil
	b.wait(2 * time.Minute)
	b.want(runs, federation.Running, "", "cheap")
	b.want(array, federation.Pending, reasons.HeldAdmin, "")
	if j := b.job(waits); j.Site == "" {
		t.Errorf("the job that has not run is not started: %s", j.Reason)
	}
	if j, a := b.job(twice), b.attempts(twice); j.Attempt != 3 || a[len(a)-1].Key != before[2].Key || j.Site != "dear" {
		t.Errorf("the last attempt was %+v; now %+v", before[2], a)
	}
	if n := b.cheap.submits + b.dear.submits - submits; n != 1 {
		t.Errorf("%d submissions after the restore, want one", n)
	}
	if next := b.submit(nil); next <= last {
		t.Errorf("ID %d is given again, after %d", next, last)
	}
	b.cheap.end(runs, federation.Completed)
	for _, s := range []*fakeSite{b.cheap, b.dear} {
		for id, j := range s.jobs {
			if !j.State.Ended() && j.State != federation.Running && id != array {
				s.start(id)
				s.end(id, federation.Completed)
			}
		}
	}
	b.wait(time.Minute)
	if !b.ctl.cfg.Restored.IsZero() || !b.store.Copied().IsZero() && len(b.ctl.comparing.open) > 0 {
		t.Errorf("the comparison goes on: %v", b.ctl.comparing.open)
	}
}
