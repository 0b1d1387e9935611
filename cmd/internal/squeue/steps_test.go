package squeue

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/api"
	"fsub/federation/driver"
	measured "fsub/federation/usage"
	"fsub/sbatch"
	"fsub/testbed/apitest"
)

// rented tells of the steps of job 1.
type rented struct{ start time.Time }

func (r rented) Steps([]federation.JobID, bool) []driver.LiveStep {
	step := func(id, name string, nodes, tasks, cpus int, list string) measured.Step {
		return measured.Step{ID: id, Name: name, State: federation.Running, Nodes: list, NumNodes: nodes, NumTasks: tasks, Start: r.start, Layout: "Cyclic",
			Allocated: []measured.Amount{{Type: "cpu", Count: int64(cpus)}}}
	}
	return []driver.LiveStep{{Job: 1, Step: step("0", "first", 2, 2, 2, "n[1-2]"), Limit: 3 * time.Minute, SrunHost: "n1", SrunPID: 77}, {Job: 1, Step: step("1", "sleep", 1, 1, 4, "n1")}}
}

// TestRentedSteps: the columns of steps that run, as squeue 24.11 has them.
func TestRentedSteps(t *testing.T) {
	began := time.Now().Add(-29 * time.Second).Truncate(time.Second)
	d := apitest.Start(t, api.Config{Federation: "fed", Users: people{}, Steps: rented{began}})
	d.Put(t, federation.Job{ID: 1, User: "alice", UID: 7001, State: federation.Running, Partition: "main", Site: "sky", Nodes: "n[1-2]", Submit: began, Start: began,
		Spec: &sbatch.Spec{Name: "stepjob", WorkDir: "/", TimeLimit: time.Hour}})
	at := began.Format("2006-01-02T15:04:05")
	for args, want := range map[string]string{
		"-s -o %i|%j|%P|%u|%N":  "STEPID|NAME|PARTITION|USER|NODELIST\n1.0|first|main|alice|n[1-2]\n1.1|sleep|main|alice|n1\n1.batch|batch|main|alice|n1\n",
		"-s -h -o %A|%i|%l|%S":  fmt.Sprintf("2|1.0|3:00|%s\n1|1.1|UNLIMITED|%s\n1|1.batch|UNLIMITED|%s\n", at, at, at),
		"-s -h -O NumCPUs:.4":   "   2\n   4\n   0\n",
		"-s -h -O CPUFreq":      "Unknown-Unknown:Unkn\nUnknown-Unknown:Unkn\n0-0:0               \n",
		"-s 1.1 -h -o %i":       "1.1\n",
		"-s 1.7 -h -o %i":       "",
		"-s -j 999999 -h -o %i": "",
		"-s -j 999999 -o %i":    "STEPID\n",
	} {
		if exit, stdout, stderr := call(t, d, nil, strings.Fields(args)...); exit != 0 || stdout != want || stderr != "" {
			t.Errorf("%s: exit %d\n%q\nwant\n%q\n%s", args, exit, stdout, want, stderr)
		}
	}
}
