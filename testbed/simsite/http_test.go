package simsite

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"fsub/federation"
	"fsub/slurm/wire"
)

// curl makes one request as SlurmUser and reads the answer.
func (s *Site) curl(t *testing.T, as, method, path, body string, into any) int {
	t.Helper()
	r, err := http.NewRequest(method, "http://x"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set(wire.HeaderUser, as)
	resp, err := s.Transport().RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	raw, _ := io.ReadAll(resp.Body)
	if into != nil {
		if err := json.Unmarshal(raw, into); err != nil {
			t.Fatalf("%s %s: %v in %s", method, path, err, raw)
		}
	}
	return resp.StatusCode
}

// TestStateRows: the rows that real 24.11 gave for an array of which two tasks run.
func TestStateRows(t *testing.T) {
	s := newSite(t)
	s.mustSubmit(t, desc(time.Hour, pinned(30000010, "k")))
	s.mustSubmit(t, desc(time.Hour, pinned(30000011, "k"), array1("0-5%2")))
	var a wire.JobsStateResponse
	s.curl(t, "slurm", "GET", "/slurm/v0.0.42/jobs/state/", "", &a)
	var got []string
	for _, r := range a.Jobs {
		got = append(got, string(r.JobID)+" "+r.State[0])
	}
	want := "30000010 RUNNING|30000011_2 PENDING|30000011_3 PENDING|30000011_4 PENDING|30000011_5 PENDING|1_0 RUNNING|2_1 RUNNING"
	if strings.Join(got, "|") != want {
		t.Errorf("%s\nwant %s", strings.Join(got, "|"), want)
	}
	s.curl(t, "slurm", "GET", "/slurm/v0.0.42/jobs/state/?job_id=30000011_3,2", "", &a)
	if len(a.Jobs) != 2 || a.Jobs[0].JobID != "30000011_3" || a.Jobs[1].JobID != "2_1" || a.Meta.Slurm.Cluster != "alpha" {
		t.Errorf("%+v", a)
	}
}

// TestRefusedOverHTTP: 24.11 says 500 for a refusal, 26.05 says 422, and both say 200 for a DELETE.
func TestRefusedOverHTTP(t *testing.T) {
	for version, status := range map[string]int{"24.11.5": 500, "26.05.5": 422} {
		s := newSite(t, func(c *Config) { c.Version = version })
		var a wire.JobSubmitResponse
		body := `{"job":{"script":"#!/bin/sh\n","environment":["A=b"],"current_working_directory":"/","partition":"nope"}}`
		if got := s.curl(t, "alice", "POST", "/slurm/v0.0.42/job/submit", body, &a); got != status || a.JobID != 0 || a.Errors[0].Number != 2000 {
			t.Errorf("%s: %d %+v", version, got, a)
		}
		id := s.mustSubmit(t, desc(time.Hour))
		var k wire.KillJobsResponse
		if got := s.curl(t, "bob", "DELETE", "/slurm/v0.0.42/job/"+itoa(id), "", &k); got != 200 || len(k.Status) != 1 || k.Status[0].Error.Code != 2002 {
			t.Errorf("%s: bob's DELETE: %d %+v", version, got, k)
		}
		s.wantState(t, id, federation.Running)
		k = wire.KillJobsResponse{}
		if got := s.curl(t, "alice", "DELETE", "/slurm/v0.0.42/jobs/", `{"jobs":["`+itoa(id)+`","4711"]}`, &k); got != 200 || len(k.Status) != 1 || k.Status[0].Error.Code != 2017 {
			t.Errorf("%s: alice's DELETE: %d %+v", version, got, k)
		}
		s.wantState(t, id, federation.Cancelled)
	}
}

func TestNodesOverHTTP(t *testing.T) {
	s := newSite(t)
	s.mustSubmit(t, desc(time.Hour, func(d *wire.JobDesc) { d.TRESPerNode = "gres/gpu:3" }))
	if err := s.NodeDrain("a2", "xid 79"); err != nil {
		t.Fatal(err)
	}
	var a wire.NodesResponse
	s.curl(t, "alice", "GET", "/slurm/v0.0.42/nodes/", "", &a)
	n1, n2 := a.Nodes[0], a.Nodes[1]
	if n1.GRESUsed != "gpu:h100:3(IDX:N/A)" || n1.TRESUsed != "cpu=1,mem=1000M,gres/gpu=3,gres/gpu:h100=3" || !n1.State.Has("MIXED") {
		t.Errorf("%+v", n1)
	}
	if !n2.State.Has("IDLE") || !n2.State.Has("DRAIN") || n2.Reason != "xid 79" {
		t.Errorf("%+v", n2)
	}
}

func TestControllerAndSlurmdbdDownOverHTTP(t *testing.T) {
	s := newSite(t)
	s.KillController(CrashOptions{})
	s.SetSlurmdbd(false)
	var m wire.Reply
	if got := s.curl(t, "slurm", "GET", "/slurm/v0.0.42/diag/", "", &m); got != 502 || m.Errors[0].Number != 1800 {
		t.Errorf("%d %+v", got, m)
	}
	if got := s.curl(t, "slurm", "GET", "/slurmdb/v0.0.42/job/1", "", &m); got != 502 || m.Errors[0].Number != 7000 {
		t.Errorf("%d %+v", got, m)
	}
	var p wire.PingResponse
	if got := s.curl(t, "slurm", "GET", "/slurm/v0.0.42/ping/", "", &p); got != 200 || p.Pings[0].Responding {
		t.Errorf("%d %+v", got, p)
	}
}

// TestGhostOfTheLastTask: 24.11 leaves a row that says PENDING forever; it fools nobody.
func TestGhostOfTheLastTask(t *testing.T) {
	s := conformanceSite(t, "24.11.5")
	s.mustSubmit(t, desc(10*time.Second, pinned(30000011, "fsub:f:30000011.1.x"), array1("0-2%1")))
	s.Advance(2 * time.Minute)
	var a wire.DBJobsResponse
	r, _ := http.NewRequest("GET", "http://x/slurmdb/v0.0.42/job/30000011", nil)
	r.Header.Set(wire.HeaderToken, s.Token("slurm", time.Hour))
	resp, err := s.Transport().RoundTrip(r)
	if err != nil || json.NewDecoder(resp.Body).Decode(&a) != nil || len(a.Jobs) != 4 {
		t.Fatalf("%v: want a row for each of 3 tasks and the ghost: %+v", err, a.Jobs)
	}
	j, err := restDriver(t, s).Lookup(t.Context(), federation.JobRef{ID: 30000011})
	if err != nil || j.State != federation.Completed || len(j.Tasks) != 3 || j.PendingTasks != "" {
		t.Errorf("%+v %v", j, err)
	}
}

func TestParseScript(t *testing.T) {
	for script, want := range map[string]Behaviour{
		"#SIM run=90s exit=2":                     {Run: 90 * time.Second, Exit: 2 << 8},
		"#SIM run=1m signal=KILL":                 {Run: time.Minute, Exit: 9},
		"#SIM run=1m node=down":                   {Run: time.Minute, KillsNode: true},
		"#SBATCH -n1\necho hi":                    {Run: time.Second},
		"sleep 2\nsrun sleep 3\nexit 4\nsleep 99": {Run: 5 * time.Second, Exit: 4 << 8, Steps: true},
		"sleep 0.5 && echo 'a;b' >&2":             {Run: 500 * time.Millisecond},
		"exec sleep infinity":                     {Run: Forever},
		"while :; do sleep 1; done":               {Run: Forever},
		"false\ntrue":                             {Run: time.Second},
	} {
		got := ParseScript("#!/bin/sh\n" + script + "\n")
		if got.Run != want.Run || got.Exit != want.Exit || got.Steps != want.Steps || got.KillsNode != want.KillsNode {
			t.Errorf("%q: %+v, want %+v", script, got, want)
		}
	}
}

func TestJobThatKillsItsNode(t *testing.T) {
	s := newSite(t)
	no := false
	id := s.mustSubmit(t, desc(0, func(d *wire.JobDesc) { d.Requeue, d.Script = &no, "#!/bin/sh\n#SIM run=3s node=down\n" }))
	s.Advance(3 * time.Second)
	s.wantState(t, id, federation.NodeFail)
	s.wantRuns(t, id, RunNodeFail)
	if st := s.nodes[0].state(); st[0] != "DOWN" {
		t.Errorf("node: %v", st)
	}
}
