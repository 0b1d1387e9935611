package scontrol

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"fsub/cmd/internal/conn"
	"fsub/federation"
	"fsub/federation/api"
	"fsub/sbatch"
	"fsub/testbed/apitest"
)

// TestSuspend: what scontrol 24.11 prints of jobs and arrays, some of whose tasks cannot be suspended, resumed, held, changed or requeued, and how a suspended job is shown. The tests' user is an administrator of the daemon's.
func TestSuspend(t *testing.T) {
	d := apitest.Start(t, api.Config{Suspends: map[federation.SiteName]bool{"sky": true}})
	start := time.Now().Add(-time.Hour).Truncate(time.Second)
	job := func(id federation.JobID, state federation.State) federation.Job {
		j := federation.Job{ID: id, User: "alice", UID: 7001, State: state, Submit: start, Spec: &sbatch.Spec{Name: "j", WorkDir: "/", TimeLimit: 2 * time.Hour}}
		if state != federation.Pending {
			j.Site, j.Nodes, j.Start, j.Partition = "sky", "n1", start, "main"
		}
		if state.Ended() {
			j.End = time.Now()
		}
		return j
	}
	suspended := job(4, federation.Suspended)
	suspended.SetSuspension(federation.Suspension{At: start.Add(10 * time.Minute), Ran: 10 * time.Minute})
	array := job(20, federation.Running)
	array.Site, array.Nodes, array.Spec.Array, array.Whole = "", "", "2", &federation.ArrayWhole{Count: 3, Max: 2, Step: 1, Spread: true}
	jobs := []federation.Job{job(1, federation.Running), job(2, federation.Pending), job(3, federation.Completed), suspended, array}
	waiting := job(21, federation.Pending)
	waiting.Site, waiting.Nodes, waiting.Spec.Array, waiting.Whole = "", "", "3-5,9", &federation.ArrayWhole{Count: 4, Min: 3, Max: 9, Step: 1, Spread: true}
	jobs = append(jobs, waiting)
	for i := range 2 {
		p := job(federation.JobID(30+i), federation.Running)
		p.Part = &federation.ArrayPart{Array: 20, Index: i, Count: 3, Max: 2, Step: 1}
		jobs = append(jobs, p)
	}
	d.Put(t, jobs...)
	c := conn.New(d.Socket, 0)
	defer c.Close()
	scontrol := func(args string) (string, int) {
		var out bytes.Buffer
		exit := Main(strings.Fields(args), os.Environ(), &out, &out, c)
		return out.String(), exit
	}
	for _, test := range []struct {
		args, want string
		exit       int
	}{
		{"suspend 1", "", 0},
		{"suspend 4", "", 0},
		{"resume 4", "", 0},
		{"resume 1", "Job is not suspended for job 1\n", 1},
		{"suspend 2 3", "Job is pending execution for job 2\nJob/step already completing or completed for job 3\n", 1},
		{"suspend 99", "Unexpected message received for job 99\n", 1},
		{"suspend foo", "Invalid job id specified for job foo\n", 1},
		{"hold 20_[0,9]", "20_0: No error\n20_9: Invalid job id specified\n", 1},
		{"hold 20_9", "20_9: Invalid job id specified\n", 1},
		{"hold 99_9", "Invalid job id specified for job 99_9\n", 1},
		{"hold 20_[0-2]", "", 0},
		{"update jobid=20_[0,9] comment=x", "20_9: Invalid job id specified\n", 1},
		{"update jobid=20_[0-2] comment=x", "", 0},
		{"update jobid=20_[0,2] nodelist=n7", "20_0: Job is no longer pending execution\n", 1},
		{"update jobid=30 nodelist=n7", "Job is no longer pending execution for job 30\n", 1},
		{"update jobid=20_0 timelimit=soon", "scontrol: error: Invalid TimeLimit value\n", 1},
		{"top 20_0", "20_0: Job is no longer pending execution\n", 1},
		{"top 20_2", "", 0},
		{"suspend 20", "20_0-1: No error\n20_2: Job is pending execution\n", 1},
		{"suspend 20_0,20_1", "", 0},
		{"suspend 20_[1-2]", "20_1: No error\n20_2: Job is pending execution\n", 1},
		{"suspend 20_9", "20_9: Invalid job id specified\n", 1},
		{"requeue 20_2", "20_2: Job is pending execution\n", 1},
		{"requeue 20_[0,2,9]", "20_0: No error\n20_2: Job is pending execution\n20_9: Invalid job id specified\n", 1},
		{"requeue 21_4", "21_3-5,9: Job is pending execution\n", 1},
		{"requeue 31", "", 0},
	} {
		if out, exit := scontrol(test.args); out != test.want || exit != test.exit {
			t.Errorf("scontrol %s: exit %d, it printed %q, not %q", test.args, exit, out, test.want)
		}
	}
	out, _ := scontrol("show job 4")
	for _, want := range []string{"JobState=SUSPENDED", "RunTime=00:10:00 ", "SecsPreSuspend=600 ", "Priority=0 ", "SuspendTime=" + start.Add(10*time.Minute).Format("2006-01-02T15:04:05"),
		"EndTime=" + start.Add(2*time.Hour).Format("2006-01-02T15:04:05")} {
		if !strings.Contains(out, want) {
			t.Errorf("scontrol show job: no %s in\n%s", want, out)
		}
	}
}
