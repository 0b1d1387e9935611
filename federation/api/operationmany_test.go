package api_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/action"
	"fsub/federation/api"
	v1 "fsub/federation/api/v1"
	"fsub/federation/journal"
	"fsub/federation/store"
	"fsub/sbatch"
)

// An operation on more jobs than are written down at once goes on in pieces: each job that was chosen gets one request, also where the daemon ends meanwhile, and none that was submitted
// later.
func TestOperationOnVeryMany(t *testing.T) {
	const n = 2500
	st, err := store.Open(t.Context(), store.Config{Volatile: true})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	d := startWith(t, api.Config{Store: st})
	d.Controller.SetSites(testSites()...)
	put := func(uid uint32) federation.JobID {
		j := job(0, uid, federation.Pending)
		j.EditSpec(func(s *sbatch.Spec) { s.Fed = &sbatch.Fed{Group: "g"} })
		if err := st.CreateJob(t.Context(), &j, &sbatch.Payload{Script: "#!/bin/sh\n"}); err != nil {
			t.Fatal(err)
		}
		return j.ID
	}
	asked := map[federation.JobID]int{}
	for i := range n {
		if i == 1 || i == n-1 {
			put(bob)
		}
		asked[put(alice)] = 0
	}
	if err := d.Server.Queue().Follow(t.Context()); err != nil {
		t.Fatal(err)
	}
	ask := v1.NewOperation{Verb: action.Hold, Where: []string{"group=g"}, Preview: true}
	var preview, op v1.Operation
	if code := as(t, alice, d.Socket, "POST", "/fed/v1/operations", ask, &preview); code != 200 || preview.Jobs != n+2 || len(preview.Items) != 1000 || preview.Failed != 1 || preview.Last == 0 {
		t.Fatalf("status %d: %d jobs, %d shown, %d refused, last %d", code, preview.Jobs, len(preview.Items), preview.Failed, preview.Last)
	}
	put(alice) // which nobody was shown
	ask.Preview, ask.Last = false, preview.Last
	if code := as(t, alice, d.Socket, "POST", "/fed/v1/operations", ask, &op); code != 200 || op.ID == 0 || op.Jobs != n+2 {
		t.Fatalf("status %d: %+v", code, op)
	}
	put(alice)

	for op.Ended == nil {
		ctx, stop := context.WithCancel(t.Context())
		over := make(chan error, 1)
		go func() { over <- d.Server.Work(ctx) }()
		for seen := 0; seen < 400 && op.Ended == nil; { // then it ends, and another begins
			requests, err := st.Requests(t.Context(), 0)
			if err != nil {
				t.Fatal(err)
			}
			var done []int64
			for _, r := range requests {
				asked[r.Job]++
				done = append(done, r.Seq)
			}
			if seen += len(done); len(done) > 0 {
				if err := st.Commit(t.Context(), &journal.Batch{Done: done}); err != nil {
					t.Fatal(err)
				}
			}
			op = v1.Operation{}
			if code := as(t, alice, d.Socket, "GET", "/fed/v1/operation/1?after=2490", nil, &op); code != 200 || op.Jobs != n+2 {
				t.Fatalf("status %d: %+v", code, op)
			}
			time.Sleep(time.Millisecond)
		}
		stop()
		<-over
	}
	if len(asked) != n || op.Settled != n+2 || op.Failed != 2 || len(op.Items) != n+2-2490 {
		t.Errorf("%d jobs were asked for, want %d; %d settled, %d failed, %d shown", len(asked), n, op.Settled, op.Failed, len(op.Items))
	}
	for id, times := range asked {
		if times != 1 {
			t.Errorf("job %d was asked for %d times", id, times)
		}
	}
	items, err := st.OperationItems(t.Context(), op.ID)
	if err != nil {
		t.Fatal(err)
	}
	places := map[int]bool{}
	for i, v := range items {
		if places[v.Settled] || v.N != i+1 {
			t.Errorf("two are the %d-th to be settled, or item %d has the number %d", v.Settled, i, v.N)
		}
		places[v.Settled] = true
		if v.Failed && !strings.Contains(v.Note, "it is bob's") {
			t.Errorf("%d: %s", v.Job, v.Note)
		}
	}
}
