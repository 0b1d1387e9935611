package storetest

import (
	"strings"
	"time"

	"fsub/federation"
	"fsub/federation/action"
	"fsub/federation/journal"
	"fsub/sbatch"
)

func testCreateFills(e *env) {
	s := e.open()
	j := &federation.Job{User: "alice", State: federation.Running}
	before := time.Now()
	e.must(s.CreateJob(ctx, j, &sbatch.Payload{}))
	if j.ID != federation.FirstJobID || j.Rev <= 0 || j.State != federation.Pending {
		e.Fatalf("first job has ID %d, Rev %d, state %s", j.ID, j.Rev, j.State)
	}
	if j.Submit.Before(before.Truncate(time.Second)) || j.Submit.After(time.Now()) || j.Submit.Location() != time.UTC {
		e.Fatalf("Submit is %v, want the present in UTC", j.Submit)
	}
	got, err := s.Job(ctx, j.ID)
	e.must(err)
	e.same("stored job", got, *j)

	given := time.Date(2001, 2, 3, 4, 5, 6, 7, time.UTC)
	k := &federation.Job{User: "bob", Submit: given}
	e.must(s.CreateJob(ctx, k, &sbatch.Payload{}))
	if !k.Submit.Equal(given) {
		e.Fatalf("Submit was %v and became %v", given, k.Submit)
	}
}

func testCreateKeeps(e *env) {
	s := e.open()
	j := filled[federation.Job](1)
	j.Component = nil // a job is a part or a component, never both
	e.must(s.CreateJob(ctx, &j, &sbatch.Payload{}))
	got, err := s.Job(ctx, j.ID)
	e.must(err)
	e.same("stored job", got, j)
	for _, at := range []time.Time{got.Submit, got.Start, got.End} {
		if at.Location() != time.UTC {
			e.Fatalf("%v is not in UTC", at)
		}
	}
}

func testRange(e *env) {
	s := e.openRange(1000, 1010)
	for want := federation.JobID(1000); want <= 1010; want++ {
		if j := e.create(s, "alice", ""); j.ID != want {
			e.Fatalf("job ID %d, want %d", j.ID, want)
		}
	}
}

func testUsedUp(e *env) {
	s := e.openRange(7, 9)
	for range 3 {
		e.create(s, "alice", "")
	}
	for range 2 {
		j := &federation.Job{User: "alice"}
		e.wants(s.CreateJob(ctx, j, &sbatch.Payload{}), federation.ErrConflict)
		if j.ID != 0 || j.Rev != 0 {
			e.Fatalf("refused job was given ID %d, Rev %d", j.ID, j.Rev)
		}
	}
	jobs, err := s.Jobs(ctx, federation.JobQuery{})
	e.must(err)
	e.same("jobs", ids(jobs), []federation.JobID{7, 8, 9})
}

// testWrap needs jobs to disappear; a store that cannot delete any has nothing to skip.
func testWrap(e *env) {
	s := e.openRange(1, 10)
	for range 10 {
		e.create(s, "alice", "")
	}
	end(e, s, 2, 3, 7)
	purge(e, s, 3)
	var given []federation.JobID
	for range 3 {
		given = append(given, e.create(s, "alice", "").ID)
	}
	e.same("IDs given again", given, []federation.JobID{2, 3, 7})
	e.wants(s.CreateJob(ctx, &federation.Job{}, &sbatch.Payload{}), federation.ErrConflict)

	// Once it is full, deleting one must be noticed, and the search goes on from where it was.
	end(e, s, 5)
	purge(e, s, 1)
	if id := e.create(s, "alice", "").ID; id != 5 {
		e.Fatalf("job ID %d, want 5", id)
	}
}

func testGoOn(e *env) {
	s := e.open()
	first := e.create(s, "alice", "")
	request, err := s.AddRequest(ctx, action.Request{Job: first.ID, Kind: action.Hold})
	e.must(err)
	e.must(s.Commit(ctx, &journal.Batch{Jobs: []*federation.Job{first}, Done: []int64{request}}))
	e.must(s.Close())

	s = e.open()
	second := e.create(s, "alice", "")
	if second.ID != first.ID+1 || second.Rev <= first.Rev {
		e.Fatalf("job %d with Rev %d follows job %d with Rev %d", second.ID, second.Rev, first.ID, first.Rev)
	}
	next, err := s.AddRequest(ctx, action.Request{Job: first.ID, Kind: action.Hold})
	e.must(err)
	if next <= request {
		e.Fatalf("request %d follows request %d", next, request)
	}
}

func testPayload(e *env) {
	s := e.open()
	for name, p := range map[string]sbatch.Payload{
		"empty":         {},
		"empty strings": {Script: "x", Argv: []string{"", "a", ""}, Environment: []string{""}},
		"any bytes":     {Script: "#!/bin/sh\r\n\x00\xff\xfe'\"", Argv: []string{"a b", "\n", "ü\xff"}, Environment: []string{"A=1\n2", "B=<&>"}},
		"4 MiB":         {Script: strings.Repeat("0123456789abcdef", 4<<20/16), Environment: []string{"X=" + strings.Repeat("y", 100_000)}},
	} {
		j := &federation.Job{User: "alice"}
		e.must(s.CreateJob(ctx, j, &p))
		got, err := s.Payload(ctx, j.ID)
		e.must(err)
		e.same("payload: "+name, got, p)
	}
	err := s.CreateJob(ctx, &federation.Job{}, &sbatch.Payload{Environment: []string{"A=1\x00B=2"}})
	e.wants(err, federation.ErrInvalid) // no process can have it, and it must not come back as two
}

func testUnknown(e *env) {
	s := e.open()
	e.create(s, "alice", "")
	const no = federation.JobID(40_000_000)
	_, err := s.Job(ctx, no)
	e.wants(err, federation.ErrNotFound)
	_, err = s.Payload(ctx, no)
	e.wants(err, federation.ErrNotFound)
	_, err = s.Tasks(ctx, no)
	e.wants(err, federation.ErrNotFound)
	_, err = s.Attempts(ctx, no)
	e.wants(err, federation.ErrNotFound)
	_, err = s.Events(ctx, no)
	e.wants(err, federation.ErrNotFound)
	_, err = s.AddRequest(ctx, action.Request{Job: no, Kind: action.Cancel})
	e.wants(err, federation.ErrNotFound)
}

func testNone(e *env) {
	s := e.open()
	j := e.create(s, "alice", "")
	tasks, err := s.Tasks(ctx, j.ID)
	e.must(err)
	attempts, err := s.Attempts(ctx, j.ID)
	e.must(err)
	events, err := s.Events(ctx, j.ID)
	e.must(err)
	if len(tasks)+len(attempts)+len(events) != 0 {
		e.Fatalf("a new job has %v %v %v", tasks, attempts, events)
	}
}
