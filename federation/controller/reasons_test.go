package controller

import (
	"context"
	"errors"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/action"
	"fsub/federation/journal"
	"fsub/federation/reasons"
	"fsub/sbatch"
)

// largest notes the largest batch of jobs, and may refuse all.
type largest struct {
	Store
	most    int
	refuses error
}

func (s *largest) Commit(ctx context.Context, b *journal.Batch) error {
	if s.refuses != nil {
		return s.refuses
	}
	s.most = max(s.most, len(b.Jobs))
	return s.Store.Commit(ctx, b)
}

// TestReasonsOfMany: where the reasons of very many jobs change at once they are written in portions, and what else there is to write does not wait for them.
func TestReasonsOfMany(t *testing.T) {
	b := newBench(t)
	s := &largest{Store: b.store}
	b.with(func(c *Config) { c.Store = s })
	const n = reasonsAtOnce + 500
	ids, err := b.store.ReserveIDs(t.Context(), n)
	if err != nil {
		t.Fatal(err)
	}
	all := make([]*federation.Job, n)
	for i := range all {
		all[i] = &federation.Job{ID: ids[i], User: "alice", UID: 7001, State: federation.Pending, Submit: b.clock, Spec: &sbatch.Spec{Name: "x", GPUsPerNode: "2", TimeLimit: time.Hour, WorkDir: "/"}}
	}
	if _, err := b.store.CreateJobs(t.Context(), all, func(int) *sbatch.Payload { return &sbatch.Payload{Script: "#!/bin/sh\n"} }, ""); err != nil {
		t.Fatal(err)
	}
	without := func() (jobs []federation.Job) {
		all, err := b.store.Jobs(t.Context(), federation.JobQuery{Live: true})
		if err != nil {
			t.Fatal(err)
		}
		for i := range all {
			if all[i].State == federation.Pending && all[i].Site == "" && all[i].Reason != reasons.Resources && all[i].Reason != reasons.Priority {
				jobs = append(jobs, all[i])
			}
		}
		return jobs
	}
	for i := 0; len(without()) == n; i++ {
		if i > 50 {
			t.Fatal("no job is told why it waits")
		}
		b.rounds(1)
	}
	left := without()
	if len(left) == 0 {
		t.Fatal("all were written at once")
	}
	gone := left[len(left)-1].ID
	b.request(action.Request{Job: gone, Kind: action.Cancel, UID: 7001})
	s.refuses = errors.New("the disk is full")
	if next := b.ctl.Round(t.Context()); !next.After(b.now()) {
		t.Error("a store that fails is tried again at once")
	}
	s.refuses = nil
	b.clock = b.clock.Add(time.Minute)
	b.rounds(1)
	b.want(gone, federation.Cancelled, "", "")
	for i := 0; len(without()) > 0; i++ {
		if i > 50 {
			t.Fatalf("%d jobs are not told why they wait", len(without()))
		}
		b.rounds(1)
	}
	b.want(gone, federation.Cancelled, "", "")
	if s.most > reasonsAtOnce {
		t.Errorf("%d jobs were written at once", s.most)
	}
}
