package slurm

import (
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fsub/federation"
	"fsub/sbatch"
	"fsub/slurm/wire"
)

// sample reads an answer of a real daemon.
func sample[T any](t *testing.T, name string) T {
	t.Helper()
	raw, err := os.ReadFile("wire/testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	var v T
	if err := decodeV42(raw, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestRunningJobOfRealSlurm(t *testing.T) {
	a := sample[wire.JobsResponse](t, "24.11_v0.0.42_job_running.json")
	j := siteJob(new(site).nameOf(standing{}, 30_000_010, a.Jobs), 30_000_010, a.Jobs, nil)
	if j.State != federation.Running || j.User != "alice" || j.Account != "proj1" || j.GPUs != 1 || j.GPUType != "h100" || j.Nodes != "alpha1" ||
		j.Start.IsZero() || !j.End.IsZero() || j.Limit != 5*time.Minute || j.Output != "/tmp/30000010.out" {
		t.Errorf("%+v", j)
	}
	r := holder(&a.Jobs[0])
	want := federation.RunningJob{Job: 30_000_010, End: j.Start.Add(5 * time.Minute), Nodes: []string{"alpha1"}, CPUs: 1, Mem: 100,
		GRES:  []federation.GRES{{Name: "gpu", Type: "h100", Used: 1}},
		Stake: federation.Stake{User: "alice", Account: "proj1", QOS: j.QOS, Partition: "main", Priority: a.Jobs[0].Priority.Value(), Limit: 5 * time.Minute}}
	if !reflect.DeepEqual(r, want) {
		t.Errorf("holds %+v, want %+v", r, want)
	}
}

func TestArrayOfRealSlurm(t *testing.T) {
	for _, name := range []string{"24.11_v0.0.42_job_array.json", "26.05_v0.0.45_job_array.json"} {
		a := sample[wire.JobsResponse](t, name)
		j := siteJob(new(site).nameOf(standing{}, 30_000_011, a.Jobs), 30_000_011, a.Jobs, nil)
		if j.State != federation.Running || j.PendingTasks != "2-5" || len(j.Tasks) != 2 || j.Tasks[0].Index != 0 || j.Tasks[0].SiteJobID != 1 || j.Key != "fsub:arr" {
			t.Errorf("%s: %+v", name, j)
		}
	}
}

// TestGhostRows: slurmdbd 24.11 has a second row for the last task of this array, which waits for ever.
func TestGhostRows(t *testing.T) {
	a := sample[wire.DBJobsResponse](t, "24.11_v0.0.42_dbjob_array.json")
	if len(a.Jobs) != 7 {
		t.Fatalf("%d rows", len(a.Jobs))
	}
	j := recordedJob(name{job: 30_000_011}, 30_000_011, a.Jobs)
	if j.State != federation.Failed || j.ExitStatus != 3<<8 || len(j.Tasks) != 6 || j.PendingTasks != "" || !j.FromAccounting || j.Key != "fsub:arr" {
		t.Errorf("%+v", j)
	}
}

// TestAnyRows: whatever slurmdbd sends, it is one job.
func TestAnyRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		states := []string{"PENDING", "RUNNING", "COMPLETED", "FAILED", "CANCELLED", "NODE_FAIL"}
		rows := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) wire.DBJob {
			r := wire.DBJob{JobID: rapid.SampledFrom([]int64{30_000_001, 5, 6}).Draw(t, "id"), State: wire.DBState{Current: wire.Strings{rapid.SampledFrom(states).Draw(t, "state")}}}
			r.Time.Submission, r.Time.Start = rapid.Int64Range(0, 3).Draw(t, "submit"), rapid.Int64Range(0, 1).Draw(t, "start")
			r.Time.Eligible = rapid.SampledFrom([]int64{0, 7, 0xffffffff}).Draw(t, "eligible")
			r.Comment.Administrator = rapid.SampledFrom([]string{"", "fsub:f:1.1.x", "fsub:f:1.2.x"}).Draw(t, "key")
			if rapid.Bool().Draw(t, "array") {
				r.Array.JobID = 30_000_001
				if rapid.Bool().Draw(t, "task") {
					r.Array.TaskID = wire.Num(rapid.Int64Range(0, 2).Draw(t, "index"))
				}
			}
			return r
		}), 1, 6).Draw(t, "rows")
		j := recordedJob(name{job: 30_000_001}, 30_000_001, rows)
		seen := map[int]bool{}
		for _, k := range j.Tasks {
			if seen[k.Index] {
				t.Fatalf("task %d twice: %+v", k.Index, j)
			}
			seen[k.Index] = true
		}
		if j.State == "" {
			t.Fatalf("no state: %+v", j)
		}
	})
}

// TestNewestRowTells: a forgotten job leaves a row that waits for ever, a requeued one a row that ended.
func TestNewestRowTells(t *testing.T) {
	row := func(submit, start, end int64, state, key string) wire.DBJob {
		return wire.DBJob{JobID: 30_000_001, Nodes: "n1", Time: wire.DBTime{Submission: submit, Start: start, End: end},
			State: wire.DBState{Current: wire.Strings{state}}, Comment: wire.DBComment{Administrator: key}}
	}
	for _, c := range []struct {
		what string
		rows []wire.DBJob
		want federation.State
	}{
		{"ghost, then the real one", []wire.DBJob{row(10, 0, 0, "PENDING", ""), row(20, 21, 22, "COMPLETED", "fsub:f:1.1.x")}, federation.Completed},
		{"requeued", []wire.DBJob{row(10, 11, 12, "NODE_FAIL", "fsub:f:1.1.x"), row(13, 0, 0, "PENDING", "")}, federation.Pending},
		{"same second", []wire.DBJob{row(10, 0, 0, "PENDING", ""), row(10, 10, 10, "FAILED", "fsub:f:1.1.x")}, federation.Failed},
	} {
		if j := recordedJob(name{job: 30_000_001}, 30_000_001, c.rows); j.State != c.want {
			t.Errorf("%s: %s, want %s", c.what, j.State, c.want)
		}
	}
}

// TestAttemptsAreNotMixed: attempt 2 of an array was forgotten while it waited; attempt 1 has ended there before.
func TestAttemptsAreNotMixed(t *testing.T) {
	row := func(task int64, submit int64, state, key string) wire.DBJob {
		r := wire.DBJob{JobID: 100 + task, Time: wire.DBTime{Submission: submit}, State: wire.DBState{Current: wire.Strings{state}}, Comment: wire.DBComment{Administrator: key}}
		r.Array.JobID, r.Array.TaskID = 30_000_001, wire.Num(task)
		return r
	}
	waits := row(0, 20, "PENDING", "")
	waits.JobID, waits.Array.TaskID, waits.Array.Task = 30_000_001, wire.Number{}, "0-1"
	j := recordedJob(name{job: 30_000_001}, 30_000_001, []wire.DBJob{row(0, 10, "FAILED", "fsub:f:1.1.x"), row(1, 10, "FAILED", "fsub:f:1.1.x"), waits})
	if j.State != federation.Pending || j.Key != "" || len(j.Tasks) != 0 || j.PendingTasks != "0-1" {
		t.Errorf("attempt 2 waits: %+v", j)
	}
	j = recordedJob(name{job: 30_000_001}, 30_000_001, []wire.DBJob{row(0, 10, "FAILED", "fsub:f:1.1.x"), row(1, 10, "FAILED", "fsub:f:1.1.x"), row(0, 20, "COMPLETED", "fsub:f:1.2.x"), row(1, 20, "COMPLETED", "fsub:f:1.2.x")})
	if j.State != federation.Completed || j.Key != "fsub:f:1.2.x" || len(j.Tasks) != 2 {
		t.Errorf("attempt 2 has ended: %+v", j)
	}
}

func TestNodesOfRealSlurm(t *testing.T) {
	a := sample[wire.NodesResponse](t, "24.11_v0.0.42_nodes.json")
	n := node(&a.Nodes[0])
	if n.Name != "alpha1" || n.CPUs != 16 || n.Mem != 64000 || !n.Usable() || len(n.Features) != 2 || len(n.Partitions) != 2 ||
		!reflect.DeepEqual(n.GRES, []federation.GRES{{Name: "gpu", Type: "h100", Total: 4, Used: n.GRES[0].Used}}) {
		t.Errorf("%+v", n)
	}
}

func TestGRES(t *testing.T) {
	for in, want := range map[string][]federation.GRES{
		"":                                nil,
		"N/A":                             nil,
		"(null)":                          nil,
		"gpu:4":                           {{Name: "gpu", Total: 4}},
		"gpu:h100:4(S:0-1),nvme:2K":       {{Name: "gpu", Type: "h100", Total: 4}, {Name: "nvme", Total: 2048}},
		"gpu:a100:1(IDX:0,2-3),shard:0":   {{Name: "gpu", Type: "a100", Total: 1}, {Name: "shard"}},
		"license":                         {{Name: "license", Total: 1}},
		"gpu:a100:2(S:0),gpu:h100:2(S:1)": {{Name: "gpu", Type: "a100", Total: 2}, {Name: "gpu", Type: "h100", Total: 2}},
	} {
		if got := parseGRES(in); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, want %+v", in, got, want)
		}
	}
}

func TestTaskLists(t *testing.T) {
	if got := ranges([]int{7, 2, 3, 4, 5, 5}); got != "2-5,7" {
		t.Errorf("ranges: %s", got)
	}
	for i, want := range map[int]bool{1: false, 2: true, 4: true, 6: false, 7: true} {
		if waits("2-5,7", i) != want {
			t.Errorf("waits(%d) is %t", i, !want)
		}
	}
	if waits("", 0) {
		t.Error("an empty list has task 0")
	}
}

func TestArraySummary(t *testing.T) {
	at := time.Unix(1_800_000_000, 0)
	done := federation.SiteTask{Index: 0, State: federation.Completed, Start: at, End: at.Add(time.Second)}
	bad := federation.SiteTask{Index: 1, State: federation.Failed, Start: at, End: at.Add(2 * time.Second), ExitStatus: 256}
	runs := federation.SiteTask{Index: 2, State: federation.Running, Start: at}
	cancelled := federation.SiteTask{Index: 3, State: federation.Cancelled, End: at}
	for _, c := range []struct {
		tasks []federation.SiteTask
		rest  federation.State
		want  federation.State
	}{
		{nil, federation.Pending, federation.Pending},
		{[]federation.SiteTask{cancelled}, federation.Pending, federation.Pending},
		{[]federation.SiteTask{runs}, federation.Pending, federation.Running},
		{[]federation.SiteTask{done}, federation.Pending, federation.Running},
		{[]federation.SiteTask{bad, runs}, "", federation.Running},
		{[]federation.SiteTask{done, bad}, "", federation.Failed},
		{[]federation.SiteTask{done, cancelled}, "", federation.Cancelled},
		{[]federation.SiteTask{done}, "", federation.Completed},
		{nil, federation.Cancelled, federation.Cancelled},
	} {
		j := federation.SiteJob{Tasks: c.tasks}
		summarize(&j, c.rest)
		if j.State != c.want || (len(c.tasks) > 0 && j.State.Ended() == j.End.IsZero()) {
			t.Errorf("%+v, rest %q: %s ending %s, want %s", c.tasks, c.rest, j.State, j.End, c.want)
		}
	}
}

func TestKeys(t *testing.T) {
	one := &federation.Job{ID: 30_000_001, Submit: time.Unix(100, 0)}
	other := &federation.Job{ID: 30_000_001, Submit: time.Unix(200, 0)} // the ID was given out again
	key := federation.AttemptKey
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{key("f.g", one, 1), key("f.g", one, 2), true},
		{key("f", one, 2), key("f", one, 10), true},
		{key("f", one, 2), key("f", one, 2), false},
		{key("f", one, 3), key("f", one, 2), false},
		{key("f", other, 1), key("f", one, 2), false},
		{key("g", one, 1), key("f", one, 2), false},
		{"", key("f", one, 2), false},
	} {
		if got := earlier(c.a, c.b); got != c.want {
			t.Errorf("earlier(%s, %s) is %t", c.a, c.b, got)
		}
	}
	if got := keyOf("site note; " + key("f", one, 1) + ", more"); got != key("f", one, 1) {
		t.Errorf("key %q", got)
	}
}

func TestDescribe(t *testing.T) {
	s := submission()
	sp := s.Job.Spec
	*sp = sbatch.Spec{Name: "n", WorkDir: "/w", Output: "o/x", Input: "none", GRES: "gpu:h100:2,nvme:1", GPUsPerTask: "h100", CPUsPerTask: 3, MailType: "ALL", MailUser: "ann@example.org",
		NodeList: "n[1-2],m1", TimeLimit: sbatch.Unlimited, Dependency: "afterok:5", Hold: true}
	s.Restarts = 2
	d, err := describe(&s)
	if err != nil {
		t.Fatal(err)
	}
	b, _ := json.Marshal(d)
	text := string(b)
	for _, want := range []string{`"job_id":30000007`, `"user_id":"7"`, `"group_id":"8"`, `"standard_output":"/w/o/x"`, `"standard_input":"/dev/null"`,
		`"tres_per_node":"gres/gpu:h100:2,gres/nvme:1"`, `"tres_per_task":"cpu=3,gres/gpu:h100=1"`, `"tres_bind":"gres/gpu:per_task:1"`,
		`"required_nodes":["n1","n2","m1"]`, `"minimum_nodes":3`, `"time_limit":{"set":true,"infinite":true,"number":0}`, `"SLURM_RESTART_COUNT=2"`,
		`"admin_comment":"` + s.Key} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in %s", want, text)
		}
	}
	for _, no := range []string{"dependency\"", "\"hold\"", "\"tasks\"", "mail"} { // resolved by the federation; released since; not asked for; the federation sends it
		if strings.Contains(text, no) {
			t.Errorf("%s in %s", no, text)
		}
	}
	if len(s.Payload.Environment) != 1 {
		t.Error("the caller's environment was changed")
	}
}
