package api_test

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/api"
	v1 "fsub/federation/api/v1"
	"fsub/federation/driver"
	"fsub/federation/journal"
	"fsub/federation/usage"
	"fsub/slurm/wire"
)

// running are the steps of one job that runs.
type running struct{ id atomic.Int64 }

func (r *running) job() federation.JobID { return federation.JobID(r.id.Load()) }

func (r *running) Steps(jobs []federation.JobID, ended bool) []driver.LiveStep {
	if jobs != nil && !slices.Contains(jobs, r.job()) {
		return nil
	}
	start := time.Now().Add(-2 * time.Minute)
	step := func(id string, state federation.State, end time.Time) driver.LiveStep {
		return driver.LiveStep{Job: r.job(), Number: r.job(), Step: usage.Step{ID: id, Name: "s" + id, State: state, Nodes: "n1", NumNodes: 1, NumTasks: 2, Start: start, End: end,
			Elapsed: end.Sub(start) * 0, Allocated: []usage.Amount{{Type: "cpu", Count: 2}, {Type: "mem", Count: 1536}, {Type: "node", Count: 1}}}}
	}
	last := step("1", federation.Running, time.Time{})
	if !ended {
		return []driver.LiveStep{last}
	}
	return []driver.LiveStep{step("batch", federation.Running, time.Time{}), step("0", federation.Completed, start), last}
}

// TestStepsOfARunningJob: what its site tells of a job's steps is listed as they run, and in the accounting before the job has ended.
func TestStepsOfARunningJob(t *testing.T) {
	r := &running{}
	d := startWith(t, api.Config{Steps: r})
	j := job(0, alice, federation.Running)
	j.Site, j.Nodes, j.Start, j.ExitStatus = "alpha", "n1", time.Now().Add(-time.Minute), 15
	r.id.Store(int64(d.Put(t, j)[0]))
	var queue wire.JobsResponse
	if as(t, alice, d.Socket, "GET", fmt.Sprintf("/slurm/v0.0.42/job/%d", r.job()), nil, &queue); queue.Jobs[0].ExitCode.Signal.ID.Value() != 0 {
		t.Errorf("a job that was preempted and runs again has the exit code %+v", queue.Jobs[0].ExitCode)
	}
	var steps []v1.Step
	for query, want := range map[string]int{"": 1, fmt.Sprintf("?job_id=%d", r.job()): 1, fmt.Sprintf("?job_id=%d.1", r.job()): 1, "?job_id=17": 0} {
		if code := as(t, alice, d.Socket, "GET", "/fed/v1/steps"+query, nil, &steps); code != 200 || len(steps) != want {
			t.Errorf("%q: status %d, %+v", query, code, steps)
		} else if want > 0 && (steps[0].ID != "1" || steps[0].TRES != "cpu=2,mem=1.50G,node=1" || steps[0].CPUs != 2 || steps[0].Job != int64(r.job())) {
			t.Errorf("%q: %+v", query, steps[0])
		}
	}
	var resp wire.DBJobsResponse
	as(t, alice, d.Socket, "GET", fmt.Sprintf("/slurmdb/v0.0.42/job/%d", r.job()), nil, &resp)
	var got []string
	for _, s := range resp.Jobs[0].Steps {
		got = append(got, fmt.Sprint(s.Step.ID, " ", s.State, " ", s.Time.Elapsed >= 60))
	}
	id := r.job().String()
	if want := []string{id + ".batch [RUNNING] true", id + ".0 [COMPLETED] false", id + ".1 [RUNNING] true"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestEarlierRuns: sacct -D shows the runs of a job before its last one, which the accounting of a cluster keeps too.
func TestEarlierRuns(t *testing.T) {
	d := start(t)
	began := time.Now().Add(-30 * time.Minute)
	j := job(0, alice, federation.Completed)
	j.Site, j.Nodes, j.Start, j.End, j.Submit, j.Restarts = "alpha", "n1", began.Add(20*time.Minute), began.Add(25*time.Minute), began.Add(-10*time.Minute), 4
	id := d.Put(t, j)[0]
	first := federation.Attempt{Job: id, Number: 1, Key: "1", Site: "sky", Partition: "main", State: federation.AttemptEnded, Started: began, Ended: began.Add(10 * time.Minute),
		Nodes: "sky-[1-2]", Final: federation.Preempted, ExitStatus: 15}
	first.Runs = []federation.AttemptRun{{State: federation.Requeued, Started: began.Add(-5 * time.Minute), Ended: began.Add(-4 * time.Minute), Nodes: "sky-1", ExitStatus: 15}}
	stopped := federation.Attempt{Job: id, Number: 3, Key: "3", Site: "alpha", State: federation.AttemptEnded, Started: began.Add(11 * time.Minute), Ended: began.Add(13 * time.Minute),
		Nodes: "n2", Final: federation.Cancelled} // its end was asked for, to queue the job again
	refused := federation.Attempt{Job: id, Number: 2, Key: "2", Site: "sky", State: federation.AttemptEnded, Final: federation.BootFail}
	last := federation.Attempt{Job: id, Number: 4, Key: "4", Site: "alpha", State: federation.AttemptEnded, Started: j.Start, Ended: j.End, Nodes: "n1", Final: federation.Completed}
	last.Runs = []federation.AttemptRun{{State: federation.Requeued, Started: began.Add(15 * time.Minute), Ended: began.Add(15*time.Minute + 30*time.Second), Nodes: "n1"}}
	if err := d.Store.Commit(t.Context(), &journal.Batch{Attempts: []*federation.Attempt{&first, &refused, &stopped, &last}}); err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string][]string{
		"": {"[COMPLETED] alpha n1 300 4 0 [COMPLETED]"},
		"?duplicates=1": {"[PENDING REQUEUED] sky sky-1 60 0 0 [CANCELLED]", "[PREEMPTED] sky sky-[1-2] 600 1 0 [CANCELLED]",
			"[PENDING REQUEUED] alpha n2 120 2 0 [CANCELLED]", "[PENDING REQUEUED] alpha n1 30 3 0 [CANCELLED]", "[COMPLETED] alpha n1 300 4 0 [COMPLETED]"},
	} {
		var resp wire.DBJobsResponse
		as(t, alice, d.Socket, "GET", "/slurmdb/v0.0.42/jobs"+query, nil, &resp)
		var got []string
		for _, r := range resp.Jobs {
			got = append(got, fmt.Sprint(r.State.Current, " ", r.Cluster, " ", r.Nodes, " ", r.Time.Elapsed, " ", r.RestartCnt, " ", r.ExitCode.Signal.ID.Value(), " ", r.Steps[0].State))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", query, got, want)
		}
	}
}
