package storetest

import (
	"fmt"
	"time"

	"fsub/federation"
	"fsub/federation/action"
	"fsub/sbatch"
)

// testSubmissionKeys: a submission that is repeated under its key is the same job; others' keys, and jobs without one, are others.
func testSubmissionKeys(e *env) {
	s := e.open()
	submit := func(uid uint32, key string) (federation.JobID, bool) {
		e.Helper()
		j := &federation.Job{User: "u", UID: uid, Spec: &sbatch.Spec{Name: "j"}}
		again, err := s.CreateJobOnce(ctx, j, &sbatch.Payload{Script: "#!/bin/sh\n"}, key)
		e.must(err)
		return j.ID, again
	}
	first, again := submit(1, "k")
	repeated, same := submit(1, "k")
	if again || !same || first != repeated {
		e.Errorf("jobs %d and %d of one key, known %t and %t", first, repeated, again, same)
	}
	for _, other := range []struct {
		uid uint32
		key string
	}{{2, "k"}, {1, "l"}, {1, ""}, {1, ""}} {
		if id, again := submit(other.uid, other.key); again || id == first {
			e.Errorf("uid %d, key %q: job %d, known %t", other.uid, other.key, id, again)
		}
	}
	id, err := s.JobOfKey(ctx, 1, "k")
	e.must(err)
	if id != first {
		e.Errorf("the key is of job %d, want %d", id, first)
	}
	_, err = s.JobOfKey(ctx, 3, "k")
	e.wants(err, federation.ErrNotFound)
}

// testHoldings: what a user's jobs take up is counted, and less once they are deleted.
func testHoldings(e *env) {
	open := e.open()
	s := open
	holds := func(uid uint32, want federation.Holding) {
		e.Helper()
		got, err := s.Holding(ctx, uid)
		e.must(err)
		e.same("held", got, want)
	}
	var jobs []*federation.Job
	for _, uid := range []uint32{1, 1, 2} {
		j := &federation.Job{User: "u", UID: uid, Spec: &sbatch.Spec{Name: "j"}}
		e.must(open.CreateJob(ctx, j, &sbatch.Payload{Script: "12345", Argv: []string{"a"}, Environment: []string{"B=1"}}))
		jobs = append(jobs, j)
	}
	holds(1, federation.Holding{Jobs: 2, All: 3, Bytes: 22, Specs: 24})
	holds(2, federation.Holding{Jobs: 1, All: 3, Bytes: 11, Specs: 12})
	holds(3, federation.Holding{All: 3})
	end(e, open, jobs[0].ID)
	holds(1, federation.Holding{Jobs: 1, All: 2, Bytes: 22, Specs: 12})
	purge(e, open, 1)
	holds(1, federation.Holding{Jobs: 1, All: 2, Bytes: 11, Specs: 12})
}

// testSameRequest: what is asked again before it is done is asked once, and one job has room for so many requests only.
func testSameRequest(e *env) {
	s := e.open()
	j := e.create(s, "alice", "")
	ask := func(r action.Request) (int64, error) {
		r.Job, r.UID, r.At = j.ID, 1, time.Now()
		return s.AddRequest(ctx, r)
	}
	hold, release, cancel := action.Request{Kind: action.Hold}, action.Request{Kind: action.Release}, action.Request{Kind: action.Cancel}
	var seqs []int64
	for _, r := range []action.Request{hold, hold, release, hold, cancel, release, cancel} {
		seq, err := ask(r)
		e.must(err)
		seqs = append(seqs, seq)
	}
	if seqs[0] != seqs[1] || seqs[3] == seqs[0] || seqs[4] != seqs[6] {
		e.Errorf("hold hold release hold cancel release cancel: %v", seqs)
	}
	var err error
	for range 300 {
		if _, err = ask(hold); err == nil {
			_, err = ask(release)
		}
		if err != nil {
			break
		}
	}
	e.wants(err, federation.ErrConflict)
	if _, err := ask(cancel); err != nil {
		e.Errorf("a job whose requests are many cannot be cancelled: %v", err)
	}
	all, err := s.Requests(ctx, 0)
	e.must(err)
	if len(all) > 101 {
		e.Errorf("%d requests wait of one job", len(all))
	}
	n, err := s.OpenRequests(ctx, 1)
	e.must(err)
	if n != len(all) {
		e.Errorf("%d open requests are counted, want %d", n, len(all))
	}
}

// testTogether: jobs that are submitted together are there, in one commit, or none of them is; and once under a key.
func testTogether(e *env) {
	s := e.open()
	shared := func(int) *sbatch.Payload { return &sbatch.Payload{Script: "12345", Environment: []string{"B=1"}} }
	make := func(n int) (all []*federation.Job) {
		ids, err := s.ReserveIDs(ctx, n)
		e.must(err)
		for i, id := range ids {
			all = append(all, &federation.Job{ID: id, User: "u", UID: 1, Spec: &sbatch.Spec{Name: fmt.Sprint("j", i)}})
		}
		return all
	}
	began, err := s.Changes(ctx, 0, 0)
	e.must(err)
	const n = 1200 // more than PostgreSQL is sent at once
	all := make(n)
	again, err := s.CreateJobs(ctx, all, shared, "k")
	e.must(err)
	if len(again) > 0 {
		e.Errorf("new jobs are %v", again)
	}
	log, err := s.Changes(ctx, began.Mark, 0)
	e.must(err)
	if len(log.Commits) != 1 || len(log.Commits[0].Changes) != n {
		e.Errorf("%d commits tell of %d jobs", len(log.Commits), n)
	}
	var ids []federation.JobID
	for i, j := range all {
		ids = append(ids, j.ID)
		got, err := s.Job(ctx, j.ID)
		e.must(err)
		if got.Rev == 0 || got.Rev != j.Rev || got.Spec.Name != fmt.Sprint("j", i) || got.State != federation.Pending || got.Submit.IsZero() {
			e.Fatalf("job %d is %+v, said to be %+v", j.ID, got, j)
		}
	}
	p, err := s.Payload(ctx, ids[n-1])
	e.must(err)
	e.same("payload", p.Environment, []string{"B=1"})
	held, err := s.Holding(ctx, 1)
	e.must(err)
	e.same("held", []int64{int64(held.Jobs), held.Bytes}, []int64{n, 9 * n})

	repeated := make(n)
	again, err = s.CreateJobs(ctx, repeated, shared, "k")
	e.must(err)
	e.same("the same key", again, ids)
	known, err := s.JobsOfKey(ctx, 1, "k")
	e.must(err)
	e.same("jobs of the key", known, ids)
	for _, key := range []string{"", "k2", "K"} {
		_, err = s.JobsOfKey(ctx, 1, key)
		e.wants(err, federation.ErrNotFound)
	}
	_, err = s.JobsOfKey(ctx, 2, "k")
	e.wants(err, federation.ErrNotFound)
	_, err = s.JobOfKey(ctx, 1, "k")
	e.wants(err, federation.ErrNotFound)

	taken := make(3)
	taken[2].ID = ids[5]
	_, err = s.CreateJobs(ctx, taken, shared, "k3")
	e.wants(err, federation.ErrConflict)
	_, err = s.Job(ctx, taken[0].ID)
	e.wants(err, federation.ErrNotFound)
	_, err = s.JobsOfKey(ctx, 1, "k3")
	e.wants(err, federation.ErrNotFound)
	taken[2].Spec, taken[2].ID = &sbatch.Spec{Het: sbatch.Components{{Name: "b"}}}, taken[1].ID+1
	_, err = s.CreateJobs(ctx, taken, shared, "")
	e.wants(err, federation.ErrInvalid)
	after, err := s.Holding(ctx, 1)
	e.must(err)
	e.same("held after refusals", after, held)
}
