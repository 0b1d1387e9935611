package scontrol

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"fsub/cmd/internal/conn"
	"fsub/federation"
	"fsub/federation/api"
	"fsub/federation/driver"
	"fsub/federation/usage"
	"fsub/sbatch"
	"fsub/testbed/apitest"
)

// rented tells of two steps of job 1, one of which has a time limit.
type rented struct{ start time.Time }

func (r rented) Steps([]federation.JobID, bool) []driver.LiveStep {
	first := usage.Step{ID: "0", Name: "first", State: federation.Running, Nodes: "n[1-2]", NumNodes: 2, NumTasks: 2, Start: r.start, Layout: "Cyclic",
		Allocated: []usage.Amount{{Type: "cpu", Count: 2}, {Type: "mem", Count: 200}, {Type: "node", Count: 2}, {Type: "gres", Name: "gpu", Count: 2}, {Type: "gres", Name: "gpu:h100", Count: 2}}}
	second := usage.Step{ID: "1", Name: "sleep", State: federation.Running, Nodes: "n1", NumNodes: 1, NumTasks: 1, Start: r.start, Layout: "Block",
		Allocated: []usage.Amount{{Type: "cpu", Count: 2}, {Type: "mem", Count: 400}, {Type: "node", Count: 1}}}
	return []driver.LiveStep{{Job: 1, Step: first, Limit: 3 * time.Minute, SrunHost: "n1", SrunPID: 8891}, {Job: 1, Step: second, SrunHost: "n1", SrunPID: 8941}}
}

// TestShowStep: a step is shown as scontrol 24.11 shows it, but for what srun was asked for (TresPer...).
func TestShowStep(t *testing.T) {
	start := time.Date(2026, 11, 22, 3, 29, 51, 0, time.Local)
	d := apitest.Start(t, api.Config{Steps: rented{start}})
	d.Put(t, federation.Job{ID: 1, User: "alice", UID: 7001, State: federation.Running, Partition: "main", Site: "sky", Nodes: "n[1-2]", Submit: start, Start: start,
		Spec: &sbatch.Spec{Name: "stepjob", WorkDir: "/", TimeLimit: time.Hour}})
	const batch = "StepId=1.batch UserId=7001 StartTime=2026-11-22T03:29:51 TimeLimit=UNLIMITED\n   State=RUNNING Partition=main NodeList=n1\n" +
		"   Nodes=1 CPUs=0 Tasks=1 Name=batch Network=(null)\n   TRES=(null)\n   ResvPorts=(null)\n   CPUFreqReq=Default\n   SrunHost:Pid=(null):0\n\n"
	const zero = "StepId=1.0 UserId=7001 StartTime=2026-11-22T03:29:51 TimeLimit=00:03:00\n   State=RUNNING Partition=main NodeList=n[1-2]\n" +
		"   Nodes=2 CPUs=2 Tasks=2 Name=first Network=(null)\n   TRES=cpu=2,gres/gpu:h100=2,gres/gpu=2,mem=200M,node=2\n   ResvPorts=(null)\n" +
		"   CPUFreqReq=Default Dist=Cyclic\n   SrunHost:Pid=n1:8891\n\n"
	const one = "StepId=1.1 UserId=7001 StartTime=2026-11-22T03:29:51 TimeLimit=UNLIMITED\n   State=RUNNING Partition=main NodeList=n1\n" +
		"   Nodes=1 CPUs=2 Tasks=1 Name=sleep Network=(null)\n   TRES=cpu=2,mem=400M,node=1\n   ResvPorts=(null)\n   CPUFreqReq=Default Dist=Block\n   SrunHost:Pid=n1:8941\n\n"
	for args, want := range map[string]string{
		"show step 1":          batch + zero + one,
		"show steps 1.batch":   batch,
		"-o show step 1.1":     strings.ReplaceAll(strings.TrimSuffix(one, "\n"), "\n   ", " "),
		"show step 1.extern":   "Job step 1.extern not found\n",
		"show step 1.9":        "Job step 1.9 not found\n",
		"show step 999999.0":   "scontrol: error: scontrol_print_step: slurm_get_job_steps(999999.0) failed: Invalid job id specified\n",
		"show step foo":        "scontrol: error: scontrol_print_step: slurm_get_job_steps(foo) failed: JobID can not be zero\n",
		"-o show step 1.batch": strings.ReplaceAll(strings.TrimSuffix(batch, "\n"), "\n   ", " "),
	} {
		c := conn.New(d.Socket, 0)
		var out bytes.Buffer
		exit := Main(strings.Fields(args), nil, &out, &out, c)
		c.Close()
		if out.String() != want || (exit != 0) != !strings.Contains(want, "StepId=") {
			t.Errorf("%s: exit %d\n%s\nwant\n%s", args, exit, &out, want)
		}
	}
}
