package controller

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/action"
	"fsub/federation/journal"
	"fsub/sbatch"
)

// spent is what something has cost: records that were written, in all and in the largest commit, and bytes that were allocated meanwhile.
type spent struct{ records, commit, bytes int }

// spend does something and lets rounds pass until all that was asked for is done.
func (b *bench) spend(do func()) (s spent) {
	b.t.Helper()
	log, err := b.store.Changes(b.t.Context(), 0, 0)
	if err != nil {
		b.t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	for n := 0; ; n++ {
		b.rounds(2)
		left, err := b.store.Requests(b.t.Context(), 0)
		if err != nil || n > 1000 {
			b.t.Fatalf("%d requests are open after %d rounds: %v", len(left), 2*n, err)
		}
		if len(left) == 0 {
			break
		}
	}
	runtime.ReadMemStats(&after)
	s.bytes = int(after.TotalAlloc - before.TotalAlloc)
	for mark := log.Mark; ; mark = log.Mark {
		if log, err = b.store.Changes(b.t.Context(), mark, 0); err != nil {
			b.t.Fatal(err)
		}
		if len(log.Commits) == 0 {
			return s
		}
		for _, c := range log.Commits {
			s.records += len(c.Changes)
			s.commit = max(s.commit, len(c.Changes))
		}
	}
}

// doneToArrays is what a user may do to an array of n tasks, some of which have started.
func (b *bench) doneToArrays(n int) map[string]spent {
	b.t.Helper()
	did := map[string]spent{}
	var id federation.JobID
	submit := func() {
		id = b.submit(func(s *sbatch.Spec) { s.Array = fmt.Sprintf("0-%d", n-1) })
	}
	tasks := func(format string, args ...any) federation.TaskSet {
		a, err := federation.ReadArray(fmt.Sprintf(format, args...))
		if err != nil {
			b.t.Fatal(err)
		}
		return a.Set()
	}
	do := func(what string, kind action.Kind, some federation.TaskSet) {
		b.t.Helper()
		did[what] = b.spend(func() {
			b.request(action.Request{Job: id, Tasks: some, Kind: kind, UID: 7001, At: b.now()})
		})
	}
	all := tasks("0-%d", n-1)
	did["submit"] = b.spend(submit)
	do("hold", action.Hold, federation.TaskSet{})
	do("release", action.Release, federation.TaskSet{})
	do("hold all by name", action.Hold, all)
	do("hold some by name", action.Hold, tasks("%d-%d", n/2, n/2+n/20))
	do("release all by name", action.Release, all)
	do("cancel some", action.Cancel, tasks("%d-%d", n/4, n/2-1))
	do("cancel every second", action.Cancel, tasks("0-%d:2", n/4))
	do("cancel all but one", action.Cancel, tasks("0-%d", n-2))
	do("cancel what is left by name", action.Cancel, all)
	submit()
	b.rounds(4)
	do("cancel", action.Cancel, federation.TaskSet{})
	submit()
	b.rounds(4)
	for i := range 200 {
		b.request(action.Request{Job: id, Tasks: federation.Tasks(n/2 + 3*i), Kind: action.Cancel, UID: 7001, At: b.now()})
	}
	do("cancel one by one", action.Cancel, federation.Tasks(n-1))
	j := b.job(id)
	if left := j.Waiting(); left.Len() == 0 || left.Has(n/2+3) || !left.Has(n/2+4) || len(j.Whole.Cancelled) > 64 {
		b.t.Errorf("of %d tasks that were cancelled one by one %d are kept, in %d groups; %d tasks wait", 200, n-left.Len(), len(j.Whole.Cancelled), left.Len())
	}
	did["restart"] = b.spend(b.restart)
	return did
}

// TestArraysGrow: what is done to an array of four times as many tasks costs four times as much at most, and no commit is longer than what may be done to single tasks in a round.
// It counts, for a clock would tell how busy the machine is.
func TestArraysGrow(t *testing.T) {
	const n = 5000
	few := newBench(t).doneToArrays(n)
	many := newBench(t).doneToArrays(4 * n)
	for what, m := range many {
		f := few[what]
		t.Logf("%-30s %6d records, %5d at once, %9d bytes; of %d tasks %6d, %5d, %9d", what, f.records, f.commit, f.bytes, 4*n, m.records, m.commit, m.bytes)
		if m.records > 5*f.records+20 || m.bytes > 5*f.bytes+4<<20 {
			t.Errorf("%s: %d records and %d bytes for %d tasks, %d and %d for %d", what, f.records, f.bytes, n, m.records, m.bytes, 4*n)
		}
		if m.commit > 4*tasksARound {
			t.Errorf("%s: a commit of %d records", what, m.commit)
		}
	}
	for _, what := range []string{"hold", "release", "hold all by name", "cancel", "cancel some", "cancel every second"} {
		if m := many[what].records; m > few[what].records+few[what].records/2+50 {
			t.Errorf("%s writes a record for each task: %d, and %d for a quarter of them", what, m, few[what].records)
		}
	}
}

// TestTasksThatCanNeverStart are cancelled as one, too.
func TestTasksThatCanNeverStart(t *testing.T) {
	b := newBench(t)
	first := b.submit(func(s *sbatch.Spec) { s.Array = "0-9999"; s.Begin = b.now().Add(time.Hour) })
	second := b.submit(func(s *sbatch.Spec) {
		s.Array, s.Dependency, s.More = "0-9999", fmt.Sprintf("aftercorr:%d", first), &sbatch.More{KillOnInvalidDep: sbatch.Yes}
	})
	b.rounds(2)
	tasks, _ := federation.ReadArray("0-9998")
	cost := b.spend(func() {
		b.request(action.Request{Job: first, Tasks: tasks.Set(), Kind: action.Cancel, UID: 7001, At: b.now()})
	})
	j := b.job(second)
	if gone := j.CancelledSet(); gone.Format(0) != "0-9998" || j.Spec.Array != "9999" {
		t.Errorf("%s are cancelled, %s wait", gone.Format(0), j.Spec.Array)
	}
	if cost.records > 100 {
		t.Errorf("that took %d records", cost.records)
	}
}

// TestTakenApart: an array of which more tasks were cancelled apart from each other than one request may name is read again.
func TestTakenApart(t *testing.T) {
	b := newBench(t)
	id := b.submit(func(s *sbatch.Spec) { s.Array = "0-999999"; s.Begin = b.now().Add(time.Hour) })
	b.rounds(2)
	// What is left has steps beside each other, and the first hole is one of many.
	for _, tasks := range []string{"7", "0-399998:2", "400001-700000:3", "700001-999999:2"} {
		a, err := federation.ReadArray(tasks)
		if err != nil {
			t.Fatal(err)
		}
		b.request(action.Request{Job: id, Tasks: a.Set(), Kind: action.Cancel, UID: 7001, At: b.now()})
		b.rounds(2)
	}
	j := b.job(id)
	waiting, gone := j.Waiting(), j.CancelledSet()
	if gone.Len() != 1+200_000+100_000+150_000 || waiting.Len() != 1_000_000-gone.Len() || waiting.Has(7) || waiting.Has(400_001) || !waiting.Has(400_002) {
		t.Errorf("%d are cancelled, %d wait", gone.Len(), waiting.Len())
	}
	if log, err := b.store.Changes(t.Context(), journal.OldestMark, 0); err != nil || len(log.Commits) == 0 {
		t.Errorf("the log of changes: %d commits, %v", len(log.Commits), err)
	}
	b.restart()
	b.rounds(2)
	if again := b.job(id); again.Whole.Cancelled == nil || b.ctl.jobs.Of(id).rest.Len() != waiting.Len() {
		t.Errorf("after a restart %d wait, want %d", b.ctl.jobs.Of(id).rest.Len(), waiting.Len())
	}
}
