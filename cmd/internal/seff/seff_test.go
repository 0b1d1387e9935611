package seff

import (
	"bytes"
	"strings"
	"testing"
)

type daemon string

func (d daemon) Do(string, string, []byte) (int, []byte, error) { return 200, []byte(d), nil }

// TestText: lines are those of the seff of Slurm 24.11, for each kind of job.
func TestText(t *testing.T) {
	const head = `{"jobs":[{"job_id":100004,"cluster":"alpha","user":"alice","group":"users",`
	for name, c := range map[string]struct{ job, want string }{
		"of several nodes": {head + `"state":{"current":["COMPLETED"]},"exit_code":{"return_code":{"set":true,"number":0}},"time":{"elapsed":62,"total":{"seconds":119,"microseconds":600000}},
			"tres":{"allocated":[{"type":"cpu","count":8},{"type":"mem","count":8192},{"type":"node","count":2}]},
			"steps":[{"tres":{"requested":{"total":[{"type":"mem","count":3221225472}],"average":[{"type":"mem","count":1610612736}],"max":[{"type":"mem","count":2147483648}]}}}]}]}`,
			`Job ID: 100004
Cluster: alpha
User/Group: alice/users
State: COMPLETED (exit code 0)
Nodes: 2
Cores per node: 4
CPU Utilized: 00:02:00
CPU Efficiency: 24.19% of 00:08:16 core-walltime
Job Wall-clock time: 00:01:02
Memory Utilized: 3.00 GB
Memory Efficiency: 37.50% of 8.00 GB (4.00 GB/node)
The task which had the largest memory consumption differs by 133.33% from the average task max memory consumption
`},
		"task of an array, memory for each CPU": {head + `"array":{"job_id":100001,"task_id":{"set":true,"number":3}},"state":{"current":["FAILED"]},"exit_code":{"return_code":{"set":true,"number":3}},
			"time":{"elapsed":10},"required":{"memory_per_cpu":{"set":true,"number":100}},"tres":{"allocated":[{"type":"cpu","count":1},{"type":"mem","count":100},{"type":"node","count":1}]}}]}`,
			`Job ID: 100004
Array Job ID: 100001_3
Cluster: alpha
User/Group: alice/users
State: FAILED (exit code 3)
Cores: 1
CPU Utilized: 00:00:00
CPU Efficiency: 0.00% of 00:00:10 core-walltime
Job Wall-clock time: 00:00:10
Memory Utilized: 0.00 MB
Memory Efficiency: 0.00% of 100.00 MB (100.00 MB/core)
`},
		"that runs": {head + `"state":{"current":["RUNNING"]},"time":{"elapsed":30,"total":{"seconds":15}},"tres":{"allocated":[{"type":"cpu","count":2},{"type":"mem","count":200},{"type":"node","count":1}]}}]}`,
			`Job ID: 100004
Cluster: alpha
User/Group: alice/users
State: RUNNING
Nodes: 1
Cores per node: 2
CPU Utilized: 00:00:15
CPU Efficiency: 25.00% of 00:01:00 core-walltime
Job Wall-clock time: 00:00:30
Memory Utilized: 0.00 MB
Memory Efficiency: 0.00% of 200.00 MB (200.00 MB/node)
WARNING: Efficiency statistics can only be obtained after the job has ended as seff tool is based on the accounting database data.
`},
		"that waits": {head + `"state":{"current":["PENDING"]}}]}`, `Job ID: 100004
Cluster: alpha
User/Group: alice/users
State: PENDING
Cores: 1
Efficiency not available for jobs in the PENDING state.
`},
	} {
		var stdout, stderr bytes.Buffer
		if rc := run([]string{"100004"}, nil, &stdout, &stderr, daemon(c.job)); rc != 0 || stdout.String() != c.want {
			t.Errorf("job %s: exit %d, %s\n%s, want\n%s", name, rc, &stderr, &stdout, c.want)
		}
	}
	var stdout, stderr bytes.Buffer
	if rc := run([]string{"7"}, nil, &stdout, &stderr, daemon(`{"jobs":[]}`)); rc != 2 || stderr.String() != "Job not found.\n" {
		t.Errorf("unknown job: exit %d, %q", rc, &stderr)
	}
}

// TestCalls: what is asked of the daemon, and what of the words on the command line is no job.
func TestCalls(t *testing.T) {
	const job = `{"jobs":[{"job_id":7,"cluster":"alpha","user":"alice","group":"users","state":{"current":["PENDING"]}}]}`
	for _, c := range []struct {
		args, path     string
		code           int
		stdout, stderr string
	}{
		{"7", "/fed/v1/accounting?job_id=7", 0, "Job ID: 7\n", ""},
		{"-d 100001_3", "/fed/v1/accounting?job_id=100001_3", 0, "Job ID: 7\n", ""},
		{"-M alpha 7", "/fed/v1/accounting?job_id=7", 0, "Job ID: 7\n", ""},
		{"-M beta 7", "/fed/v1/accounting?job_id=7", 2, "", "Job not found.\n"},
		{"", "", 1, "Usage: seff [Options] <Jobid>\n", ""},
		{"-h", "", 0, "Usage: seff [Options] <Jobid>\n", ""},
		{"-v", "", 0, "seff Version 2.1\n", ""},
		{"--bogus", "", 1, "", "seff: unrecognized option '--bogus'\n"},
	} {
		var stdout, stderr bytes.Buffer
		asked := ""
		code := run(strings.Fields(c.args), nil, &stdout, &stderr, caller(func(path string) string { asked = path; return job }))
		if code != c.code || asked != c.path || !strings.HasPrefix(stdout.String(), c.stdout) || c.stdout == "" && stdout.Len() > 0 || !strings.HasPrefix(stderr.String(), c.stderr) || c.stderr == "" && stderr.Len() > 0 {
			t.Errorf("seff %s: exit %d, asks %q, prints %q and %q; want %+v", c.args, code, asked, &stdout, &stderr, c)
		}
	}
}

// caller answers by the path.
type caller func(path string) string

func (c caller) Do(_, path string, _ []byte) (int, []byte, error) { return 200, []byte(c(path)), nil }
