package slurm

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"fsub/federation"
	"fsub/slurm/wire"
)

// read38File reads what a real slurmrestd of 22.05.8 answered.
func read38File(t *testing.T, what string, into any) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", "22.05_v0.0.38_"+what+".json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := decodeV38(raw, into); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

func TestJobsOfV38(t *testing.T) {
	var a wire.JobsResponse
	read38File(t, "jobs", &a)
	if a.Meta.Slurm.Release != "22.05.8" || len(a.Jobs) != 4 {
		t.Fatalf("release %q, %d jobs", a.Meta.Slurm.Release, len(a.Jobs))
	}
	j := siteJob(name{job: 30_000_003}, 100001, a.Jobs[:1], nil)
	want := federation.SiteJob{ID: 30_000_003, SiteJobID: 100001, State: federation.Running, User: "alice", Account: "physics", Partition: "main", QOS: "normal", Reason: "None",
		Nodes: "delta[1-2]", NumNodes: 2, CPUs: 2, GPUs: 4, GPUType: "v100", Limit: time.Hour}
	if j.State != want.State || j.User != want.User || j.Account != want.Account || j.Nodes != want.Nodes || j.NumNodes != want.NumNodes || j.CPUs != want.CPUs ||
		j.GPUs != want.GPUs || j.GPUType != want.GPUType || j.Limit != want.Limit || j.Start.IsZero() || !j.End.IsZero() || j.Output != "/tmp/%j.out" {
		t.Errorf("%+v", j)
	}
	h := holder(&a.Jobs[0])
	if len(h.Nodes) != 2 || h.CPUs != 1 || h.Mem != 1024 || len(h.GRES) != 1 || h.GRES[0].Used != 2 || h.End.IsZero() {
		t.Errorf("%+v", h)
	}
	rows := rowsOf(a.Jobs)
	if len(rows) != 1+2+32 || rows[1].tasks != "0" || rows[3].tasks != "6" || rows[3].id != 100002 || rows[34].tasks != "99" {
		t.Errorf("%d rows: %v", len(rows), rows)
	}
	array := siteJob(name{job: 30_000_004}, 100002, a.Jobs[1:], nil)
	if array.State != federation.Running || len(array.Tasks) != 2 || array.Tasks[1].SiteJobID != 100004 || array.PendingTasks != "6-99:3" {
		t.Errorf("%+v", array)
	}
}

func TestSiteOfV38(t *testing.T) {
	var nodes wire.NodesResponse
	read38File(t, "nodes", &nodes)
	n := node(&nodes.Nodes[0])
	if !slices.Equal(n.State, []string{"MIXED"}) || n.CPUs != 16 || n.CPUsUsed != 3 || n.Mem != 64000 || n.MemUsed != 3024 || len(n.GRES) != 1 || n.GRES[0].Used != 2 ||
		!slices.Equal(n.Features, []string{"v100", "ib"}) || !slices.Equal(n.Partitions, []string{"main", "short"}) || !n.Usable() {
		t.Errorf("%+v", n)
	}
	var parts wire.PartitionsResponse
	read38File(t, "partitions", &parts)
	d, o := newDriver(&site{}), &federation.Observation{}
	for i := range parts.Partitions {
		p, err := d.partition(&parts.Partitions[i])
		if err != nil {
			t.Fatal(err)
		}
		o.Partitions = append(o.Partitions, p)
	}
	d.chooseDefault(o)
	p := o.Partitions[0]
	if !p.Default || !p.Up || p.MaxTime != 7*24*time.Hour || p.DefaultTime != time.Hour || p.MaxNodes != 0 || len(p.Nodes) != 4 || o.Partitions[1].PriorityTier != 10 ||
		p.Info.OverSubscribe != "NO" {
		t.Errorf("%+v", o.Partitions)
	}
}

func TestAccountingOfV38(t *testing.T) {
	var a wire.DBJobsResponse
	read38File(t, "dbjobs", &a)
	j := recordedJob(name{30_000_003, "fsub:x:3.1.abc"}, 100001, a.Jobs[:1])
	if j.State != federation.Running || !j.FromAccounting || j.Key != "fsub:x:3.1.abc" || j.TRES != "cpu=2,mem=2048M,node=2,billing=2,gres/gpu=4,gres/gpu:v100=4" || j.Limit != time.Hour {
		t.Errorf("%+v", j)
	}
	if key := a.Jobs[0].WCKey.WCKey; key != "fsub:x:3.1.abc" {
		t.Errorf("wckey %q", key)
	}
	var as wire.AssociationsResponse
	read38File(t, "associations", &as)
	if x := as.Associations[2]; x.User != "dave" || x.Account != "physics" || !x.IsDefault || !slices.Equal(x.QOS, wire.Strings{"normal"}) {
		t.Errorf("%+v", x)
	}
	var q wire.QOSResponse
	read38File(t, "qos", &q)
	if len(q.QOS) != 2 || q.QOS[1].Name != "capped" || !q.QOS[1].Flags.Has("DENY_LIMIT") || q.QOS[1].Limits.Max.WallClock.Per.Job != wire.Num(5) {
		t.Errorf("%+v", q.QOS)
	}
	var w wire.WCKeysResponse
	read38File(t, "wckeys", &w)
	if len(w.WCKeys) != 0 || len(w.Errors) != 1 || w.Errors[0].Number != nothing38 {
		t.Errorf("%+v", w)
	}
}

// TestErrorsOfV38: the number has three spellings, and an entry may be no error at all.
func TestErrorsOfV38(t *testing.T) {
	for text, want := range map[string]wire.List[wire.Error]{
		`{"errors":[{"error":"Job is in held state","error_code":2042}]}`:                           {{Number: 2042, Text: "Job is in held state"}},
		`{"errors":[{"error":"Unspecified error","errno":-1}]}`:                                     {{Number: -1, Text: "Unspecified error"}},
		`{"errors":[{"description":"d","error_number":2017,"error":"e","source":"s"}]}`:             {{Number: 2017, Text: "e", Description: "d", Source: "s"}},
		`{"errors":[{"description":"job array update","error_number":0,"error":"No error"}]}`:       nil,
		`{"errors":[{"error":"bad signal","error_code":-1},{"error_code":9001,"error":"Failure"}]}`: {{Number: 9001, Text: "v0.0.38 cannot read the job: bad signal"}},
	} {
		var a wire.JobSubmitResponse
		if err := decodeV38([]byte(text), &a); err != nil || !slices.Equal(a.Errors, want) {
			t.Errorf("%s: %+v, %v", text, a.Errors, err)
		}
	}
	for status, want := range map[string][2]int64{`0`: {0, 0}, `768`: {3, 0}, `9`: {0, 9}} {
		var a wire.JobsResponse
		if err := decodeV38([]byte(`{"jobs":[{"job_id":1,"exit_code":`+status+`}]}`), &a); err != nil {
			t.Fatal(err)
		}
		if e := a.Jobs[0].ExitCode; e.ReturnCode.Value() != want[0] || e.Signal.ID.Value() != want[1] {
			t.Errorf("wait status %s: %+v", status, e)
		}
	}
}

func TestWaitingTasks(t *testing.T) {
	for text, want := range map[string][]int{"": nil, "3": {3}, "1,4-6%2": {1, 4, 5, 6}, "6-12:3": {6, 9, 12}, "0,2,4,...": {0, 2, 4}, "0,2,4...": {0, 2}} {
		if got := waitingTasks(text); !slices.Equal(got, want) {
			t.Errorf("%q: %v", text, got)
		}
	}
}
