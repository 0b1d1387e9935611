package store_test

import (
	"errors"
	"testing"

	"fsub/federation"
	"fsub/federation/journal"
	"fsub/federation/store"
	"fsub/sbatch"
)

// TestLogIsTrimmed: the log keeps about as many changes as it may, all of the newest, and a follower that is behind is told.
func TestLogIsTrimmed(t *testing.T) {
	s := open(t, store.Config{KeepChanges: 100, Volatile: true})
	begin := sure(s.Changes(ctx, 0, 0)).Mark
	var marks []journal.Mark
	for range 1000 {
		if err := s.CreateJob(ctx, &federation.Job{User: "alice"}, &sbatch.Payload{}); err != nil {
			t.Fatal(err)
		}
		marks = append(marks, sure(s.Changes(ctx, 0, 0)).Mark)
	}
	for _, old := range []journal.Mark{begin, marks[0], marks[700]} {
		if log, err := s.Changes(ctx, old, 0); !errors.Is(err, federation.ErrTrimmed) {
			t.Errorf("after %d there are %d commits and the error %v", old, len(log.Commits), err)
		}
	}
	if kept := sure(s.Changes(ctx, journal.OldestMark, 0)); len(kept.Commits) < 100 || len(kept.Commits) > 300 || kept.Mark != marks[999] {
		t.Errorf("%d commits are kept, up to %d of %d", len(kept.Commits), kept.Mark, marks[999])
	}
	if log := sure(s.Changes(ctx, marks[899], 0)); len(log.Commits) != 100 {
		t.Errorf("%d commits of the last 100", len(log.Commits))
	}
}
