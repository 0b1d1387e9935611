package seff

import (
	"bytes"
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
