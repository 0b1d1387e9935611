package storetest

import (
	"time"

	"fsub/federation"
	"fsub/federation/demand"
	"fsub/federation/journal"
	"fsub/sbatch"
)

// testCommitSpecs: a Spec named in Batch.Specs is written, with the name that jobs are selected by, and nothing of the owner.
func testCommitSpecs(e *env) {
	s := e.open()
	j := e.create(s, "alice", "train")
	j.User, j.UID = "mallory", 0
	j.Spec.Name, j.Spec.TimeLimit, j.Spec.Array = "renamed", 7*time.Minute, "0-3"
	j.Spec.More = &sbatch.More{Prefer: "ib"}
	e.must(s.Commit(ctx, &journal.Batch{Jobs: []*federation.Job{j}, Specs: []*federation.Job{j}}))
	e.must(s.Close())
	s = e.open()
	got, err := s.Job(ctx, j.ID)
	e.must(err)
	e.same("spec", got.Spec, j.Spec)
	e.same("owner", []any{got.User, got.UID}, []any{"alice", uint32(1000)})
	for name, want := range map[string][]federation.JobID{"renamed": {j.ID}, "train": nil} {
		jobs, err := s.Jobs(ctx, federation.JobQuery{Name: name})
		e.must(err)
		e.same("jobs named "+name, ids(jobs), want)
	}
	unknown := federation.Job{ID: 40_000_000}
	e.wants(s.Commit(ctx, &journal.Batch{Specs: []*federation.Job{&unknown}}), federation.ErrNotFound)
}

// testDemand: a job comes with what its Spec asks for, whatever Demand it had when it was written.
func testDemand(e *env) {
	s := e.open()
	j := &federation.Job{User: "alice", Spec: &sbatch.Spec{Name: "a", GRES: "gpu:2", Array: "0-9", Het: []sbatch.Spec{{NTasks: 3}}}}
	e.must(s.CreateJob(ctx, j, &sbatch.Payload{}))
	stored := func(id federation.JobID, spec sbatch.Spec) {
		e.Helper()
		got, err := s.Job(ctx, id)
		e.must(err)
		if got.Demand != demand.Of(&spec) {
			e.Errorf("job %d has another demand than its spec: %+v", id, got.Demand)
		}
	}
	stored(j.ID, *j.Spec)
	stored(j.ID+1, j.Spec.Het[0])
	j.SetSpec(sbatch.Spec{Name: "a", GRES: "gpu:4", Array: "3"})
	e.must(s.Commit(ctx, &journal.Batch{Jobs: []*federation.Job{j}, Specs: []*federation.Job{j}}))
	stored(j.ID, *j.Spec)
}
