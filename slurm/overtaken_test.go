package slurm

import (
	"testing"

	"fsub/federation"
	"fsub/slurm/wire"
)

// A job that begins between the list and its details, and is back in the queue before the next list, is told both times: the two lists are the same.
func TestBeganBetweenListAndDetails(t *testing.T) {
	f := newFake(t, "v0.0.42")
	d := f.driver(t, nil)
	sub := submission()
	show := func(listed, detailed federation.State, restarts int64) {
		f.on("GET /slurm/jobs/state/", 200, wire.JobsStateResponse{Jobs: wire.List[wire.JobStateRow]{{JobID: "30000007", State: wire.Strings{string(listed)}}}})
		f.on("GET /slurm/job/30000007", 200, wire.JobsResponse{Jobs: wire.List[wire.Job]{{JobID: 30_000_007, AdminComment: sub.Key, State: wire.Strings{string(detailed)}, RestartCnt: restarts}}})
	}
	var mark federation.Mark
	told := func() []federation.SiteJob {
		r, err := d.Jobs(t.Context(), mark)
		if err != nil {
			t.Fatal(err)
		}
		mark = r.Mark
		return r.Changed
	}
	show(federation.Pending, federation.Running, 0)
	if got := told(); len(got) != 1 || got[0].State != federation.Running {
		t.Errorf("when it has begun: %+v", got)
	}
	show(federation.Pending, federation.Pending, 1)
	if got := told(); len(got) != 1 || got[0].State != federation.Pending || got[0].Restarts != 1 {
		t.Errorf("when it waits again: %+v", got)
	}
	if got := told(); len(got) != 0 {
		t.Errorf("when nothing has changed: %+v", got)
	}
}
