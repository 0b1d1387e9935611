package squeue

import (
	"fmt"
	"io"
	"slices"
	"strconv"

	"fsub/cmd/internal/show"
	v1 "fsub/federation/api/v1"
	"fsub/slurm/wire"
)

// liveSteps returns the running steps by job. An older daemon reports none.
func (c *command) liveSteps() map[int64][]*v1.Step {
	if !c.steps {
		return nil
	}
	var list []v1.Step
	if show.Get(c.caller, "/fed/v1/steps", &list) != nil {
		return nil
	}
	steps := map[int64][]*v1.Step{}
	for i := range list {
		steps[list[i].Job] = append(steps[list[i].Job], &list[i])
	}
	return steps
}

// ofStep is what a step tells, and batch what is shown for a batch script.
func ofStep(batch string, of func(*v1.Step) string) func(*row) string {
	return func(r *row) string {
		if r.step == nil {
			return batch
		}
		return of(r.step)
	}
}

func stepNodes(r *row) string {
	if r.step == nil {
		return r.BatchHost
	}
	return r.step.Nodes
}

func stepStart(r *row) wire.Number {
	if r.step == nil {
		return r.StartTime
	}
	return wire.Num(r.step.Start)
}

func (c *command) stepUsed(r *row) int64 {
	if r.step == nil {
		return c.timeUsed(r)
	}
	return max(c.times.Now().Unix()-r.step.Start, 0)
}

func stepLimit(s *v1.Step) string {
	if s.Limit == 0 {
		return "UNLIMITED"
	}
	return show.Elapsed(s.Limit)
}

// stepFields are those of --steps. Of jobs at Slurm sites the federation knows the batch script alone.
func (c *command) stepFields() fieldSet { return newFieldSet(c.stepEntries()) }

func (c *command) stepEntries() []entry {
	array := func(r *row) string { return strconv.FormatInt(r.ArrayJobID.Value(), 10) }
	return []entry{
		{0, "ArrayJobId", "ARRAY_JOB_ID", array},
		{0, "ArrayTaskId", "ARRAY_TASK_ID", arrayTask},
		{0, "Cluster", "CLUSTER", func(r *row) string { return r.Cluster }},
		{0, "Container", "CONTAINER", text("(null)")},
		{0, "ContainerId", "CONTAINERID", text("(null)")},
		{0, "CPUFreq", "CPU_FREQ", ofStep("0-0:0", func(*v1.Step) string { return "Unknown-Unknown:Unknown" })},
		{0, "cpus-per-tres", "CPUS_PER_TRES", text("(null)")},
		{0, "JobId", "JOB_ID", rawID},
		{0, "mem-per-tres", "MEM_PER_TRES", text("(null)")},
		{0, "Network", "NETWORK", text("(null)")},
		{'N', "Nodes", "NODELIST", stepNodes},
		{0, "NumCPUs", "NUM_CPUS", ofStep("0", func(s *v1.Step) string { return strconv.Itoa(s.CPUs) })},
		{'A', "NumTasks", "TASKS", ofStep("1", func(s *v1.Step) string { return strconv.Itoa(s.Tasks) })},
		{'P', "Partition", "PARTITION", func(r *row) string { return r.Partition }},
		{0, "ResvPorts", "RESERVED_PORTS", text("(null)")},
		{'S', "StartTime", "START_TIME", c.when(stepStart)},
		{'i', "StepId", "STEPID", stepID},
		{'j', "StepName", "NAME", ofStep("batch", func(s *v1.Step) string { return s.Name })},
		{0, "StepState", "STATE", func(r *row) string { return show.State(r.State) }},
		{'l', "TimeLimit", "TIME_LIMIT", ofStep("UNLIMITED", stepLimit)},
		{'M', "TimeUsed", "TIME", func(r *row) string { return show.Elapsed(c.stepUsed(r)) }},
		{0, "tres-bind", "TRES_BIND", text("(null)")},
		{0, "tres-freq", "TRES_FREQ", text("(null)")},
		{'b', "tres-per-job", "TRES_PER_STEP", text("(null)")},
		{0, "tres-per-node", "TRES_PER_JOB", text("(null)")}, // the header that real squeue has
		{0, "tres-per-socket", "TRES_PER_SOCKET", text("(null)")},
		{0, "tres-per-step", "TRES_PER_STEP", text("(null)")},
		{0, "tres-per-task", "TRES_PER_TASK", text("(null)")},
		{'U', "UserId", "UID", integer(func(r *row) int64 { return int64(r.UserID) })},
		{'u', "UserName", "USER", func(r *row) string { return r.UserName }},
	}
}

// stepID names a step: 17.batch, 17_3.0. A heterogeneous job has one batch script.
func stepID(r *row) string {
	id := "batch"
	if r.step != nil {
		id = r.step.ID
	}
	if r.HetJobID.Value() != 0 {
		return rawID(r) + "." + id
	}
	return jobID(r) + "." + id
}

// listedLetters and listedNames are in the order of real squeue's --helpformat and --helpFormat.
const listedLetters = "aFKBokOIXEexfGgiAWcmdjyNCDhPpQqrRnvYzHSTtVJLlMUuwZ"

var listedNames = []string{
	"Account", "AccrueTime", "admin_comment", "AllocNodes", "AllocSID", "ArrayJobId", "ArrayTaskId", "AssocId", "BatchFlag", "BatchHost",
	"BurstBuffer", "BurstBufferState", "Cluster", "ClusterFeature", "Command", "Comment", "Container", "ContainerId", "Contiguous", "Cores",
	"CoreSpec", "CPUsPerTask", "cpus-per-task", "cpus-per-tres", "Deadline", "DelayBoot", "Dependency", "DerivedEC", "EligibleTime", "EndTime",
	"ExcNodes", "exit_code", "Feature", "GroupId", "GroupName", "HetJobId", "HetJobIdSet", "HetJobOffset", "JobArrayId", "JobId",
	"LastSchedEval", "Licenses", "MaxCPUs", "MaxNodes", "mem-per-tres", "MCSLabel", "MinCPUs", "MinMemory", "MinTime", "MinTmpDisk", "Name",
	"Network", "Nice", "NodeList", "NTPerCore", "NTPerNode", "NTPerSocket", "NTPerBoard", "NumCPUs", "NumNodes", "NumTasks", "Origin",
	"OriginRaw", "OverSubscribe", "Partition", "PendingTime", "PreemptTime", "Prefer", "Priority", "PriorityLong", "Profile", "QOS", "Reason",
	"ReasonList", "Reboot", "ReqNodes", "ReqSwitch", "Requeue", "Reservation", "ResizeTime", "RestartCnt", "SchedNodes", "SCT", "SiblingsActive",
	"SiblingsActiveRaw", "SiblingsViable", "SiblingsViableRaw", "Sockets", "SPerBoard", "StartTime", "State", "StateCompact", "StdErr", "StdIn",
	"StdOut", "SubmitTime", "system_comment", "Threads", "TimeLeft", "TimeLimit", "TimeUsed", "tres-alloc", "tres-bind", "tres-freq",
	"tres-per-job", "tres-per-socket", "tres-per-task", "UserId", "UserName", "Wait4Switch", "WCKey", "WorkDir",
}

// printFields lists the fields for --helpformat (letters) and --helpFormat (names).
func printFields(w io.Writer, letters, steps bool) {
	var words []string
	width, perLine := 20, 4
	switch {
	case letters && steps:
		width, perLine = 6, 8
		for _, e := range new(command).stepEntries() {
			if e.letter != 0 {
				words = append(words, "%"+string(rune(e.letter)))
			}
		}
	case letters:
		width, perLine = 6, 8
		for _, l := range listedLetters {
			words = append(words, "%"+string(l))
		}
	case steps:
		for _, e := range new(command).stepEntries() {
			words = append(words, e.name)
		}
	default:
		words = slices.Clone(listedNames)
		for _, e := range slices.Concat(new(command).startEntries(), shownEntries()) { // ours
			words = append(words, e.name)
		}
	}
	for i, word := range words {
		fmt.Fprintf(w, "%-*s", width, word)
		if i%perLine == perLine-1 || i == len(words)-1 {
			fmt.Fprintln(w)
		}
	}
}
