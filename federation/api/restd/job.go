package restd

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"fsub/federation"
	"fsub/federation/place"
	"fsub/federation/reasons"
	"fsub/sbatch"
	"fsub/sbatch/gres"
	"fsub/slurm/hostlist"
	"fsub/slurm/wire"
	"fsub/slurm/words"
)

// Record is p as slurmctld would report it.
func (v *View) Record(p *Part) wire.Job {
	j, sp := p.Job, p.Job.Spec
	z := v.sizeOf(j, p.nodes)
	w := wire.Job{
		Account: v.accountOf(j), AllocatingNode: j.SubmitHost, BatchFlag: true,
		AccrueTime: wire.Time(j.Submit), ArrayJobID: wire.Num(0), ArrayMaxTasks: wire.Num(0),
		Cluster: cmp.Or(string(j.Site), v.cluster), Command: sp.Command, Comment: sp.Comment, Dependency: sp.Dependency,
		BillableTRES: wire.Float{Set: true, Number: float64(z.CPUs)}, CPUsPerTask: wire.Num(int64(max(sp.CPUsPerTask, 1))),
		Deadline: wire.Time(sp.Deadline), DelayBoot: wire.Num(0), SubmitTime: wire.Time(j.Submit), SuspendTime: wire.Time(p.suspension.At),
		DerivedExitCode: wire.ExitOf(0), ExitCode: wire.ExitOf(p.exit), Features: sp.Constraint, ExcludedNodes: sp.Exclude,
		GroupID: wire.Int(j.GID), HetJobID: wire.Num(0), HetJobOffset: wire.Num(0), JobID: int64(p.id),
		State: p.States(), StateReason: shownReason(p.reason), StateDescription: hiddenReason(p.reason),
		LastSchedEvaluation: wire.Num(0), MailUser: cmp.Or(sp.MailUser, j.User), MaxCPUs: wire.Num(0), MaxNodes: wire.Num(int64(sp.MaxNodes)),
		Name: sp.Name, Nodes: p.nodes, Nice: int64(sp.Nice),
		CPUs: wire.Num(int64(z.CPUs)), NodeCount: wire.Num(int64(z.Nodes)), Tasks: wire.Num(int64(z.Tasks)),
		TasksPerCore: wire.Inf(), TasksPerSocket: wire.Inf(), TasksPerTRES: wire.Num(0), TasksPerBoard: wire.Num(0), TasksPerNode: wire.Num(int64(sp.NTasksPerNode)),
		Partition: v.partitionOf(j), MinCPUsPerNode: wire.Num(int64(max(sp.CPUsPerTask, 1) * max(sp.NTasksPerNode, 1))), MinTmpDiskPerNode: wire.Num(0),
		PreemptTime: wire.Num(0), PreemptableTime: wire.Num(0), PreSusTime: wire.Num(int64(p.suspension.Ran / time.Second)), ResizeTime: wire.Num(0),
		Hold: j.Held != federation.NotHeld, Profile: wire.Strings{"NOT_SET"}, QOS: cmp.Or(sp.QOS, "normal"),
		RequiredNodes: sp.NodeList, RequiredSwitches: wire.Int(sp.Switches), MaximumSwitchWaitTime: int64(sp.SwitchesWait / time.Second),
		Requeue: sp.Requeue == nil || *sp.Requeue, RestartCnt: int64(p.restarts), ReservationName: sp.Reservation,
		TimeMinimum: wire.Num(int64(sp.TimeMin / time.Minute)),
		TRESPerNode: words.TRESPerNode(sp), TRESPerJob: gres.Prefixed("gres/gpu:", sp.GPUs), TRESReq: z.TRES(),
		UserID: wire.Int(j.UID), UserName: j.User, WorkDir: sp.WorkDir,
	}
	if !p.earlier && p.State == federation.Running {
		w.SystemComment = v.comments[j.ID]
	}
	w.GroupName, _ = v.users.GroupName(j.GID)
	if !p.State.Ended() && p.State != federation.Completing { // it may have run before
		w.ExitCode = wire.ExitOf(0)
	}
	w.Priority = wire.Num(0)
	if p.State != federation.Suspended {
		w.Priority = wire.Num(Priority(j))
	}
	if sp.MailType != "" {
		w.MailType = strings.Split(sp.MailType, ",")
	}
	if sp.Exclusive != "" {
		w.Shared = wire.Strings{map[string]string{"user": "user", "mcs": "mcs", "topo": "topo"}[sp.Exclusive]}
		if w.Shared[0] == "" {
			w.Shared[0] = "none"
		}
	}
	if sp.More != nil {
		w = words.Show(w, sp.More)
	}
	setMore(&w, sp, j.Needs())
	setMemory(&w, sp, z)
	v.setTimes(&w, p)
	setArray(&w, p)
	setComponent(&w, j)
	v.setFiles(&w, p)
	if p.nodes != "" {
		z = v.allocated(z, j.Site, firstNode(p.nodes))
		w.TRESAlloc = z.TRES()
		w.BatchHost, w.JobResources = held(p, z)
		w.GRESDetail = gresDetail(&w, z)
	}
	return w
}

// Priority is a job's as Slurm shows it: 0 for one that is held, else at least 1.
func Priority(j *federation.Job) int64 {
	if j.Held != federation.NotHeld {
		return 0
	}
	return max(place.Priority(j), 1)
}

func setMemory(w *wire.Job, sp *sbatch.Spec, z Size) {
	switch {
	case sp.MemPerNode == sbatch.MemAll:
		w.MemoryPerNode = wire.Num(0)
	case sp.MemPerNode > 0:
		w.MemoryPerNode = wire.Num(int64(sp.MemPerNode))
	case sp.MemPerCPU > 0:
		w.MemoryPerCPU = wire.Num(int64(sp.MemPerCPU))
	case z.memPerNode > 0:
		w.MemoryPerNode = wire.Num(int64(z.memPerNode))
	case z.memPerCPU > 0:
		w.MemoryPerCPU = wire.Num(int64(z.memPerCPU))
	}
	if sp.MemPerGPU > 0 {
		w.MemoryPerTRES = fmt.Sprintf("gres/gpu:%d", sp.MemPerGPU)
	}
}

// setTimes sets what depends on the clock: a running job ends when its limit does, one with a begin time starts then.
func (v *View) setTimes(w *wire.Job, p *Part) {
	j, limit := p.Job, v.limitOf(p.Job)
	switch limit {
	case 0:
	case sbatch.Unlimited:
		w.TimeLimit = wire.Inf()
	default:
		w.TimeLimit = wire.Num(int64((limit + time.Minute - 1) / time.Minute))
	}
	start, end := p.start, p.End
	eligible := j.Submit
	if j.Spec.Begin.After(eligible) {
		eligible = j.Spec.Begin
	}
	if p.State == federation.Pending {
		end = time.Time{}
		if j.Held != federation.NotHeld {
			eligible = time.Time{}
		}
		start = time.Time{}
		if j.Held == federation.NotHeld {
			start = v.starts[j.ID].At
		}
		if j.Spec.Begin.After(v.Now) && j.Spec.Begin.After(start) {
			start = j.Spec.Begin
		}
	}
	if !p.State.Ended() && !start.IsZero() && limit > 0 && limit != sbatch.Unlimited {
		end = start.Add(limit)
		if s := p.suspension; !s.At.IsZero() { // of one that is suspended, as if it had not been: so does slurmctld
			end = s.At.Add(limit - s.Ran)
		}
	}
	w.EligibleTime, w.StartTime, w.EndTime = wire.Time(eligible), wire.Time(start), wire.Time(end)
}

// setComponent says which component of which heterogeneous job j is. A component's record does not know how many there are.
func setComponent(w *wire.Job, j *federation.Job) {
	switch {
	case len(j.Spec.Het) > 0:
		w.HetJobID, w.HetJobOffset = wire.Num(int64(j.ID)), wire.Num(0)
		w.HetJobIDSet = fmt.Sprintf("%d-%d", j.ID, int(j.ID)+len(j.Spec.Het))
	case j.Component != nil:
		w.HetJobID, w.HetJobOffset = wire.Num(int64(j.Component.Leader)), wire.Num(int64(j.Component.Offset))
		w.HetJobIDSet = fmt.Sprintf("%d-%d", j.Component.Leader, j.ID)
	}
}

func setArray(w *wire.Job, p *Part) {
	if p.array == 0 {
		return
	}
	w.ArrayJobID = wire.Num(int64(p.array))
	w.ArrayMaxTasks = wire.Num(int64(p.limit))
	w.ArrayTaskString = p.pending
	if p.task != nil {
		w.ArrayTaskID = wire.Num(int64(p.task.Index))
	}
}

func (v *View) setFiles(w *wire.Job, p *Part) {
	j := p.Job
	vars := sbatch.FileVars{Job: p.id, ArrayJob: uint32(cmp.Or(p.array, j.ID)), Task: -1, JobName: j.Spec.Name, User: j.User, Node: firstNode(p.nodes)}
	if p.task != nil {
		vars.Task = p.task.Index
	}
	out := stdFile(j, j.Spec.Output)
	errFile, in := out, "/dev/null"
	if j.Spec.Error != "" {
		errFile = stdFile(j, j.Spec.Error)
	}
	if j.Spec.Input != "" {
		in = stdFile(j, j.Spec.Input)
	}
	xo, xe, xi := sbatch.FileName(out, vars), sbatch.FileName(errFile, vars), sbatch.FileName(in, vars)
	if v.Expand {
		w.StdOut, w.StdErr, w.StdIn = xo, xe, xi
		return
	}
	w.StdOut, w.StdIn, w.StdOutExpanded, w.StdErrExpanded, w.StdInExpanded = out, in, xo, xe, xi
	if j.Spec.Error != "" {
		w.StdErr = errFile
	}
}

// held is where a job runs: its first node, and what it has on each.
func held(p *Part, z Size) (string, *wire.JobResources) {
	names, err := hostlist.Expand(p.nodes)
	if err != nil || len(names) == 0 {
		return "", nil
	}
	r := &wire.JobResources{SelectType: wire.Strings{"CPU"}, CPUs: int64(z.CPUs)}
	r.Nodes = wire.JobResourceNodes{Count: int64(len(names)), SelectType: wire.Strings{"AVAILABLE"}, List: p.nodes}
	for i, name := range names {
		n := wire.JobNode{Index: int64(i), Name: name}
		n.CPUs.Count = int64(max(z.CPUs/len(names), 1))
		n.Memory.Allocated = int64(z.Mem) / int64(len(names))
		r.Nodes.Allocation = append(r.Nodes.Allocation, n)
	}
	if !p.State.Started() {
		r = nil // it holds nothing any more
	}
	return names[0], r
}

func firstNode(list string) string {
	if names, err := hostlist.Expand(list); err == nil && len(names) > 0 {
		return names[0]
	}
	return ""
}

// jobState is a state as slurmrestd lists it: what Slurm keeps as a flag stands beside a base state.
func jobState(s federation.State) wire.Strings {
	switch s {
	case federation.Configuring, federation.Completing:
		return wire.Strings{string(federation.Running), string(s)}
	}
	return wire.Strings{string(s)}
}

// shownReason is a reason in words that Slurm's clients know. Ours, which begin with Fed, become the nearest of Slurm's.
func shownReason(r reasons.Reason) string {
	switch {
	case r == "":
		return string(reasons.None)
	case !strings.HasPrefix(string(r), "Fed"):
		return string(r)
	case r == reasons.UnknownUser:
		return string(reasons.Account)
	case r == reasons.AccountBudget:
		return "AssocGrpBillingMinutes" // what the account has spent is what counts there, too
	case r == reasons.Maintenance:
		return "ReqNodeNotAvail, Reserved for maintenance"
	case r == reasons.MaxCost:
		return "AssociationJobLimit"
	case r == reasons.NotAsked, r == reasons.FileSystem, r == reasons.Unsupported, r == reasons.GRES:
		return string(reasons.BadConstraints) // as things are it can run nowhere: waiting does not help
	case r == reasons.Forgotten:
		return string(reasons.NodeDown)
	}
	return string(reasons.Resources)
}

// hiddenReason is a reason of ours, for those who look closer.
func hiddenReason(r reasons.Reason) string {
	if strings.HasPrefix(string(r), "Fed") {
		return string(r)
	}
	return ""
}
