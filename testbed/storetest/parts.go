package storetest

import (
	"slices"
	"time"

	"fsub/federation"
	"fsub/federation/journal"
	"fsub/federation/reasons"
	"fsub/sbatch"
)

// testParts creates jobs in a batch: parts of an array. They are found by its ID, and have no payload of their own.
func testParts(e *env) {
	s := e.open()
	array, other := e.create(s, "alice", "sweep"), e.create(s, "bob", "")
	reserved, err := s.ReserveIDs(ctx, 3)
	e.must(err)
	var parts []*federation.Job
	for i, id := range reserved {
		parts = append(parts, &federation.Job{ID: id, User: "alice", UID: 1000, GID: 100, Spec: &sbatch.Spec{Name: "sweep"}, State: federation.Pending,
			Submit: array.Submit, Part: &federation.ArrayPart{Array: array.ID, Index: i, Count: 3, Max: 2, Step: 1, Limit: 2}})
	}
	array.Whole = &federation.ArrayWhole{Count: 3, Max: 2, Step: 1, Limit: 2, Spread: true}
	first := attempt(parts[0], 1, federation.AttemptIntended)
	e.must(s.Commit(ctx, &journal.Batch{Create: parts, Jobs: []*federation.Job{array}, Attempts: []*federation.Attempt{first}}))
	for _, p := range parts {
		if p.Rev == 0 {
			e.Fatalf("part %d has no Rev", p.ID)
		}
		got, err := s.Job(ctx, p.ID)
		e.must(err)
		e.same("part", got, *p)
	}
	for _, c := range []struct{ ask, want []federation.JobID }{
		{[]federation.JobID{array.ID}, append([]federation.JobID{array.ID}, reserved...)},
		{[]federation.JobID{array.ID, reserved[1]}, append([]federation.JobID{array.ID}, reserved...)},
		{[]federation.JobID{reserved[1]}, reserved[1:2]},
		{[]federation.JobID{other.ID}, []federation.JobID{other.ID}},
	} {
		got, err := s.Jobs(ctx, federation.JobQuery{IDs: c.ask})
		e.must(err)
		e.same("jobs", ids(got), c.want)
		listed, err := s.ListJobs(ctx, federation.JobQuery{IDs: c.ask})
		e.must(err)
		e.same("listed jobs", listed, listedOf(got))
	}
	_, err = s.Payload(ctx, parts[0].ID)
	e.wants(err, federation.ErrNotFound)

	// All or nothing: an ID that is taken.
	again := *parts[1]
	again.EditSpec(func(s *sbatch.Spec) { s.Name = "another" })
	array.Reason = reasons.Priority
	e.wants(s.Commit(ctx, &journal.Batch{Create: []*federation.Job{&again}, Jobs: []*federation.Job{array}}), federation.ErrConflict)
	got, err := s.Job(ctx, array.ID)
	e.must(err)
	if got.Reason != "" {
		e.Fatalf("a batch that was refused has changed the array: %q", got.Reason)
	}
	// What it is a part of does not change.
	moved := *parts[2]
	moved.Part = &federation.ArrayPart{Array: other.ID}
	moved.State, moved.End = federation.Completed, time.Unix(1_700_000_000, 0).UTC()
	e.must(s.Commit(ctx, &journal.Batch{Jobs: []*federation.Job{&moved}}))
	got, err = s.Job(ctx, moved.ID)
	e.must(err)
	e.same("part of", got.Part, parts[2].Part)
}

// testReserve takes IDs away from CreateJob, in a range with little room.
func testReserve(e *env) {
	s := e.openRange(100, 109)
	a := e.create(s, "alice", "")
	reserved, err := s.ReserveIDs(ctx, 4)
	e.must(err)
	b := e.create(s, "alice", "")
	all := append([]federation.JobID{a.ID, b.ID}, reserved...)
	slices.Sort(all)
	e.same("IDs", slices.Compact(slices.Clone(all)), []federation.JobID{100, 101, 102, 103, 104, 105})
	for range 4 {
		e.create(s, "alice", "")
	}
	if _, err := s.ReserveIDs(ctx, 5); err == nil {
		e.Fatal("five IDs reserved where four are free")
	}
}

// testComponents creates heterogeneous jobs: their components have the IDs that follow, also where only scattered IDs are free.
func testComponents(e *env) {
	s := e.openRange(100, 109)
	create := func() federation.JobID {
		j := &federation.Job{User: "alice", UID: 1000, GID: 100, Reason: reasons.Priority,
			Spec: &sbatch.Spec{Name: "a", Het: []sbatch.Spec{{Name: "b"}, {Name: "c", MinNodes: 2}}}}
		e.must(s.CreateJob(ctx, j, &sbatch.Payload{Script: "#!/bin/sh\n"}))
		return j.ID
	}
	e.create(s, "bob", "")
	id := create()
	got, err := s.Jobs(ctx, federation.JobQuery{IDs: []federation.JobID{id}})
	e.must(err)
	e.same("IDs", ids(got), []federation.JobID{101, 102, 103})
	for i, j := range got[1:] {
		if j.Component == nil || *j.Component != (federation.HetComponent{Leader: id, Offset: i + 1}) || j.Spec.Name != []string{"b", "c"}[i] ||
			j.User != "alice" || j.State != federation.Pending || j.Submit != got[0].Submit || j.Rev <= got[i].Rev {
			e.Fatalf("component %d is %+v", i+1, j)
		}
	}
	_, err = s.Payload(ctx, 102)
	e.wants(err, federation.ErrNotFound)
	create()
	create()            // 107 to 109
	end(e, s, 100, 106) // too scattered
	purge(e, s, 2)
	j := &federation.Job{User: "alice", Spec: &sbatch.Spec{Het: []sbatch.Spec{{}}}}
	e.wants(s.CreateJob(ctx, j, &sbatch.Payload{}), federation.ErrConflict)
	end(e, s, 105)
	purge(e, s, 1)
	e.must(s.CreateJob(ctx, j, &sbatch.Payload{Script: "#!/bin/sh\n"}))
	e.same("first of two in a row", j.ID, federation.JobID(105))
}
