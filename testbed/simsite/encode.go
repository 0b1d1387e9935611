package simsite

import (
	"strconv"
	"strings"
	"time"

	"fsub/federation"
	"fsub/sbatch"
	"fsub/slurm/hostlist"
	"fsub/slurm/wire"
)

func seconds(ns int64) int64 { return ns / int64(time.Second) }

// minutes writes a limit; 0 is none.
func minutes(d time.Duration) wire.Number {
	if d <= 0 || d == sbatch.Unlimited {
		return wire.Inf()
	}
	return wire.Num(int64((d + time.Minute - 1) / time.Minute))
}

// wireJob is a job as slurmctld shows it.
func (s *Site) wireJob(j *job) wire.Job {
	d := j.desc
	w := wire.Job{
		Account: j.account, AdminComment: d.AdminComment, AllocatingNode: s.cfg.Name + "-ctl", ArrayJobID: wire.Num(int64(j.array)),
		ArrayMaxTasks: wire.Num(0), BatchFlag: true, Cluster: s.cfg.Name, Comment: j.comment, Contiguous: false,
		CPUsPerTask: wire.Num(int64(j.need.cpusTask)), Deadline: wire.Num(d.Deadline),
		EligibleTime: wire.Num(seconds(j.eligible)), EndTime: wire.Num(s.endTime(j)), ExcludedNodes: strings.Join(d.ExcludedNodes, ","),
		ExitCode: exitCode(j.state, j.exit), DerivedExitCode: exitCode(federation.Completed, 0), Extra: d.Extra, Features: d.Constraints,
		GroupID: wire.Int(j.user.GID), GroupName: j.user.Name, HetJobID: wire.Num(0), HetJobOffset: wire.Num(0), JobID: int64(j.id),
		State: j.states(), MailType: d.MailType, MailUser: d.MailUser, MaxCPUs: wire.Num(0),
		MaxNodes: wire.Num(int64(j.need.maxNodes)), Name: d.Name, Nodes: j.nodes, NodeCount: wire.Num(int64(max(len(j.shares), j.need.minNodes))),
		Tasks: wire.Num(int64(j.need.tasks)), Partition: s.partNames(j), Hold: j.held != federation.NotHeld, Priority: wire.Num(j.prio),
		QOS: j.qos, RequiredNodes: strings.Join(d.RequiredNodes, ","), RequiredSwitches: wire.Int(d.RequiredSwitches.Value()),
		Requeue: d.Requeue == nil || *d.Requeue, RestartCnt: int64(j.restarts), ReservationName: d.Reservation, Shared: d.Shared,
		StartTime: wire.Num(seconds(j.start)), StateReason: string(s.reasonOf(j)), StdErr: d.StdErr, StdIn: d.StdIn, StdOut: j.output(),
		SubmitTime: wire.Num(seconds(j.submit)), TimeLimit: minutes(time.Duration(j.limit)), TimeMinimum: d.TimeMinimum,
		TRESPerJob: d.TRESPerJob, TRESPerNode: d.TRESPerNode, TRESPerTask: d.TRESPerTask, TRESAlloc: j.tres,
		UserID: wire.Int(j.user.UID), UserName: j.user.Name, WCKey: d.WCKey, WorkDir: d.WorkDir,
		MemoryPerCPU: d.MemoryPerCPU, MemoryPerNode: d.MemoryPerNode, LastSchedEvaluation: wire.Num(seconds(s.now)),
	}
	if d.Partition == "" {
		w.Flags = wire.Strings{"USING_DEFAULT_PARTITION"}
	}
	if j.held != federation.NotHeld {
		w.Priority = wire.Num(0)
	}
	if d.Nice != nil {
		w.Nice = int64(*d.Nice)
	}
	if j.task >= 0 {
		w.ArrayTaskID = wire.Num(int64(j.task))
	}
	if len(j.waiting) > 0 {
		w.ArrayTaskString = cutOff(hostlist.Ranges(j.waiting))
		if a := s.arrays[j.array]; a != nil && a.max > 0 {
			w.ArrayMaxTasks = wire.Num(int64(a.max))
			w.ArrayTaskString += "%" + strconv.Itoa(a.max)
		}
	}
	cpus := j.need.tasks * j.need.cpusTask
	if len(j.shares) > 0 {
		cpus = 0
		for i := range j.shares {
			cpus += j.shares[i].cpus
		}
		w.BatchHost = j.shares[0].n.name
		w.JobResources = j.resources()
		w.GRESDetail = j.gresDetail()
	}
	w.CPUs = wire.Num(int64(cpus))
	return w
}

// cutOff shortens a list of tasks to 64 characters, as slurmctld does.
func cutOff(list string) string {
	if len(list) <= 64 {
		return list
	}
	return list[:strings.LastIndexByte(list[:61], ',')+1] + "..."
}

// endTime is when a job ended, or when its limit will end it.
func (s *Site) endTime(j *job) int64 {
	if j.state == federation.Running && j.limit > 0 {
		return seconds(j.start + j.limit)
	}
	return seconds(j.end)
}

func (s *Site) partNames(j *job) string {
	if j.state == federation.Pending && j.desc.Partition != "" {
		return j.desc.Partition
	}
	return j.part.Name
}

// output expands what v0.0.42 expands in the name of the output file.
func (j *job) output() string {
	name := j.desc.StdOut
	if name == "" {
		name = "slurm-%j.out"
		if j.array != 0 {
			name = "slurm-%A_%a.out"
		}
	}
	return sbatch.FileName(name, sbatch.FileVars{Job: j.id, ArrayJob: j.groupID(), Task: j.task, JobName: j.desc.Name, User: j.user.Name, Dir: j.desc.WorkDir})
}

func (j *job) resources() *wire.JobResources {
	r := &wire.JobResources{SelectType: wire.Strings{"CPU", "MEMORY"}, ThreadsPerCore: wire.Num(1)}
	r.Nodes.Count, r.Nodes.List = int64(len(j.shares)), j.nodes
	for i := range j.shares {
		sh := &j.shares[i]
		n := wire.JobNode{Index: int64(i), Name: sh.n.name}
		n.CPUs.Count, n.Memory.Allocated = int64(sh.cpus), int64(sh.mem)
		r.CPUs += int64(sh.cpus)
		r.Nodes.Allocation = append(r.Nodes.Allocation, n)
	}
	return r
}

// gresDetail lists what a job holds, node by node: "gpu:h100:2(IDX:0-1)". The numbers of the devices are not modelled.
func (j *job) gresDetail() wire.Strings {
	var out wire.Strings
	for i := range j.shares {
		sh := &j.shares[i]
		var parts []string
		for k, n := range sh.gres {
			if n > 0 {
				parts = append(parts, gresText(sh.n.gres[k], n)+"(IDX:)")
			}
		}
		if len(parts) > 0 {
			out = append(out, strings.Join(parts, ","))
		}
	}
	return out
}

func gresText(g federation.GRES, n int) string {
	if g.Type == "" {
		return g.Name + ":" + strconv.Itoa(n)
	}
	return g.Name + ":" + g.Type + ":" + strconv.Itoa(n)
}

// exitCode shows a wait(2) status.
func exitCode(state federation.State, exit int32) wire.ExitCode {
	if state == federation.Pending {
		return wire.ExitCode{Status: wire.Strings{"PENDING"}, ReturnCode: wire.Num(0)}
	}
	return wire.ExitOf(exit)
}

// wireNode is a node as slurmctld shows it.
func (s *Site) wireNode(n *node) wire.Node {
	w := wire.Node{Architecture: "x86_64", Boards: 1, BootTime: wire.Num(seconds(s.boot)), ClusterName: s.cfg.Name, Cores: 1,
		CPUs: int64(n.cpus), EffectiveCPUs: int64(n.cpus), Features: n.features, ActiveFeatures: n.features, Name: n.name, Address: n.name,
		Hostname: n.name, State: n.state(), Partitions: n.parts, RealMemory: int64(n.mem), Reason: n.reason, AllocMemory: int64(n.usedMem),
		AllocCPUs: int64(n.usedCPUs), AllocIdleCPUs: int64(n.cpus - n.usedCPUs), Sockets: int64(n.cpus), Threads: 1, Weight: 1, Version: s.cfg.Version,
		FreeMem: wire.Num(int64(n.mem - n.usedMem)), SlurmdStartTime: wire.Num(seconds(s.boot)), TRES: "cpu=" + strconv.Itoa(n.cpus)}
	var total, used, tres []string
	for _, g := range n.gres {
		total = append(total, gresText(g, g.Total))
		used = append(used, gresText(g, g.Used)+"(IDX:N/A)")
		if g.Used > 0 {
			tres = append(tres, "gres/"+g.Name+"="+strconv.Itoa(g.Used))
			if g.Type != "" {
				tres = append(tres, "gres/"+g.Name+":"+g.Type+"="+strconv.Itoa(g.Used))
			}
		}
	}
	w.GRES, w.GRESUsed = strings.Join(total, ","), strings.Join(used, ",")
	if n.jobs > 0 {
		tres = append([]string{"cpu=" + strconv.Itoa(n.usedCPUs), "mem=" + strconv.Itoa(int(n.usedMem)) + "M"}, tres...)
	}
	w.TRESUsed = strings.Join(tres, ",")
	return w
}

// wirePartition is a partition as slurmctld shows it. Which one is the default is not in this version's shape.
func (s *Site) wirePartition(p *partition) wire.Partition {
	var w wire.Partition
	w.Name, w.Cluster, w.Partition.State = p.Name, s.cfg.Name, wire.Strings{p.State}
	names := make([]string, len(p.nodes))
	for i, n := range p.nodes {
		names[i] = n.name
		w.CPUs.Total += int64(n.cpus)
	}
	w.Nodes.Configured, w.Nodes.Total = hostlist.Compress(names), int64(len(names))
	if p.RootOnly { // told from v0.0.43 on
		w.Flags = wire.Strings{"ROOT_ONLY"}
	}
	w.Accounts = wire.Allowed{Allowed: strings.Join(p.AllowAccounts, ","), Deny: strings.Join(p.DenyAccounts, ",")}
	w.Maximums.Time, w.Maximums.Nodes = minutes(p.MaxTime), wire.Inf()
	if p.MaxNodes > 0 {
		w.Maximums.Nodes = wire.Num(int64(p.MaxNodes))
	}
	w.Minimums.Nodes = int64(p.MinNodes)
	if p.DefaultTime > 0 {
		w.Defaults.Time = minutes(p.DefaultTime)
	}
	w.Defaults.MemoryPerCPU = int64(p.DefMemPerCPU)
	if p.DefMemPerCPU > 0 {
		w.Defaults.PartitionMemoryPerCPU = wire.Num(int64(p.DefMemPerCPU))
	}
	w.Priority.Tier, w.Priority.JobFactor = int64(p.PriorityTier), 1
	return w
}
