package queue

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"fsub/federation"
	"fsub/federation/api/identity"
	"fsub/federation/api/restd"
	"fsub/federation/journal"
	"fsub/sbatch"
)

// largeLog is a store whose log tells of a job in each of so many commits. To read a job takes a millisecond; a database that hangs takes for ever.
type largeLog struct {
	restd.Store
	commits int
	hangs   bool
	job     bool         // there are the jobs that the log tells of; they are read at once
	fails   func() error // nil: no question for jobs fails
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

func (s *largeLog) Jobs(ctx context.Context, q federation.JobQuery) (jobs []federation.Job, err error) {
	if !s.job {
		return nil, s.wait(ctx, time.Duration(len(q.IDs))*time.Millisecond)
	}
	if s.fails != nil {
		if err := s.fails(); err != nil {
			return nil, err
		}
	}
	for _, id := range q.IDs {
		jobs = append(jobs, federation.Job{ID: id, User: "alice", State: federation.Pending, Submit: time.Unix(1, 0), Spec: &sbatch.Spec{Name: "x"}})
	}
	return jobs, nil
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

// TestKeepsUp: the queue takes up what was written though nobody lists it, and /metrics does not wait for what takes long to read: it counts what has been read.
func TestKeepsUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &largeLog{}
		q := New(Config{Store: s, Now: time.Now, Keep: time.Minute, Lister: &restd.Lister{Store: s, Now: time.Now, All: func() []*federation.Site { return nil }}}, nil)
		ctx, stop := context.WithCancel(t.Context())
		over := make(chan error)
		go func() { over <- q.KeepUp(ctx) }()
		time.Sleep(keepsUp / 2)
		s.commits = 20_000 // of which each takes a millisecond
		time.Sleep(5 * time.Second)
		began := time.Now()
		if _, err := (Lists{Queue: q}).CountSoon(t.Context(), ByState, ByState, func(*Facts) bool { return true }); err != nil || time.Since(began) > soon {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		time.Sleep(20 * time.Second)
		if q.mark.get() != 20_001 {
			t.Errorf("it is at %d of the log", q.mark.get())
		}
		s.hangs = true
		began = time.Now()
		if _, err := (Lists{Queue: q}).CountSoon(t.Context(), ByState, ByState, func(*Facts) bool { return true }); err != nil || time.Since(began) > soon {
			t.Errorf("of a database that hangs: %v after %v", err, time.Since(began))
		}
		time.Sleep(oldest)
		brief, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		if _, err := (Lists{Queue: q}).CountSoon(brief, ByState, ByState, func(*Facts) bool { return true }); err == nil {
			t.Error("of a database that has hung for a minute there are counts")
		}
		stop()
		if err := <-over; err != nil {
			t.Error(err)
		}
	})
}

// TestMuchIsTakenUpInSteps: of what changes more jobs than that, no more than atOnce are in memory at a time.
func TestMuchIsTakenUpInSteps(t *testing.T) {
	s, nobody := &largeLog{}, identity.New(identity.Config{Users: rowUsers{}, Now: time.Now}).Users
	q := New(Config{Store: s, Now: time.Now, Keep: time.Minute, Users: nobody, Lister: &restd.Lister{Store: s, Users: nobody, Now: time.Now, All: func() []*federation.Site { return nil }}}, nil)
	if err := q.Follow(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.job, s.commits = true, atOnce+fetchAtOnce
	fails := errors.New("the disk is gone")
	s.fails = func() error {
		if len(q.jobs) >= atOnce {
			return fails
		}
		return nil
	}
	if err := q.Follow(t.Context()); !errors.Is(err, fails) || len(q.jobs) != atOnce {
		t.Errorf("%v; %d jobs", err, len(q.jobs))
	}
	s.fails = nil
	if err := q.Follow(t.Context()); err != nil || len(q.jobs) != s.commits {
		t.Errorf("%v; %d jobs", err, len(q.jobs))
	}
}
