package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"fsub/federation"
	"fsub/federation/journal"
	"fsub/sbatch"
)

// testFailAlone mixes callers that must fail with others that must not, so that they meet in the same commits.
func testFailAlone(e *env) {
	s := e.open()
	shared := e.create(s, "alice", "")
	e.must(s.Commit(ctx, &journal.Batch{Attempts: []*federation.Attempt{attempt(shared, 1, federation.AttemptStarted)}}))
	var all sync.WaitGroup
	var mu sync.Mutex
	seen := make(map[federation.JobID]bool)
	for w := range 48 {
		all.Go(func() {
			for i := range 20 {
				switch w % 4 {
				case 0:
					b := &journal.Batch{
						Events:   []federation.Event{{Job: shared.ID, Text: "no"}},
						Attempts: []*federation.Attempt{attempt(shared, 2+i, federation.AttemptIntended)},
					}
					if err := s.Commit(ctx, b); !errors.Is(err, federation.ErrConflict) {
						e.Errorf("second live attempt: %v", err)
					}
				case 1:
					gone, cancel := context.WithCancel(ctx)
					go cancel()
					j := &federation.Job{User: "bob"}
					if err := s.CreateJob(gone, j, &sbatch.Payload{}); err == nil == (j.ID == 0) {
						e.Errorf("cancelled CreateJob gave ID %d and %v", j.ID, err)
					}
				default:
					j := &federation.Job{User: "carol"}
					if err := s.CreateJob(ctx, j, &sbatch.Payload{}); err != nil {
						e.Errorf("CreateJob: %v", err)
					}
					if err := s.Commit(ctx, &journal.Batch{Events: []federation.Event{{Job: j.ID, Text: fmt.Sprint(j.ID)}}}); err != nil {
						e.Errorf("Commit: %v", err)
					}
					mu.Lock()
					if seen[j.ID] {
						e.Errorf("ID %d was given twice", j.ID)
					}
					seen[j.ID] = true
					mu.Unlock()
				}
			}
		})
	}
	all.Wait()
	jobs, err := s.Jobs(ctx, federation.JobQuery{User: "carol"})
	e.must(err)
	if len(jobs) != 24*20 {
		e.Fatalf("%d jobs, want %d", len(jobs), 24*20)
	}
	revs := make(map[int64]bool)
	for _, j := range jobs {
		events, err := s.Events(ctx, j.ID)
		e.must(err)
		if !seen[j.ID] || revs[j.Rev] || len(events) != 1 || events[0].Text != fmt.Sprint(j.ID) {
			e.Fatalf("job %d, Rev %d, has events %v", j.ID, j.Rev, events)
		}
		revs[j.Rev] = true
	}
	events, err := s.Events(ctx, shared.ID)
	e.must(err)
	e.same("events of the job with refused batches", events, []federation.Event{})
}

// testSnapshot changes two jobs together and looks at both while that goes on.
func testSnapshot(e *env) {
	s := e.open()
	a, b := e.create(s, "alice", ""), e.create(s, "alice", "")
	var stop atomic.Bool
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for !stop.Load() {
				jobs, err := s.Jobs(ctx, federation.JobQuery{User: "alice"})
				if err != nil || len(jobs) != 2 || jobs[0].Priority != jobs[1].Priority {
					e.Errorf("half of a batch: %+v, %v", jobs, err)
					return
				}
			}
		})
	}
	for i := range 300 {
		a.Priority, b.Priority = uint32(i), uint32(i)
		if err := s.Commit(ctx, &journal.Batch{Jobs: []*federation.Job{a, b}}); err != nil {
			e.Error(err)
		}
		if j, err := s.Job(ctx, b.ID); err != nil || j.Priority != uint32(i) {
			e.Errorf("what was just written is not there: priority %d, want %d; %v", j.Priority, i, err)
		}
	}
	stop.Store(true)
	all.Wait()
}

// testClose closes the store under callers that write.
func testClose(e *env) {
	s := e.open()
	var all, begun sync.WaitGroup
	var mu sync.Mutex
	var written []federation.JobID
	begun.Add(32)
	for range 32 {
		all.Go(func() {
			for first := true; ; first = false {
				j := &federation.Job{User: "alice"}
				if err := s.CreateJob(ctx, j, &sbatch.Payload{}); err != nil {
					if !errors.Is(err, federation.ErrUnavailable) {
						e.Errorf("closed store: %v", err)
					}
					return
				}
				mu.Lock()
				written = append(written, j.ID)
				mu.Unlock()
				if first {
					begun.Done()
				}
			}
		})
	}
	begun.Wait()
	e.must(s.Close())
	all.Wait()
	e.must(s.Close())
	_, err := s.Job(ctx, written[0])
	e.wants(err, federation.ErrUnavailable)
	e.wants(s.SetSiteState(ctx, federation.SiteRecord{}), federation.ErrUnavailable)

	s = e.open()
	jobs, err := s.Jobs(ctx, federation.JobQuery{})
	e.must(err)
	have := make(map[federation.JobID]bool)
	for _, j := range jobs {
		have[j.ID] = true
	}
	for _, id := range written {
		if !have[id] {
			e.Fatalf("job %d was acknowledged and is gone", id)
		}
	}
	if len(jobs) != len(written) {
		e.Fatalf("%d jobs, %d acknowledged: a refused one was kept", len(jobs), len(written))
	}
}
