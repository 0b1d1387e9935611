package store_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"fsub/federation"
	"fsub/federation/action"
	"fsub/federation/journal"
	"fsub/federation/store"
	"fsub/sbatch"
)

// TestRequestsOfEarlierVersions: they named each task of an array by its number, however many there were.
func TestRequestsOfEarlierVersions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fed.db")
	s := open(t, store.Config{Path: path})
	array := federation.Job{User: "alice", UID: 7001, State: federation.Pending, Spec: &sbatch.Spec{Array: "0-299999"}}
	if err := s.CreateJob(ctx, &array, &sbatch.Payload{}); err != nil {
		t.Fatal(err)
	}
	s.Close()
	const n = 300_000
	many := make([]string, n)
	for i := range many {
		many[i] = fmt.Sprint(i)
	}
	for seq, tasks := range []string{"[3,7]", "[" + strings.Join(many, ",") + "]", "[]", "null"} {
		execute(t, path, fmt.Sprintf("INSERT INTO requests (seq, job_id, tasks, kind, uid, operator, signal, at) VALUES (%d, %d, '%s', 'cancel', 7001, FALSE, 'null', 1)", seq+1, array.ID, tasks))
	}
	s = open(t, store.Config{Path: path})
	defer s.Close()
	all, err := s.Requests(ctx, 0)
	if err != nil || len(all) != 4 {
		t.Fatalf("%d requests, %v", len(all), err)
	}
	for i, want := range []string{"3,7", "0-299999", "", ""} {
		if got := all[i].Tasks.Format(0); got != want || all[i].Kind != action.Cancel || all[i].UID != 7001 {
			t.Errorf("request %d is about tasks %.40s, want %s: %+v", i+1, got, want, all[i].Kind)
		}
	}
	if err := s.Commit(ctx, &journal.Batch{Done: []int64{1, 2, 3, 4}}); err != nil {
		t.Fatal(err)
	}
	if all, err = s.Requests(ctx, 0); err != nil || len(all) > 0 {
		t.Errorf("%d are left when they are done, %v", len(all), err)
	}
}
