package queue

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"fsub/federation"
	"fsub/federation/api/restd"
	"fsub/federation/journal"
)

// slowLog is a store without jobs, whose log is read when somebody lets it.
type slowLog struct {
	restd.Store
	reads int
	let   chan struct{}
}

func (s *slowLog) Changes(context.Context, journal.Mark, int) (journal.Log, error) {
	s.reads++
	<-s.let
	return journal.Log{Mark: 1}, nil
}

func (s *slowLog) Jobs(context.Context, federation.JobQuery) ([]federation.Job, error) {
	return nil, nil
}

func (s *slowLog) LiveJobs(context.Context, func([]federation.Job) error) error { return nil }

// Those who ask while the store is being read share the next look at it: the one under way may have missed what they have written.
func TestLooksAreShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slowLog{let: make(chan struct{}, 9)}
		s.let <- struct{}{}
		q := New(Config{Store: s, Now: time.Now, Keep: time.Minute, Lister: &restd.Lister{Store: s, Now: time.Now, All: func() []*federation.Site { return nil }}}, nil)
		if err := q.refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.reads = 0
		var all sync.WaitGroup
		ask := func() {
			all.Go(func() {
				if err := q.refresh(t.Context()); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		ask()
		for range 9 {
			ask()
		}
		if s.reads != 1 {
			t.Errorf("%d looks while the first goes on", s.reads)
		}
		if rows, err := q.selected(&queueFilter{}, ""); err != nil || len(rows) != 0 { // it does not wait for the store
			t.Error(rows, err)
		}
		gone, leave := context.WithCancel(t.Context())
		leave()
		if err := q.refresh(gone); err == nil {
			t.Error("who has gone waits still")
		}
		for range 9 {
			s.let <- struct{}{}
		}
		all.Wait()
		if s.reads != 2 {
			t.Errorf("%d looks for one and nine who came meanwhile", s.reads)
		}
	})
}

// A queue that another server of the daemon has read is gone on with as it is, also before the sites have been seen; one of another database is not.
func TestQueueIsTakenOver(t *testing.T) {
	site := &federation.Site{Name: "alpha", Seen: &federation.Observation{Partitions: []federation.Partition{{Name: "main", Default: true}}}}
	sites := []*federation.Site{site}
	s := &slowLog{let: make(chan struct{}, 9)}
	for range cap(s.let) {
		s.let <- struct{}{}
	}
	config := func(database string) Config {
		return Config{Store: s, Now: time.Now, Keep: time.Minute, Database: database, Lister: &restd.Lister{Store: s, Now: time.Now, All: func() []*federation.Site { return sites }}}
	}
	q := New(config("one"), nil)
	if err := q.refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	world := q.world.text
	for _, next := range [][]*federation.Site{nil, {{Name: "alpha"}}, {site}} {
		sites = next
		q.Use(config("one"), nil)
		if err := q.refresh(t.Context()); err != nil || !q.Complete() || q.world.text != world {
			t.Errorf("with %d sites the queue is made again: %v", len(next), err)
		}
	}
	sites = []*federation.Site{{Name: "alpha", Seen: &federation.Observation{Partitions: []federation.Partition{{Name: "main", MaxTime: time.Hour}}}}}
	if err := q.refresh(t.Context()); err != nil || q.world.text == world {
		t.Errorf("the queue is not made again for other sites: %v", err)
	}
	if q.Use(config("another"), nil); q.Complete() {
		t.Error("what was read of one database is gone on with on another")
	}
}
