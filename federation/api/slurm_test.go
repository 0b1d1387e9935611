package api_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"fsub/federation"
	"fsub/federation/api/client"
	"fsub/federation/journal"
	"fsub/federation/reasons"
	"fsub/sbatch"
	"fsub/slurm/wire"
	"fsub/testbed/apitest"
)

// fill gives d a job of every kind; the IDs are in the order of the names.
func fill(t *testing.T, d *apitest.Daemon) (running, pending, ended, array federation.JobID) {
	t.Helper()
	d.Controller.SetSites(testSites()...)
	now := time.Now()
	r := job(0, alice, federation.Running)
	r.Spec = &sbatch.Spec{Name: "run", WorkDir: "/home/alice", MinNodes: 2, GPUsPerNode: "h100:4", MemPerNode: 4000, TimeLimit: time.Hour, Comment: "c", CPUsPerTask: 8}
	r.Site, r.Partition, r.Nodes, r.Start, r.Account, r.Priority = "alpha", "main", "n[1-2]", now.Add(-time.Minute), "proj", 17
	p := job(0, bob, federation.Pending)
	p.Spec.Name, p.Spec.Partition, p.Reason = "pend", "", reasons.Backlog
	e := job(0, alice, federation.Failed)
	e.Site, e.Nodes, e.Start, e.End, e.ExitStatus = "beta", "b2", now.Add(-2*time.Minute), now.Add(-time.Minute), 3<<8
	a := job(0, alice, federation.Running)
	a.Spec.Name, a.Spec.Array, a.Site, a.Nodes, a.Start = "arr", "0-5%2", "beta", "b2", now.Add(-time.Minute)
	gone := job(0, alice, federation.Completed)
	gone.End = now.Add(-time.Hour)
	ids := d.Put(t, r, p, e, a, gone)
	d.Store.Commit(t.Context(), &journal.Batch{Tasks: []*federation.Task{
		{Job: ids[3], Index: 0, SiteJobID: 7001, State: federation.Completed, Nodes: "b2", Start: now.Add(-time.Minute), End: now},
		{Job: ids[3], Index: 1, SiteJobID: 7002, State: federation.Running, Nodes: "b2", Start: now.Add(-time.Minute)},
	}})
	return ids[0], ids[1], ids[2], ids[3]
}

func jobs(t *testing.T, c *client.Client, path string) []wire.Job {
	t.Helper()
	var resp wire.JobsResponse
	if err := c.Do(t.Context(), "GET", "/slurm/v0.0.42"+path, nil, &resp); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return resp.Jobs
}

// names are the jobs of a listing as "name:state[:tasks]".
func names(list []wire.Job) string {
	var out []string
	for _, j := range list {
		n := j.Name + ":" + strings.Join(j.State, "+")
		if j.ArrayTaskID.Set {
			n += fmt.Sprintf(":%d", j.ArrayTaskID.Number)
		} else if j.ArrayTaskString != "" {
			n += ":" + j.ArrayTaskString
		}
		out = append(out, n)
	}
	return strings.Join(out, " ")
}

func TestJobsListing(t *testing.T) {
	d := start(t)
	c := client.New(d.Socket)
	defer c.Close()
	running, pending, _, array := fill(t, d)
	for path, want := range map[string]string{
		"/jobs":                    "run:RUNNING pend:PENDING j:FAILED arr:COMPLETED:0 arr:RUNNING:1 arr:PENDING:2-5%2",
		"/jobs/":                   "run:RUNNING pend:PENDING j:FAILED arr:COMPLETED:0 arr:RUNNING:1 arr:PENDING:2-5%2",
		"/jobs?users=bob":          "pend:PENDING",
		"/jobs?users=61002,carl":   "pend:PENDING",
		"/jobs?states=pending":     "pend:PENDING arr:PENDING:2-5%2",
		"/jobs?name=arr,pend":      "pend:PENDING arr:COMPLETED:0 arr:RUNNING:1 arr:PENDING:2-5%2",
		"/jobs?partition=nosuch":   "",
		"/jobs?account=proj":       "run:RUNNING",
		"/jobs?job_id=1,2":         "",
		"/jobs?name=arr&users=bob": "",
		fmt.Sprintf("/jobs?job_id=%d,%d_1", pending, array): "pend:PENDING arr:RUNNING:1 arr:PENDING:2-5%2",
		fmt.Sprintf("/job/%d", running):                     "run:RUNNING",
		fmt.Sprintf("/job/%d/", array):                      "arr:COMPLETED:0 arr:RUNNING:1 arr:PENDING:2-5%2",
	} {
		if got := names(jobs(t, c, path)); got != want {
			t.Errorf("%s\n got %s\nwant %s", path, got, want)
		}
	}
	for _, path := range []string{"/slurm/v0.0.42/job/999", "/slurm/v0.0.42/job/abc"} {
		err := c.Do(t.Context(), "GET", path, nil, nil)
		if !errors.Is(err, federation.ErrNotFound) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if err := c.Do(t.Context(), "GET", "/slurm/v0.0.39/jobs", nil, nil); !errors.Is(err, federation.ErrNotFound) {
		t.Errorf("old version: %v", err)
	}
}

func TestJobRecord(t *testing.T) {
	d := start(t)
	c := client.New(d.Socket)
	defer c.Close()
	running, pending, ended, array := fill(t, d)
	get := func(id federation.JobID) wire.Job { return jobs(t, c, fmt.Sprintf("/job/%d", id))[0] }
	r := get(running)
	type view struct {
		ID                                    int64
		User, Account, Partition, Cluster     string
		Nodes, Batch, TRESReq, TRESAlloc, Out string
		CPUs, NodeCount, Tasks, Limit, Prio   int64
	}
	got := view{r.JobID, r.UserName, r.Account, r.Partition, r.Cluster, r.Nodes, r.BatchHost, r.TRESReq, r.TRESAlloc, r.StdOut,
		r.CPUs.Number, r.NodeCount.Number, r.Tasks.Number, r.TimeLimit.Number, r.Priority.Number}
	tres := "cpu=16,mem=8000M,node=2,billing=16,gres/gpu=8,gres/gpu:h100=8"
	want := view{int64(running), "alice", "proj", "main", "alpha", "n[1-2]", "n1", tres, tres, fmt.Sprintf("/home/alice/slurm-%d.out", running), 16, 2, 2, 60, 17}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("running job (-want +got):\n%s", diff)
	}
	if r.EndTime.Number != r.StartTime.Number+3600 || r.JobResources == nil || len(r.JobResources.Nodes.Allocation) != 2 {
		t.Errorf("running: start %v end %v resources %+v", r.StartTime, r.EndTime, r.JobResources)
	}
	if e := get(ended); e.MemoryPerCPU != wire.Num(500) || e.TRESAlloc != "cpu=1,mem=500M,node=1,billing=1" {
		t.Errorf("memory of the partition: %+v, %s", e.MemoryPerCPU, e.TRESAlloc)
	}
	untyped := job(0, alice, federation.Running)
	untyped.Site, untyped.Nodes, untyped.Spec.GRES = "alpha", "n[1-2]", "gpu:2"
	if u := get(d.Put(t, untyped)[0]); u.TRESReq != "cpu=2,node=2,billing=2,gres/gpu=4" || u.TRESAlloc != "cpu=2,node=2,billing=2,gres/gpu=4,gres/gpu:h100=4" {
		t.Errorf("GPUs without a type: asked %s, given %s", u.TRESReq, u.TRESAlloc)
	}
	p := get(pending)
	if p.Partition != "main" || p.StateReason != "Resources" || p.StateDescription != "FedBacklog" || p.StartTime != wire.Num(0) ||
		p.Cluster != "fed" || p.JobResources != nil || p.TRESAlloc != "" || p.TimeLimit != wire.Inf() {
		t.Errorf("pending: %+v", p)
	}
	e := get(ended)
	if e.ExitCode.ReturnCode != wire.Num(3) || e.ExitCode.Status[0] != "ERROR" || e.JobResources != nil || e.TimeLimit != wire.Num(60) {
		t.Errorf("ended: %+v", e)
	}
	a := jobs(t, c, fmt.Sprintf("/job/%d", array))
	if len(a) != 3 || a[0].JobID != 7001 || a[1].ArrayJobID != wire.Num(int64(array)) || a[2].JobID != int64(array) || a[2].StateReason != "JobArrayTaskLimit" || a[2].Nodes != "" {
		t.Errorf("array: %+v", a)
	}
	if want := fmt.Sprintf("/home/slurm-%d_1.out", array); a[1].StdOut != want {
		t.Errorf("task output %q, want %q", a[1].StdOut, want)
	}
	var v43 wire.JobsResponse
	if err := c.Do(t.Context(), "GET", fmt.Sprintf("/slurm/v0.0.43/job/%d", running), nil, &v43); err != nil {
		t.Fatal(err)
	}
	if j := v43.Jobs[0]; j.StdOut != "/home/alice/slurm-%j.out" || j.StdOutExpanded != r.StdOut {
		t.Errorf("v0.0.43: %q, expanded %q", j.StdOut, j.StdOutExpanded)
	}
}

// TestSparse: what is left out for our own commands reads back as the same.
func TestSparse(t *testing.T) {
	d := start(t)
	c := client.New(d.Socket)
	defer c.Close()
	fill(t, d)
	var full, sparse wire.JobsResponse
	var raw json.RawMessage
	if err := errors.Join(c.Do(t.Context(), "GET", "/slurm/v0.0.43/jobs", nil, &full), c.Do(t.Context(), "GET", "/slurm/v0.0.43/jobs?sparse=1", nil, &raw),
		json.Unmarshal(raw, &sparse)); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	json.NewEncoder(&b).Encode(full)
	if diff := cmp.Diff(full.Jobs, sparse.Jobs, cmpopts.EquateEmpty()); diff != "" || len(raw) > b.Len()/2 {
		t.Errorf("%d bytes, in full %d\n%s", len(raw), b.Len(), diff)
	}
}

func TestUpdateTime(t *testing.T) {
	d := start(t)
	c := client.New(d.Socket)
	defer c.Close()
	running, _, _, _ := fill(t, d)
	read := func(path string) (r wire.JobsResponse) {
		if err := c.Do(t.Context(), "GET", "/slurm/v0.0.42"+path, nil, &r); err != nil {
			t.Fatal(err)
		}
		return r
	}
	first := read("/jobs")
	again := read(fmt.Sprintf("/jobs?update_time=%d", first.LastUpdate.Number))
	if len(again.Jobs) != 0 || len(again.Warnings) != 1 {
		t.Errorf("nothing changed: %d jobs, warnings %+v", len(again.Jobs), again.Warnings)
	}
	j, _ := d.Store.Job(t.Context(), running)
	j.State = federation.Completing
	d.Store.Commit(t.Context(), &journal.Batch{Jobs: []*federation.Job{&j}})
	if now := read(fmt.Sprintf("/jobs?update_time=%d", first.LastUpdate.Number)); len(now.Jobs) != len(first.Jobs) {
		t.Errorf("after a change: %d jobs, want %d", len(now.Jobs), len(first.Jobs))
	}
	if older := read("/jobs?update_time=5"); len(older.Jobs) != len(first.Jobs) {
		t.Errorf("older than all we know: %d jobs", len(older.Jobs))
	}
}

func TestJobsState(t *testing.T) {
	d := start(t)
	c := client.New(d.Socket)
	defer c.Close()
	_, pending, _, array := fill(t, d)
	var r wire.JobsStateResponse
	if err := c.Do(t.Context(), "GET", fmt.Sprintf("/slurm/v0.0.42/jobs/state/?job_id=%d,%d", pending, array), nil, &r); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, row := range r.Jobs {
		got = append(got, strings.Replace(string(row.JobID), array.String(), "A", 1)+" "+row.State[0])
	}
	want := []string{pending.String() + " PENDING", "A_0 COMPLETED", "A_1 RUNNING", "A_[2-5] PENDING"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestNodesAndPartitions(t *testing.T) {
	d := start(t)
	c := client.New(d.Socket)
	defer c.Close()
	sites := testSites()
	sites[1].Answering = false
	d.Controller.SetSites(sites...)
	var n wire.NodesResponse
	if err := c.Do(t.Context(), "GET", "/slurm/v0.0.42/nodes/", nil, &n); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, x := range n.Nodes {
		got = append(got, fmt.Sprintf("%s/%s %s %s %d/%d %s", x.ClusterName, x.Name, strings.Join(x.State, "+"), x.GRESUsed, x.AllocCPUs, x.CPUs, x.TRESUsed))
	}
	want := []string{
		"alpha/n1 IDLE gpu:h100:0 0/16 ", "alpha/n2 MIXED gpu:h100:2 2/16 cpu=2,mem=2000M,gres/gpu=2,gres/gpu:h100=2", "alpha/n3 IDLE+DRAIN gpu:h100:0 0/16 ",
		"beta/b2 IDLE+NOT_RESPONDING  0/8 ", "beta/n1 ALLOCATED+NOT_RESPONDING  8/8 cpu=8",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("nodes (-want +got):\n%s", diff)
	}
	if err := c.Do(t.Context(), "GET", "/slurm/v0.0.42/node/n1", nil, &n); err != nil || len(n.Nodes) != 2 {
		t.Errorf("n1 of two sites: %d, %v", len(n.Nodes), err)
	}
	var p wire.PartitionsResponse
	if err := c.Do(t.Context(), "GET", "/slurm/v0.0.45/partitions", nil, &p); err != nil || len(p.Partitions) != 2 {
		t.Fatalf("%+v, %v", p.Partitions, err)
	}
	m := p.Partitions[0]
	if m.Name != "main" || m.Nodes.Total != 5 || m.Maximums.Time != wire.Inf() || !m.Flags.Has("DEFAULT") || !m.Partition.State.Has("UP") ||
		m.TRES.Configured != "cpu=64,mem=250G,node=5,billing=64,gres/gpu=12,gres/gpu:h100=12" {
		t.Errorf("main: %+v", m)
	}
	if s := p.Partitions[1]; s.Name != "short" || s.Maximums.Time != wire.Num(60) || s.Flags.Has("DEFAULT") || s.Nodes.Configured != "b2" {
		t.Errorf("short: %+v", s)
	}
}
