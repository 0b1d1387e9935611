package sacct

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

type live string

func (l live) Do(string, string, []byte) (int, []byte, error) { return 200, []byte(l), nil }

const running = `{"jobs":[{"job_id":17,"cluster":"local","state":{"current":["RUNNING"]},"steps":[
	{"step":{"id":"17.batch"},"state":["RUNNING"],"tasks":{"count":1},"tres":{"requested":{"total":[{"type":"mem","count":1048576}],"max":[{"type":"mem","count":1048576,"node":"n1"}]}}},
	{"step":{"id":"17.0"},"state":["COMPLETED"],"tasks":{"count":1},"tres":{"requested":{"total":[{"type":"mem","count":4}]}}},
	{"step":{"id":"17.1"},"state":["RUNNING"],"tasks":{"count":4},"tres":{"requested":{"total":[{"type":"mem","count":8388608}],"max":[{"type":"mem","count":2097152,"node":"n2"}]}}},
	{"step":{"id":"17.2"},"state":["RUNNING"],"tasks":{"count":1},"tres":{"requested":{"total":[{"type":"mem","count":1024}],"max":[{"type":"mem","count":1024,"node":"n1"}]}}}]}]}`

// TestStat: which steps are shown, in the columns of sstat 24.11.
func TestStat(t *testing.T) {
	const head = "JobID            MaxRSS MaxRSSNode   NTasks \n------------ ---------- ---------- -------- \n"
	for args, want := range map[string]string{
		"-j 17 -o jobid,maxrss,maxrssnode,ntasks": head + "17.1                 2M         n2        4 \n",
		"-anPj 17 -o jobid,maxrss":                "17.batch|1M\n17.1|2M\n17.2|1K\n",
		"-nP 17.2 -o JobID,MaxRSS":                "17.2|1K\n",
		"-nPj 17.batch -o jobid,aved%4,ntasks":    "17.batch||1\n",
	} {
		var stdout, stderr bytes.Buffer
		if rc := stat(strings.Fields(args), nil, &stdout, &stderr, live(running), time.Now()); rc != 0 || stdout.String() != want || stderr.Len() > 0 {
			t.Errorf("sstat %s: exit %d, %s\n%s, want\n%s", args, rc, &stderr, &stdout, want)
		}
	}
	const slurm = `{"jobs":[{"job_id":17,"cluster":"alpha","state":{"current":["RUNNING"]},"steps":[{"step":{"id":"17.batch"},"state":["RUNNING"]}]}]}`
	for _, c := range []struct {
		args, answer, want string
		rc                 int
	}{
		{"", "", "sstat: error: You didn't give me any jobs to stat.\n", 1},
		{"-j abc", "", "sstat: fatal: Bad job/step specified: abc\n", 1},
		{"-j 99", `{"jobs":[]}`, "sstat: error: couldn't get steps for job 99\n", 0},
		{"-j 17 -o nosuch", running, "sstat: error: Invalid field requested: \"nosuch\"\n", 1},
		{"-j 17", slurm, "sstat: error: couldn't get steps for job 17: alpha does not report what running steps use; within the job call its own sstat, after the job: sacct -j 17\n", 0},
	} {
		var stdout, stderr bytes.Buffer
		if rc := stat(strings.Fields(c.args), nil, &stdout, &stderr, live(c.answer), time.Now()); rc != c.rc || stderr.String() != c.want {
			t.Errorf("sstat %s: exit %d, %s, want %s", c.args, rc, &stderr, c.want)
		}
	}
}
