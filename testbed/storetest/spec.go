package storetest

import (
	"time"

	"fsub/federation"
	"fsub/sbatch"
)

// testCommitSpecs: a Spec named in Batch.Specs is written, with the name that jobs are selected by, and nothing of the owner.
func testCommitSpecs(e *env) {
	s := e.open()
	j := e.create(s, "alice", "train")
	j.User, j.UID = "mallory", 0
	j.Spec.Name, j.Spec.TimeLimit, j.Spec.Array = "renamed", 7*time.Minute, "0-3"
	j.Spec.More = &sbatch.More{Prefer: "ib"}
	e.must(s.Commit(ctx, &federation.Batch{Jobs: []*federation.Job{j}, Specs: []*federation.Job{j}}))
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
	e.wants(s.Commit(ctx, &federation.Batch{Specs: []*federation.Job{&unknown}}), federation.ErrNotFound)
}
