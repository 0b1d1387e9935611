package controller

import (
	"context"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"fsub/federation"
	"fsub/federation/place"
	"fsub/federation/store"
	"fsub/sbatch"
)

// tasksSite is a site that is asked by several goroutines.
type tasksSite struct {
	*fakeSite
	mu sync.Mutex
}

func (s *tasksSite) Observe(ctx context.Context) (*federation.Observation, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fakeSite.Observe(ctx)
}

func (s *tasksSite) Submit(ctx context.Context, sub federation.Submission) (federation.Receipt, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fakeSite.Submit(ctx, sub)
}

func (s *tasksSite) Jobs(ctx context.Context, m federation.Mark) (federation.JobsReport, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fakeSite.Jobs(ctx, m)
}

// TestTasksAreBoundAtOnce: the tasks of a new array do not wait for the next cause to plan, which may be seconds away.
func TestTasksAreBoundAtOnce(t *testing.T) {
	for _, array := range []string{"7", "0-5"} {
		synctest.Test(t, func(t *testing.T) {
			st, err := store.Open(t.Context(), store.Config{Path: filepath.Join(t.TempDir(), "x.db"), Volatile: true})
			if err != nil {
				t.Fatal(err)
			}
			defer st.Close()
			site := &tasksSite{fakeSite: &fakeSite{now: time.Now, nodes: 4, jobs: map[federation.JobID]*federation.SiteJob{}, books: map[federation.JobID]*federation.SiteJob{}}}
			ctl, err := New(t.Context(), Config{Federation: "test", Store: st, Policy: place.DefaultPolicy(), Sites: []Site{{Name: "local", Driver: site}}})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			var done sync.WaitGroup
			done.Go(func() { ctl.Run(ctx) })
			time.Sleep(10 * time.Second) // quiet
			j := federation.Job{User: "alice", UID: 7001, Spec: &sbatch.Spec{Name: "x", GPUsPerNode: "1", TimeLimit: time.Hour, WorkDir: "/", Array: array}}
			if err := st.CreateJob(ctx, &j, &sbatch.Payload{Script: "#!/bin/sh\n"}); err != nil {
				t.Fatal(err)
			}
			ctl.Wake()
			time.Sleep(100 * time.Millisecond)
			cancel()
			done.Wait()
			want, _ := federation.ArrayIndices(array)
			if len(site.jobs) != len(want) || site.jobs[j.ID] != nil {
				t.Errorf("array %s: after 100 ms the site has %d jobs, want %d that are tasks", array, len(site.jobs), len(want))
			}
		})
	}
}
