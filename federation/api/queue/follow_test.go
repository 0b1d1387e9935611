package queue

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"fsub/federation"
	"fsub/federation/api/restd"
	"fsub/federation/journal"
)

// largeLog is a store whose log tells of a job in each of so many commits. To read a job takes a millisecond; a database that hangs takes for ever.
type largeLog struct {
	restd.Store
	commits int
	hangs   bool
}

func (s *largeLog) wait(ctx context.Context, d time.Duration) error {
	if s.hangs {
		d = time.Hour
	}
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *largeLog) Changes(ctx context.Context, after journal.Mark, limit int) (log journal.Log, err error) {
	if after == 0 {
		return journal.Log{Mark: 1}, nil
	}
	for log.Mark = after; int(log.Mark) <= s.commits && len(log.Commits) < limit; log.Mark++ {
		log.Commits = append(log.Commits, journal.Commit{Changes: []journal.Change{{Kind: journal.ChangeJob, Job: federation.JobID(log.Mark)}}})
	}
	return log, s.wait(ctx, time.Millisecond)
}

func (s *largeLog) Jobs(ctx context.Context, q federation.JobQuery) ([]federation.Job, error) {
	return nil, s.wait(ctx, time.Duration(len(q.IDs))*time.Millisecond)
}

func (s *largeLog) LiveJobs(context.Context, func([]federation.Job) error) error { return nil }

// A daemon that follows another takes up a million changes though they take longer to read than a list may wait; and it says that the database fails only if that does
// not answer.
func TestFollowsMuch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &largeLog{}
		q := New(Config{Store: s, Now: time.Now, Keep: time.Minute, Follows: true, Lister: &restd.Lister{Store: s, Now: time.Now, All: func() []*federation.Site { return nil }}}, nil)
		if err := q.Follow(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.commits = 20_000
		following := make(chan error)
		go func() { following <- q.Follow(t.Context()) }()
		time.Sleep(time.Second)
		began := time.Now()
		if err := q.CatchUp(t.Context()); err == nil || time.Since(began) > readsWithin {
			t.Errorf("who asks meanwhile hears %v after %v", err, time.Since(began))
		}
		if q.Fails() || q.Lag() < readsWithin {
			t.Errorf("the database fails: %t; behind by %v", q.Fails(), q.Lag())
		}
		if err := <-following; err != nil || q.mark.get() != 20_001 {
			t.Errorf("%v, at %d of the log", err, q.mark.get())
		}
		s.commits = 40_000
		if err := q.CatchUp(t.Context()); err == nil || q.Fails() || q.mark.get() == 20_001 {
			t.Errorf("who reads much alone hears %v; the database fails: %t; at %d of the log", err, q.Fails(), q.mark.get())
		}
		for range 2 { // the second time there is nothing more
			if err := q.Follow(t.Context()); err != nil {
				t.Error(err)
			}
		}
		if q.Behind() {
			t.Errorf("it has read all, and is behind by %v", q.Lag())
		}
		s.commits, s.hangs = 40_001, true
		began = time.Now()
		if err := q.Follow(t.Context()); err == nil || !q.Fails() || time.Since(began) > 2*readsWithin {
			t.Errorf("of a database that hangs: %v after %v", err, time.Since(began))
		}
		if age, err := q.age(t.Context()); err != nil || age == 0 {
			t.Errorf("a list is %v old: %v", age, err)
		}
		s.hangs = false
		if err := q.Follow(t.Context()); err != nil || q.Fails() || q.mark.get() != 40_002 {
			t.Errorf("%v, at %d of the log", err, q.mark.get())
		}
	})
}
