package squeue

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
	"fsub/slurm/wire"
)

// fakeDaemon answers every request for jobs with the same ones, as far as it selects at all.
type fakeDaemon struct {
	jobs  []wire.Job
	paths []string
	err   error
}

func (d *fakeDaemon) Do(_, path string, _ []byte) (int, []byte, error) {
	d.paths = append(d.paths, path)
	if d.err != nil {
		return 0, nil, d.err
	}
	resp := wire.JobsResponse{Jobs: d.jobs}
	resp.Meta.Slurm.Cluster = "chk"
	if id, ok := strings.CutPrefix(path, "/slurm/v0.0.43/job/"); ok {
		resp.Jobs = nil
		id, _, _ = strings.Cut(id, "_")
		for _, j := range d.jobs {
			if (&row{&j, -1}).master() == atoi(id) {
				resp.Jobs = append(resp.Jobs, j)
			}
		}
		if len(resp.Jobs) == 0 {
			resp.Errors = append(resp.Errors, wire.Error{Number: wire.ErrJobID, Text: wire.Strerror(wire.ErrJobID)})
			b, err := json.Marshal(resp)
			return 404, b, err
		}
	}
	if _, query, ok := strings.Cut(path, "?"); ok {
		resp.Jobs = filter(d.jobs, query)
		for _, f := range strings.Split(query, "&") {
			if f == "users=nosuchuser" {
				resp.Warnings = append(resp.Warnings, wire.Warning{Description: "Invalid user: nosuchuser"})
			}
		}
	}
	b, err := json.Marshal(resp)
	return 200, b, err
}

func atoi(s string) int64 {
	var n int64
	json.Unmarshal([]byte(s), &n)
	return n
}

// filter is the daemon's own selection, for the lists that the tests use.
func filter(jobs []wire.Job, query string) []wire.Job {
	var out []wire.Job
	for _, j := range jobs {
		keep := true
		for _, f := range strings.Split(query, "&") {
			name, list, _ := strings.Cut(f, "=")
			any := false
			for _, v := range strings.Split(list, ",") {
				id, _, _ := strings.Cut(v, "_")
				any = any || map[string]bool{
					"job_id": (&row{&j, -1}).master() == atoi(id), "users": v == j.UserName || v == strconv.Itoa(int(j.UserID)), "name": v == j.Name,
					"partition": v == j.Partition, "account": v == j.Account, "qos": v == j.QOS, "sparse": true, "states": true,
				}[name]
			}
			keep = keep && any
		}
		if keep {
			out = append(out, j)
		}
	}
	return out
}

const began = 1795195874 // when the jobs of the golden runs were submitted

// goldenJobs are the jobs that the golden runs of a real squeue saw.
func goldenJobs() []wire.Job {
	one := func(id int64, name, state, reason string, prio, limit, start, end int64) wire.Job {
		j := wire.Job{JobID: id, Name: name, State: wire.Strings{state}, StateReason: reason, Account: "research", Partition: "main", UserName: "alice",
			UserID: wire.Int(os.Getuid()), GroupName: "alice", QOS: "normal", Priority: wire.Num(prio), TimeLimit: wire.Num(limit),
			SubmitTime: wire.Num(began), StartTime: wire.Num(start), EndTime: wire.Num(end), NodeCount: wire.Num(1), CPUs: wire.Num(1), Tasks: wire.Num(1),
			MinCPUsPerNode: wire.Num(1), MemoryPerNode: wire.Num(100), TRESReq: "cpu=1,mem=100M,node=1,billing=1", WorkDir: "/tmp/alice"}
		if start != 0 && state != "PENDING" {
			j.Nodes, j.BatchHost, j.TRESAlloc = "chk1", "chk1", j.TRESReq
		}
		return j
	}
	run := func(id int64, name string, limit int64) wire.Job {
		return one(id, name, "RUNNING", "None", 1, limit, began, began+60*limit)
	}
	task := func(j wire.Job, index int64) wire.Job {
		j.ArrayJobID, j.ArrayTaskID, j.ArrayMaxTasks = wire.Num(6), wire.Num(index), wire.Num(2)
		return j
	}
	het := func(j wire.Job, offset int64) wire.Job {
		j.HetJobID, j.HetJobOffset = wire.Num(9), wire.Num(offset)
		return j
	}
	rest := one(6, "arrjob", "PENDING", "JobArrayTaskLimit", 33333, 15, 0, 0)
	rest.ArrayJobID, rest.ArrayTaskString, rest.ArrayMaxTasks = wire.Num(6), "2-5%2", wire.Num(2)
	gpu := run(8, "gpujob", 15)
	gpu.TRESPerNode = "gres/gpu:h100:1"
	gpu.TRESAlloc += ",gres/gpu=1,gres/gpu:h100=1"
	second := het(run(10, "hetjob", 15), 1)
	second.Nodes, second.BatchHost, second.MemoryPerNode = "chk2", "chk2", wire.Num(200)
	cancelled := one(7, "cancjob", "CANCELLED", "Priority", 1, 5, 0, began)
	return []wire.Job{
		run(1, "runjob", 30), one(2, "pendjob", "PENDING", "BeginTime", 1, 5, began+7200, began+7500), one(3, "heldjob", "PENDING", "JobHeldUser", 0, 5, 0, 0),
		one(4, "donejob", "COMPLETED", "None", 1, 5, began, began+1), one(5, "failjob", "FAILED", "NonZeroExitCode", 1, 5, began, began+1),
		rest, task(run(11, "arrjob", 15), 0), task(run(12, "arrjob", 15), 1), cancelled, gpu, het(run(9, "hetjob", 15), 0), second,
	}
}

// drop removes jobs that a later golden run no longer saw.
func drop(jobs []wire.Job, ids ...int64) []wire.Job {
	var out []wire.Job
next:
	for _, j := range jobs {
		for _, id := range ids {
			if j.JobID == id {
				continue next
			}
		}
		out = append(out, j)
	}
	return out
}

type golden struct {
	Cmd    string `json:"cmd"`
	RC     any    `json:"rc"`
	Stdout string `json:"stdout"`
	Stderr string `json:"stderr"`
}

// goldenLines reads what a real squeue 24.11 answered.
func goldenLines(t *testing.T) map[string]golden {
	dir := os.Getenv("FSUB_ORACLE")
	if dir == "" {
		t.Skip("FSUB_ORACLE is not set: no recorded runs of a real squeue to compare with")
	}
	b, err := os.ReadFile(filepath.Join(dir, "cli_golden", "golden_24.11.jsonl"))
	if err != nil {
		t.Skip(err)
	}
	out := map[string]golden{}
	for line := range bytes.Lines(b) {
		var g golden
		if err := json.Unmarshal(line, &g); err != nil {
			t.Fatal(err)
		}
		if _, dup := out[g.Cmd]; !dup {
			out[g.Cmd] = g
		}
	}
	return out
}

// words splits a command line as the shell does.
func words(t *testing.T, line string) []string {
	t.Helper()
	out, err := exec.Command("bash", "-c", "printf '%s\\0' "+line).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
}

var clock = regexp.MustCompile(`20\d\d-\d\d-\d\dT[0-9:]+|(\d+:)?\d+:\d\d`)

// comparable masks times and puts the rows in order: those of equal rank come in none that a client could rely on.
func comparable(s string) string {
	lines := strings.Split(strings.TrimRight(clock.ReplaceAllString(s, "#"), "\n"), "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func TestGolden(t *testing.T) {
	lines := goldenLines(t)
	compared := 0
	all := goldenJobs()
	late := drop(all, 2, 3) // one cancelled, one released later in the recorded session
	for _, set := range []struct {
		jobs []wire.Job
		cmds []string
	}{
		{all, []string{
			`squeue --format=%i\|%T --states=all --noheader --name runjob`,
			`squeue --format=%i\|%T --states=all --noheader --name arrjob`,
			`squeue --format=%i\|%T --states=all --noheader --name nosuch`,
			`squeue --noheader -o '%i %t' -t all -p nosuch -u alice`,
			`squeue --noheader --format='%i %t' --job '1,4'`,
			`squeue --noheader --format='%i %t' --job '1'`,
			`squeue --noheader --format='%i %t' --job '999999'`,
			`squeue -j 1`, `squeue -j 4`, `squeue -j 999999`,
			`env SLURM_TIME_FORMAT=standard squeue --noheader -o '%i^^^%t^^^%r^^^%B^^^%u^^^%D^^^%C^^^%R^^^%P^^^%l^^^%M^^^%S^^^%j^^^%V' --jobs=1,1`,
			`squeue -h -j 1,999999 -o "%A|%r"`,
			`squeue -h -o %T -j 1`, `squeue -u alice -j 1`,
		}},
		{drop(all, 2), []string{`squeue '-o "%u"' -u alice -h -p main`, `squeue -o '"%u"' -u alice -h`}},
		{late, []string{
			`squeue`, `squeue -l`, `squeue -n runjob`, `squeue -hn runjob`,
			`squeue --me -o '"%i","%j","%t","%M","%L","%D","%C","%m","%b","%R"'`,
			`squeue -u alice -h --format=%2t%100j`, `squeue -h --format "%i %t %M"`, `squeue -h --only-job-state --jobs 1 -o "%T"`,
			`squeue -h -j 1 -o '%T %B'`, `squeue --format "%A|%u|%t|%.15j|%Z" --noheader`, `squeue -a -h -o "JobId=%i TimeUsed=%M Partition=%P JobState=%T ReqNodes=%D ReqCPUs=%C TimeLimit=%l Name=%j NodeList=%N"`,
			`squeue --all --noheader --format=%j\ %y\ %Q\ %T\ %r`, `squeue -h -o%F -n arrjob`, `squeue -h -o%P --states=PENDING`,
			`squeue -u alice -r --noheader '--format=%i|%t|%M|%l|%D|%C|%P|%j' -j999999`, `squeue -t X`, `squeue -u nosuchuser`, `squeue -p nosuch`,
			`squeue --start`, `squeue -o "%18i|%-10j|%.5D"`, `squeue -o "%zz %i"`, `squeue -O "JobID:8,Name:.10,State" -h`, `squeue --noheader --Format='JobID:|,ArrayJobID:|,State:|,WorkDir:'`,
			`squeue --bogus`, `squeue -j 1,4 --states=all --Format=jobarrayid,state --noheader --array`, `squeue -o %A,%.50j -n runjob`,
		}},
	} {
		for _, cmd := range set.cmds {
			g, ok := lines[cmd]
			if !ok {
				t.Errorf("no recorded run of %s", cmd)
				continue
			}
			compared++
			args := words(t, cmd)
			var env []string
			for args[0] != "squeue" {
				env, args = append(env, args[0]), args[1:]
			}
			var stdout, stderr bytes.Buffer
			rc := run(args[1:], env, &stdout, &stderr, &fakeDaemon{jobs: set.jobs}, time.Unix(began+100, 0))
			if float64(rc) != g.RC {
				t.Errorf("%s: exit %d, want %v", cmd, rc, g.RC)
			}
			if got, want := strings.TrimSpace(stderr.String()), strings.TrimSpace(g.Stderr); got != want {
				t.Errorf("%s: stderr\n got %q\nwant %q", cmd, got, want)
			}
			if got, want := comparable(stdout.String()), comparable(g.Stdout); got != want && rc == 0 {
				t.Errorf("%s\n got:\n%s\nwant:\n%s", cmd, got, want)
			}
		}
	}
	t.Logf("%d recorded runs compared", compared)
}

func TestOrder(t *testing.T) {
	for _, test := range []struct{ args, want string }{
		{"-h -t all -o %i", "7 4 5 6_[2-5%2] 2 3 1 6_0 6_1 8 9+0 9+1"},
		{"-h -o %i --sort=-i -t R", "9+1 9+0 8 6_1 6_0 1"},
		{"-h -o %i -S -l,i -t R", "1 6_0 6_1 8 9+0 9+1"},
		{"-h -r -o %i -t PD", "6_2 6_3 6_4 6_5 2 3"},
		{"-h -o %i -j 6_[2-3]", "6_2 6_3 6_0 6_1"},
		{"-h -s -j 1 -o %i", "1.batch"},
	} {
		var stdout, stderr bytes.Buffer
		rc := run(strings.Fields(test.args), nil, &stdout, &stderr, &fakeDaemon{jobs: goldenJobs()}, time.Unix(began+100, 0))
		if got := strings.Join(strings.Fields(stdout.String()), " "); rc != 0 || got != test.want {
			t.Errorf("%s: exit %d %s\n got %s\nwant %s", test.args, rc, &stderr, got, test.want)
		}
	}
}

func TestOutageLooksLikeSlurms(t *testing.T) {
	for _, err := range []error{conn.ErrConnect, conn.ErrTimeout} {
		var stdout, stderr bytes.Buffer
		rc := run([]string{"--me"}, nil, &stdout, &stderr, &fakeDaemon{err: &conn.Error{Err: err, Detail: "long"}}, time.Now())
		if want := "slurm_load_jobs error: " + err.Error() + "\n"; rc != 1 || stdout.Len() != 0 || stderr.String() != want {
			t.Errorf("exit %d, stdout %q, stderr %q, want %q", rc, &stdout, &stderr, want)
		}
	}
}

func TestFilters(t *testing.T) {
	d := &fakeDaemon{jobs: goldenJobs()}
	var stdout, stderr bytes.Buffer
	run(strings.Fields("-h -o %i --partition main -A research,x -u alice -n runjob -j 1,2"), []string{"SQUEUE_QOS=normal", "SQUEUE_NAMES=other"}, &stdout, &stderr, d, time.Unix(began+100, 0))
	want := "/slurm/v0.0.43/jobs/?job_id=1,2&users=alice&name=runjob&partition=main&account=research,x&qos=normal&states=PENDING,RUNNING,CONFIGURING,COMPLETING,SUSPENDED&sparse=1"
	if len(d.paths) != 1 || d.paths[0] != want {
		t.Errorf("requests %q, want %q", d.paths, want)
	}
}

func TestLocalCallsNeedNoDaemon(t *testing.T) {
	for args, want := range map[string]string{"-V": "slurm 24.11.5\n", "--version": "slurm 24.11.5\n", "--usage": usage, "--help": help} {
		var stdout, stderr bytes.Buffer
		rc := run([]string{args}, nil, &stdout, &stderr, nil, time.Now())
		if rc != 0 || stdout.String() != want || stderr.Len() != 0 {
			t.Errorf("%s: exit %d, %q, %q", args, rc, &stdout, &stderr)
		}
	}
}
