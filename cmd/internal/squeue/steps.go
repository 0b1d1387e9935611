package squeue

import (
	"fmt"
	"io"
	"strconv"

	"fsub/cmd/internal/show"
	"fsub/slurm/wire"
)

// stepFields are those of --steps. Of a job's steps the federation knows the batch script.
func (c *command) stepFields() fieldSet { return newFieldSet(c.stepEntries()) }

func (c *command) stepEntries() []entry {
	array := func(r *row) string { return strconv.FormatInt(r.ArrayJobID.Value(), 10) }
	return []entry{
		{0, "ArrayJobId", "ARRAY_JOB_ID", array},
		{0, "ArrayTaskId", "ARRAY_TASK_ID", arrayTask},
		{0, "Cluster", "CLUSTER", func(r *row) string { return r.Cluster }},
		{0, "Container", "CONTAINER", text("(null)")},
		{0, "ContainerId", "CONTAINERID", text("(null)")},
		{0, "CPUFreq", "CPU_FREQ", text("0-0:0")},
		{0, "cpus-per-tres", "CPUS_PER_TRES", text("(null)")},
		{0, "JobId", "JOBID", rawID},
		{0, "mem-per-tres", "MEM_PER_TRES", text("(null)")},
		{0, "Network", "NETWORK", text("(null)")},
		{'N', "Nodes", "NODELIST", func(r *row) string { return r.BatchHost }},
		{0, "NumCPUs", "CPUS", text("0")},
		{'A', "NumTasks", "TASKS", text("1")},
		{'P', "Partition", "PARTITION", func(r *row) string { return r.Partition }},
		{0, "ResvPorts", "RESERVED_PORTS", text("(null)")},
		{'S', "StartTime", "START_TIME", c.when(func(r *row) wire.Number { return r.StartTime })},
		{'i', "StepId", "STEPID", stepID},
		{'j', "StepName", "NAME", text("batch")},
		{0, "StepState", "STATE", func(r *row) string { return show.State(r.State) }},
		{'l', "TimeLimit", "TIME_LIMIT", text("UNLIMITED")},
		{'M', "TimeUsed", "TIME", func(r *row) string { return show.Elapsed(c.timeUsed(r)) }},
		{0, "tres-bind", "TRES_BIND", text("(null)")},
		{0, "tres-freq", "TRES_FREQ", text("(null)")},
		{'b', "tres-per-job", "TRES_PER_JOB", text("(null)")},
		{0, "tres-per-node", "TRES_PER_JOB", text("(null)")}, // the header that real squeue has
		{0, "tres-per-socket", "TRES_PER_SOCKET", text("(null)")},
		{0, "tres-per-step", "TRES_PER_STEP", text("(null)")},
		{0, "tres-per-task", "TRES_PER_TASK", text("(null)")},
		{'U', "UserId", "UID", integer(func(r *row) int64 { return int64(r.UserID) })},
		{'u', "UserName", "USER", func(r *row) string { return r.UserName }},
	}
}

// stepID names the batch step: 17.batch, 17_3.batch. A heterogeneous job has one.
func stepID(r *row) string {
	if r.HetJobID.Value() != 0 {
		return rawID(r) + ".batch"
	}
	return jobID(r) + ".batch"
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
		words = listedNames
	}
	for i, word := range words {
		fmt.Fprintf(w, "%-*s", width, word)
		if i%perLine == perLine-1 || i == len(words)-1 {
			fmt.Fprintln(w)
		}
	}
}
