package sacct

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"fsub/cmd/fsub/internal/conn"
	v1 "fsub/federation/api/v1"
	"fsub/slurm/wire"
)

const began = 1795195874 // when the jobs of the golden runs were submitted

// fakeDaemon has the jobs that the golden runs of a real sacct saw, and selects by number and name.
type fakeDaemon struct {
	paths []string
	err   error
}

func (d *fakeDaemon) Do(_, path string, _ []byte) (int, []byte, error) {
	d.paths = append(d.paths, path)
	if d.err != nil {
		return 0, nil, d.err
	}
	if strings.HasSuffix(path, "/payload") {
		if path != "/fed/v1/job/4/payload" {
			return 404, []byte(`{"error":{"number":2017,"text":"Invalid job id specified"}}`), nil
		}
		return 200, []byte(`{"script":"#!/bin/sh\n# This script was created by sbatch --wrap.\n\nsrun true; echo hi\n"}`), nil
	}
	_, query, _ := strings.Cut(path, "?")
	var resp v1.AccountingResponse
	for _, j := range goldenJobs() {
		if selects(query, &j) {
			resp.Jobs = append(resp.Jobs, j)
		}
	}
	b, err := json.Marshal(resp)
	return 200, b, err
}

func selects(query string, j *v1.AccountingJob) bool {
	for _, f := range strings.Split(query, "&") {
		name, list, _ := strings.Cut(f, "=")
		var ok bool
		for _, v := range strings.Split(list, ",") {
			id, _, _ := strings.Cut(v, "_")
			n, _ := strconv.ParseInt(id, 10, 64)
			switch name {
			case "job_id":
				ok = ok || n == j.JobID && j.Array.JobID == 0 || n == j.Array.JobID
			case "job_name":
				ok = ok || v == j.Name
			case "state":
				ok = ok || v == j.State.Current[0]
			case "end_time":
				ok = n >= began
			default:
				ok = true
			}
		}
		if !ok {
			return false
		}
	}
	return true
}

func goldenJobs() []v1.AccountingJob {
	one := func(id int64, name, state string, limit int64, code int64) v1.AccountingJob {
		j := v1.AccountingJob{UserID: 7001, GroupID: 7001}
		j.JobID, j.Name, j.Account, j.Partition, j.User, j.Group, j.Cluster, j.QOS = id, name, "research", "main", "alice", "alice", "chk", "normal"
		j.State.Current, j.State.Reason = wire.Strings{state}, "None"
		j.Nodes, j.WorkDir, j.AllocationNodes, j.Required.CPUs = "chk1", "/tmp/alice", 1, 1
		j.Time.Submission, j.Time.Eligible, j.Time.Start, j.Time.Limit = began, began, began, wire.Num(limit)
		j.Priority, j.ExitCode.ReturnCode = wire.Num(1), wire.Num(code)
		j.TRES.Requested = wire.List[wire.TRES]{{Type: "cpu", Count: 1}, {Type: "mem", Count: 100}, {Type: "node", Count: 1}, {Type: "billing", Count: 1}}
		j.TRES.Allocated = j.TRES.Requested
		return j
	}
	steps := func(j v1.AccountingJob, names ...string) v1.AccountingJob {
		for _, n := range names {
			var st wire.DBStep
			st.Step.ID, st.Step.Name = wire.Text("x."+n), n
			st.State, st.ExitCode, st.Time.Elapsed, st.Nodes.Count, st.Nodes.Range = j.State.Current, j.ExitCode, j.Time.Elapsed, 1, "chk1"
			if n == "0" {
				st.Step.Name, st.Time.Elapsed = "true", 0
				st.State = wire.Strings{"COMPLETED"}
			}
			j.Steps = append(j.Steps, st)
		}
		return j
	}
	ended := func(j v1.AccountingJob) v1.AccountingJob {
		j.Time.End, j.Time.Elapsed = began+1, 1
		return j
	}
	task := func(j v1.AccountingJob, index int64) v1.AccountingJob {
		j.Array.JobID, j.Array.TaskID = 6, wire.Num(index)
		return steps(j, "batch")
	}
	cancelled := one(7, "cancjob", "CANCELLED", 5, 0)
	by := uint32(7001)
	cancelled.CancelledBy, cancelled.Time.Start, cancelled.Time.End, cancelled.Nodes, cancelled.AllocationNodes = &by, 0, began, "None assigned", 0
	cancelled.TRES.Allocated = nil
	rest := one(6, "arrjob", "PENDING", 15, 0)
	rest.Array.JobID, rest.Array.Task, rest.Nodes, rest.AllocationNodes, rest.TRES.Allocated, rest.Time.Start = 6, "2-5%2", "None assigned", 0, nil, 0
	return []v1.AccountingJob{
		steps(one(1, "runjob", "RUNNING", 30, 0), "batch", "0"), steps(ended(one(4, "donejob", "COMPLETED", 5, 0)), "batch", "0"),
		steps(ended(one(5, "failjob", "FAILED", 5, 3)), "batch"), cancelled, task(one(11, "arrjob", "RUNNING", 15, 0), 0), task(one(12, "arrjob", "RUNNING", 15, 0), 1), rest,
	}
}

type golden struct {
	Cmd    string `json:"cmd"`
	RC     any    `json:"rc"`
	Stdout string `json:"stdout"`
	Stderr string `json:"stderr"`
}

var clocks = regexp.MustCompile(`20\d\d-\d\d-\d\dT[0-9:]+|\d\d:\d\d:\d\d|\d\d:\d\d\.\d\d\d`)

// TestGolden compares with what a real sacct 24.11 printed for the same jobs, times masked.
func TestGolden(t *testing.T) {
	dir := os.Getenv("FSUB_ORACLE")
	if dir == "" {
		t.Skip("FSUB_ORACLE is not set: no recorded runs of a real sacct to compare with")
	}
	b, err := os.ReadFile(filepath.Join(dir, "cli_golden", "golden_24.11.jsonl"))
	if err != nil {
		t.Skip(err)
	}
	cmds := []string{
		`sacct -o JobID,State,NodeList --parsable2 -j 1 -j 4 -j 6`, `sacct -o JobID,State,NodeList --parsable2 -j 6_0 -j 999999`,
		`sacct -j 4 -n -X -o nodelist%-256`, `sacct -j 4.0 --format=Reason --noheader`, `sacct -P -b -j 4 -n`, `sacct -j 4 --format State --noheader`,
		`sacct -j 7 --format State --noheader`, `sacct -X --noheader --format=jobid,state%20 --job '1,4,5'`, `sacct --parsable2 -j 1`, `sacct --parsable2 -j 999999`,
		`sacct --helpformat`, `sacct -e`, `sacct --format=JobID,State,Elapsed --parsable --jobs=4`, `sacct --format=JobID,State --parsable2 --noheader --jobs=6`,
		`sacct -n -X -j 4 -o JobID,State,ExitCode`, `sacct -j 4 --format=State --noheader --parsable2`, `sacct -n -o state%-32 -j 4`, `sacct -j 4 -o State -n -X -P`,
		`sacct -j 4.batch -o ExitCode -P -n`, `sacct -n -X --jobs 1,4 -o jobid,State`, `sacct --jobs=4 --batch-script`, `sacct --jobs 4 --allocations --noheader --format=Node,State`,
		`sacct -a -X --format=Allocgres --state=RUNNING --noheader --parsable2`, `sacct -j 1`, `sacct -j 4 --format=JobID,JobName%30,MaxRSS,Elapsed`,
		`sacct -j 4 --format=NoSuch`, `sacct -j 4 bogus`, `sacct -j abc`, `sacct -j 1 -o timelimit -P -n`, `sacct -j 1 -o ReqMem --units=G`, `sacct -j 6_1,6_5`,
		`sacct -s BOGUS`, `sacct --bogus`, `sacct -o JobId,Start,End -j 4 -n`, `sacct -n -j 4,5 --format JobIDRaw,State,ExitCode -P -S 2020-01-01T00:00 -E 2020-02-01T00:00`,
	}
	compared := map[string]bool{}
	for line := range bytes.Lines(b) {
		var g golden
		if err := json.Unmarshal(line, &g); err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(cmds, g.Cmd) || compared[g.Cmd] {
			continue
		}
		compared[g.Cmd] = true
		out, err := exec.Command("bash", "-c", "printf '%s\\0' "+g.Cmd).Output()
		if err != nil {
			t.Fatal(err)
		}
		var stdout, stderr bytes.Buffer
		args := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")[1:]
		rc := run(args, nil, &stdout, &stderr, &fakeDaemon{}, time.Unix(began+100, 0))
		if float64(rc) != g.RC || strings.TrimSpace(stderr.String()) != strings.TrimSpace(g.Stderr) {
			t.Errorf("%s: exit %d, want %v; stderr %q, want %q", g.Cmd, rc, g.RC, &stderr, g.Stderr)
		}
		mask := func(s string) string { return strings.TrimRight(clocks.ReplaceAllString(s, "#"), "\n") }
		if got, want := mask(stdout.String()), mask(g.Stdout); got != want {
			t.Errorf("%s\n got:\n%s\nwant:\n%s", g.Cmd, got, want)
		}
	}
	for _, cmd := range cmds {
		if !compared[cmd] {
			t.Errorf("no recorded run of %s", cmd)
		}
	}
}

func TestValues(t *testing.T) {
	for _, test := range []struct{ args, want string }{
		{"-j 7 -o state%20,nnodes,alloccpus,start,nodelist,exitcode -P", "CANCELLED by 7001|1|0|None|None assigned|0:0"},
		{"-j 7 -o state", "CANCELLED+ "},
		{"-j 4 -X -P -o reqtres,alloctres,timelimitraw,uid,gid,cputimeraw", "billing=1,cpu=1,mem=100M,node=1|billing=1,cpu=1,mem=100M,node=1|5|7001|7001|1"},
		{"-j 4 -X -P --units G -o reqtres", "billing=1,cpu=1,mem=0.10G,node=1"},
		{"-j 5 -X -p --delimiter=, -o jobid,exitcode", "5,3:0,"},
		{"-j 6 -X -P -o jobid,jobidraw,start,elapsed,reqmem", "6_0|11|S|00:00:00|100M 6_1|12|S|00:00:00|100M 6_[2-5%2]|6|Unknown|00:00:00|100M"},
		{"-j 1.batch -X -P -o jobid", "1"},
		{"-j 1.0 -P -o jobid,jobname,user", "1.0|true|"},
	} {
		var stdout, stderr bytes.Buffer
		rc := run(strings.Fields("-n "+test.args), nil, &stdout, &stderr, &fakeDaemon{}, time.Unix(began+100, 0))
		got := strings.TrimRight(strings.ReplaceAll(stdout.String(), time.Unix(began, 0).Format("2006-01-02T15:04:05"), "S"), "\n")
		if got = strings.ReplaceAll(got, "\n", " "); rc != 0 || got != test.want {
			t.Errorf("%s: exit %d %s\n got %q\nwant %q", test.args, rc, &stderr, got, test.want)
		}
	}
}

// TestWindow: which times, states and users the daemon is asked for.
func TestWindow(t *testing.T) {
	now := time.Date(2026, 11, 20, 17, 33, 9, 0, time.UTC)
	unix := func(s string) string {
		at, err := time.ParseInLocation("2006-01-02 15:04:05", s, time.UTC)
		if err != nil {
			t.Fatal(err)
		}
		return strconv.FormatInt(at.Unix(), 10)
	}
	for _, test := range []struct{ args, want string }{
		{"-a", "?start_time=" + unix("2026-11-20 00:00:00") + "&end_time=" + unix("2026-11-20 17:33:09")},
		{"-j 4", "?job_id=4"},
		{"-j 4 -S 2026-11-01", "?job_id=4&start_time=" + unix("2026-11-01 00:00:00") + "&end_time=" + unix("2026-11-20 17:33:09")},
		{"-a -s CD", "?state=COMPLETED&start_time=" + unix("2026-11-20 17:33:09") + "&end_time=" + unix("2026-11-20 17:33:09")},
		{"-a -s cd,F -S now-1hour", "?state=COMPLETED,FAILED&start_time=" + unix("2026-11-20 16:33:09") + "&end_time=" + unix("2026-11-20 17:33:09")},
		{"-u alice -S 01/01 -E now-2days", "?users=alice&start_time=" + unix("2026-01-01 00:00:00") + "&end_time=" + unix("2026-11-18 17:33:09")},
		{"-a -S1970-01-01-00:00:01", "?start_time=1&end_time=" + unix("2026-11-20 17:33:09")},
		{"-a -S 08:30 --name a,b", "?job_name=a,b&start_time=" + unix("2026-11-20 08:30:00") + "&end_time=" + unix("2026-11-20 17:33:09")},
	} {
		d := &fakeDaemon{}
		var stdout, stderr bytes.Buffer
		rc := run(strings.Fields(test.args), nil, &stdout, &stderr, d, now)
		if rc != 0 || len(d.paths) != 1 || d.paths[0] != "/fed/v1/accounting"+test.want {
			t.Errorf("%s: exit %d %s\n got %q\nwant %q", test.args, rc, &stderr, d.paths, test.want)
		}
	}
}

func TestOutage(t *testing.T) {
	var stdout, stderr bytes.Buffer
	rc := run([]string{"-X"}, nil, &stdout, &stderr, &fakeDaemon{err: conn.ErrConnect}, time.Now())
	if rc != 1 || stdout.Len() != 0 || stderr.String() != "sacct: error: Unable to contact slurm controller (connect failure)\n" {
		t.Errorf("exit %d, %q, %q", rc, &stdout, &stderr)
	}
}
