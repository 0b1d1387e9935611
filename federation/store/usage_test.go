package store_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/journal"
	"fsub/federation/store"
	"fsub/federation/usage"
	"fsub/sbatch"
)

// TestUsage: usage is replaced as a whole, goes with its job, and a job counts as measured once anything or nothing was stored of it.
func TestUsage(t *testing.T) {
	st, err := store.Open(t.Context(), store.Config{Path: t.TempDir() + "/fed.db", FirstID: 30000000, LastID: 30000099})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	now := time.Now().UTC().Truncate(time.Second)
	add := func(end time.Time, ran bool) federation.JobID {
		j := federation.Job{User: "alice", State: federation.Pending, Spec: &sbatch.Spec{Name: "x"}}
		if err := st.CreateJob(t.Context(), &j, &sbatch.Payload{Script: "#!/bin/sh\n"}); err != nil {
			t.Fatal(err)
		}
		j.State, j.End = federation.Completed, end
		if ran {
			j.Attempt, j.Start, j.Site = 1, end.Add(-time.Minute), "alpha"
		}
		if end.IsZero() {
			j.State, j.Start = federation.Running, now
		}
		if err := st.Commit(t.Context(), &journal.Batch{Jobs: []*federation.Job{&j}}); err != nil {
			t.Fatal(err)
		}
		return j.ID
	}
	later, first := add(now, true), add(now.Add(-time.Minute), true)
	add(now.Add(-time.Hour), true) // too long ago
	add(now, false)                // never started
	add(time.Time{}, true)         // runs
	unmeasured := func(limit int) []federation.JobID {
		ids, err := st.Unmeasured(t.Context(), now.Add(-30*time.Minute), limit)
		if err != nil {
			t.Fatal(err)
		}
		return ids
	}
	if got, want := unmeasured(10), []federation.JobID{first, later}; !slices.Equal(got, want) {
		t.Errorf("unmeasured %v, want %v", got, want)
	}
	if got := unmeasured(1); !slices.Equal(got, []federation.JobID{first}) {
		t.Errorf("the first of them is %v", got)
	}
	for _, list := range [][]usage.Usage{{{Index: 0}, {Index: 1}}, {{Index: 1, Total: time.Second}}} {
		if err := st.PutUsage(t.Context(), first, list); err != nil {
			t.Fatal(err)
		}
	}
	if err := st.PutUsage(t.Context(), later, nil); err != nil {
		t.Fatal(err)
	}
	if err := st.PutUsage(t.Context(), 31000000, nil); !errors.Is(err, federation.ErrNotFound) {
		t.Errorf("usage of a job that is not there: %v", err)
	}
	all, err := st.UsageOf(t.Context(), []federation.JobID{later, first, 31000000})
	if err != nil || len(all) != 2 || len(all[first]) != 1 || all[first][0].Index != 1 || all[first][0].Job != first || all[first][0].Total != time.Second {
		t.Errorf("%+v, %v", all, err)
	}
	if got := unmeasured(10); len(got) != 0 {
		t.Errorf("still unmeasured: %v", got)
	}
	if _, err := st.Purge(t.Context(), now.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if all, err := st.UsageOf(t.Context(), []federation.JobID{later, first}); err != nil || len(all) != 0 {
		t.Errorf("usage of deleted jobs: %+v, %v", all, err)
	}
}
