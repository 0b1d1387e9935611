package golden

import (
	"time"

	"fsub/federation"
	"fsub/federation/reasons"
	"fsub/sbatch"
)

// jobs are the recorded jobs as they were at the first line, some 100 seconds after all of them had been submitted: 1 runs, 2 begins
// in two hours, 3 is held, 4 has ended well and 5 badly, 6 is an array of six of which two may run at once, 7 was cancelled,
// 8 has a GPU, 9 has two components.
func (w *world) jobs() (jobSet, []*federation.Task) {
	job := func(name string, limit time.Duration, output string) *federation.Job {
		return &federation.Job{User: "alice", UID: w.uid, GID: w.uid, Submit: w.began, SubmitHost: "chk-ctl", Account: "research", Partition: "main",
			State: federation.Pending, Reason: reasons.None, Priority: 1,
			Spec: &sbatch.Spec{Name: name, TimeLimit: limit, MemPerNode: 100, WorkDir: "/tmp/alice", Output: output}}
	}
	done := func(j *federation.Job, state federation.State, reason reasons.Reason, exit int32) *federation.Job {
		run(j, "chk1", w.began)
		j.State, j.Reason, j.ExitStatus, j.End = state, reason, exit<<8, w.began.Add(time.Second)
		return j
	}
	jobs := jobSet{
		1: run(job("runjob", 30*time.Minute, "%x-%j.out"), "chk1", w.began),
		2: job("pendjob", 5*time.Minute, "%j.out"),
		3: job("heldjob", 5*time.Minute, "%j.out"),
		4: done(job("donejob", 5*time.Minute, "%j.out"), federation.Completed, reasons.None, 0),
		5: done(job("failjob", 5*time.Minute, "%j.out"), federation.Failed, reasons.NonZeroExit, 3),
		6: run(job("arrjob", 15*time.Minute, "%A_%a.out"), "", w.began),
		7: job("cancjob", 5*time.Minute, "%j.out"),
		8: run(job("gpujob", 15*time.Minute, "%j.out"), "chk1", w.began),
		9: run(job("hetjob", 15*time.Minute, "%j.out"), "chk1", w.began),
	}
	jobs[1].Spec.SubmitLine = "sbatch --parsable r.sh"
	jobs[4].Spec.SubmitLine = "sbatch --parsable -J donejob --wrap srun true; echo hi -t 5 --mem=100M -o /tmp/alice/%j.out"
	jobs[1].Spec.Comment, jobs[1].Spec.Command = "my comment", "/tmp/alice/r.sh"
	jobs[2].Spec.Begin, jobs[2].Reason, jobs[2].Priority = w.began.Add(2*time.Hour), reasons.BeginTime, 33333
	jobs[3].Held, jobs[3].Reason, jobs[3].Spec.Hold = federation.HeldUser, reasons.HeldUser, true
	// At the recorded site the tasks that waited had priority 33333, as job 2, while those that had started stayed at 1.
	jobs[6].Spec.Array, jobs[6].Reason = "0-5%2", "JobArrayTaskLimit"
	jobs[7].State, jobs[7].Reason, jobs[7].Cancel, jobs[7].CancelBy, jobs[7].End = federation.Cancelled, reasons.Priority, true, w.uid, w.began
	jobs[8].Spec.GRES = "gpu:h100:1"
	second := *jobs[9]
	second.EditSpec(func(spec *sbatch.Spec) { spec.MemPerNode = 200 })
	second.Nodes, second.Component = "chk2", &federation.HetComponent{Leader: 9, Offset: 1}
	jobs[9].Spec.Het, jobs[10] = []sbatch.Spec{*second.Spec}, &second
	for id, j := range jobs {
		j.ID = id
	}
	return jobs, []*federation.Task{
		{Job: 6, Index: 0, SiteJobID: 11, State: federation.Running, Nodes: "chk1", Start: w.began},
		{Job: 6, Index: 1, SiteJobID: 12, State: federation.Running, Nodes: "chk1", Start: w.began},
	}
}

// run puts a job on nodes of the site.
func run(j *federation.Job, nodes string, start time.Time) *federation.Job {
	j.State, j.Site, j.Attempt, j.Nodes, j.Start = federation.Running, "chk", 1, nodes, start
	return j
}

// chk is the recorded site.
func chk() *federation.Site {
	node := func(name, state string, cpus int, mem sbatch.MemMiB, gpus int) federation.Node {
		info := &federation.NodeInfo{Address: "127.0.0.1", Port: 27210, CPULoad: 594, FreeMem: 5367, Weight: 1, GRESUsed: "gpu:h100:0(IDX:N/A)"}
		if gpus > 0 {
			info.CPULoad, info.FreeMem, info.GRESUsed = 531, 9834, "gpu:h100:1(IDX:0)"
		}
		return federation.Node{Info: info, Name: name, State: []string{state}, CPUs: 16, CPUsUsed: cpus, Mem: 64000, MemUsed: mem, Partitions: []string{"main", "short"},
			Sockets: 16, Cores: 1, Threads: 1, Features: []string{"h100", "ib"}, GRES: []federation.GRES{{Name: "gpu", Type: "h100", Total: 4, Used: gpus}}}
	}
	names := []string{"chk1", "chk2", "chk3", "chk4"}
	return &federation.Site{Name: "chk", State: federation.FedActive, Answering: true, Seen: &federation.Observation{
		At: time.Now(), Cluster: "chk", Version: "24.11.5", Mode: federation.Pinned,
		Nodes:        []federation.Node{node("chk1", "MIXED", 5, 500, 1), node("chk2", "MIXED", 1, 200, 0), node("chk3", "IDLE", 0, 0, 0), node("chk4", "IDLE", 0, 0, 0)},
		Accounts:     []federation.Account{{Name: "root", ID: 1, QOS: []string{"normal"}}, {Name: "research", Parent: "root", ID: 2, QOS: []string{"normal"}}},
		Associations: federation.Associations{"alice": {{Account: "research", Default: true, QOS: []string{"normal"}, ID: 4, Shares: 1}}},
		Partitions: []federation.Partition{
			{Name: "main", Default: true, Up: true, State: "UP", MaxTime: sbatch.Unlimited, DefaultTime: 10 * time.Minute, Nodes: names, PriorityTier: 1},
			{Name: "short", Up: true, State: "UP", MaxTime: time.Hour, Nodes: names, PriorityTier: 10},
		},
	}}
}
