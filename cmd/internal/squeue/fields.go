package squeue

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"fsub/cmd/internal/show"
	"fsub/slurm/wire"
)

// fieldSet finds fields by the letters of -o and the names of -O.
type fieldSet struct {
	letters map[byte]*show.Field[row]
	names   map[string]*show.Field[row]
}

// entry is one field: its letter (0: none), its name, header and value.
type entry struct {
	letter byte
	name   string
	header string
	value  func(*row) string
}

func (c *command) fields() fieldSet { return newFieldSet(c.entries()) }

func newFieldSet(entries []entry) fieldSet {
	s := fieldSet{map[byte]*show.Field[row]{}, map[string]*show.Field[row]{}}
	for _, e := range entries {
		f := &show.Field[row]{Header: e.header, Value: e.value}
		if e.letter != 0 {
			s.letters[e.letter] = f
		}
		if e.name != "" {
			s.names[strings.ToLower(e.name)] = f
		}
	}
	return s
}

func text(s string) func(*row) string { return func(*row) string { return s } }

func orNull(of func(*row) string) func(*row) string {
	return func(r *row) string { return show.OrNull(of(r)) }
}

func orNA(of func(*row) string) func(*row) string {
	return func(r *row) string {
		if s := of(r); s != "" {
			return s
		}
		return "N/A"
	}
}

func num(of func(*row) wire.Number) func(*row) string {
	return func(r *row) string { return strconv.FormatInt(of(r).Value(), 10) }
}

func integer(of func(*row) int64) func(*row) string {
	return func(r *row) string { return strconv.FormatInt(of(r), 10) }
}

// when writes a time, or N/A.
func (c *command) when(of func(*row) wire.Number) func(*row) string {
	return func(r *row) string {
		if t := of(r).Value(); t > 0 {
			return c.times.Unix(t)
		}
		return "N/A"
	}
}

// entries are all fields; the order is that of --helpFormat.
func (c *command) entries() []entry {
	return slices.Concat(c.identityEntries(), c.resourceEntries(), c.timeEntries(), c.placeEntries(), c.rareEntries(), fixedEntries, c.startEntries(), shownEntries())
}

func (c *command) identityEntries() []entry {
	return []entry{
		{'a', "Account", "ACCOUNT", orNull(func(r *row) string { return r.Account })},
		{0, "admin_comment", "ADMIN_COMMENT", orNull(func(r *row) string { return r.AdminComment })},
		{0, "AllocNodes", "ALLOC_NODES", orNull(func(r *row) string { return r.AllocatingNode })},
		{'F', "ArrayJobId", "ARRAY_JOB_ID", integer((*row).master)},
		{'K', "ArrayTaskId", "ARRAY_TASK_ID", arrayTask},
		{0, "Cluster", "CLUSTER", func(r *row) string { return r.Cluster }},
		{'o', "Command", "COMMAND", orNull(func(r *row) string { return r.Command })},
		{'k', "Comment", "COMMENT", orNull(func(r *row) string { return r.Comment })},
		{'E', "Dependency", "DEPENDENCY", orNull(func(r *row) string { return r.Dependency })},
		{0, "DerivedEC", "DERIVED_EC", func(r *row) string { return show.ExitCode(r.DerivedExitCode) }},
		{0, "exit_code", "EXIT_CODE", func(r *row) string { return show.ExitCode(r.ExitCode) }},
		{'G', "GroupId", "GROUP", integer(func(r *row) int64 { return int64(r.GroupID) })},
		{'g', "GroupName", "GROUP", func(r *row) string { return r.GroupName }},
		{'i', "JobArrayId", "JOBID", c.shownID},
		{'A', "JobId", "JOBID", rawID},
		{'j', "Name", "NAME", func(r *row) string { return r.Name }},
		{'y', "Nice", "NICE", integer(func(r *row) int64 { return r.Nice })},
		{'P', "Partition", "PARTITION", func(r *row) string { return r.Partition }},
		{'p', "Priority", "PRIORITY", func(r *row) string { return fmt.Sprintf("%.14f", float64(r.Priority.Value())/(1<<32-1)) }},
		{'Q', "PriorityLong", "PRIORITY", num(func(r *row) wire.Number { return r.Priority })},
		{'q', "QOS", "QOS", func(r *row) string { return r.QOS }},
		{'r', "Reason", "REASON", func(r *row) string { return r.StateReason }},
		{0, "Requeue", "REQUEUE", func(r *row) string { return flag(r.Requeue) }},
		{'v', "Reservation", "RESERVATION", orNull(func(r *row) string { return r.ReservationName })},
		{0, "RestartCnt", "RESTART_COUNT", integer(func(r *row) int64 { return r.RestartCnt })},
		{'T', "State", "STATE", func(r *row) string { return show.State(r.State) }},
		{'t', "StateCompact", "ST", func(r *row) string { return show.CompactState(show.State(r.State)) }},
		{'U', "UserId", "UID", integer(func(r *row) int64 { return int64(r.UserID) })},
		{'u', "UserName", "USER", func(r *row) string { return r.UserName }},
		{'w', "WCKey", "WCKEY", orNull(func(r *row) string { return r.WCKey })},
	}
}

func (c *command) resourceEntries() []entry {
	return []entry{
		{0, "CPUsPerTask", "CPUS_PER_TASK", num(func(r *row) wire.Number { return r.CPUsPerTask })},
		{0, "cpus-per-task", "CPUS_PER_TASK", num(func(r *row) wire.Number { return r.CPUsPerTask })},
		{'f', "Feature", "FEATURES", orNull(func(r *row) string { return r.Features })},
		{'b', "tres-per-node", "TRES_PER_NODE", orNA(func(r *row) string { return r.TRESPerNode })},
		{0, "Gres", "TRES_PER_NODE", orNA(func(r *row) string { return r.TRESPerNode })},
		{'W', "Licenses", "LICENSES", orNull(func(r *row) string { return r.Licenses })},
		{0, "MaxCPUs", "MAX_CPUS", num(func(r *row) wire.Number { return wire.Num(max(r.MaxCPUs.Value(), r.CPUs.Value())) })},
		{0, "MaxNodes", "MAX_NODES", num(func(r *row) wire.Number { return wire.Num(max(r.MaxNodes.Value(), r.NodeCount.Value())) })},
		{'c', "MinCPUs", "MIN_CPUS", num(func(r *row) wire.Number { return r.MinCPUsPerNode })},
		{'m', "MinMemory", "MIN_MEMORY", c.memory},
		{'d', "MinTmpDisk", "MIN_TMP_DISK", num(func(r *row) wire.Number { return r.MinTmpDiskPerNode })},
		{0, "NTPerNode", "NTASKS_PER_NODE", num(func(r *row) wire.Number { return r.TasksPerNode })},
		{'C', "NumCPUs", "CPUS", num(func(r *row) wire.Number { return r.CPUs })},
		{'D', "NumNodes", "NODES", num(func(r *row) wire.Number { return r.NodeCount })},
		{0, "NumTasks", "TASKS", num(func(r *row) wire.Number { return r.Tasks })},
		{'h', "OverSubscribe", "OVER_SUBSCRIBE", shared},
		{0, "ReqSwitch", "REQ_SWITCH", integer(func(r *row) int64 { return int64(r.RequiredSwitches) })},
		{0, "Wait4Switch", "WAIT4SWITCH", func(r *row) string { return show.Elapsed(r.MaximumSwitchWaitTime) }},
		{0, "tres-alloc", "TRES_ALLOC", orNA(func(r *row) string { return cmpOr(r.TRESAlloc, r.TRESReq) })},
		{0, "tres-per-job", "TRES_PER_JOB", orNA(func(r *row) string { return r.TRESPerJob })},
		{0, "tres-per-task", "TRES_PER_TASK", orNA(func(r *row) string { return r.TRESPerTask })},
		{0, "mem-per-tres", "MEM_PER_TRES", orNA(func(r *row) string { return r.MemoryPerTRES })},
	}
}

func (c *command) timeEntries() []entry {
	return []entry{
		{0, "AccrueTime", "ACCRUE_TIME", c.when(func(r *row) wire.Number { return r.AccrueTime })},
		{0, "Deadline", "DEADLINE", c.when(func(r *row) wire.Number { return r.Deadline })},
		{0, "EligibleTime", "ELIGIBLE_TIME", c.when(func(r *row) wire.Number { return r.EligibleTime })},
		{'e', "EndTime", "END_TIME", c.when(func(r *row) wire.Number { return r.EndTime })},
		{0, "LastSchedEval", "LAST_SCHED_EVAL", c.when(func(r *row) wire.Number { return r.LastSchedEvaluation })},
		{0, "MinTime", "TIME_MIN", func(r *row) string { return show.Elapsed(r.TimeMinimum.Value() * 60) }},
		{0, "PendingTime", "PENDING_TIME", integer(c.pendingTime)},
		{'S', "StartTime", "START_TIME", c.when(func(r *row) wire.Number { return r.StartTime })},
		{'V', "SubmitTime", "SUBMIT_TIME", c.when(func(r *row) wire.Number { return r.SubmitTime })},
		{'L', "TimeLeft", "TIME_LEFT", c.timeLeft},
		{'l', "TimeLimit", "TIME_LIMIT", timeLimit},
		{'M', "TimeUsed", "TIME", func(r *row) string { return show.Elapsed(c.timeUsed(r)) }},
	}
}

func (c *command) placeEntries() []entry {
	return []entry{
		{'B', "BatchHost", "EXEC_HOST", func(r *row) string { return cmpOr(r.BatchHost, "n/a") }},
		{'x', "ExcNodes", "EXC_NODES", func(r *row) string { return r.ExcludedNodes }},
		{'N', "NodeList", "NODELIST", func(r *row) string { return r.Nodes }},
		{'R', "ReasonList", "NODELIST(REASON)", reasonList},
		{'n', "ReqNodes", "REQ_NODES", func(r *row) string { return r.RequiredNodes }},
		{'Y', "SchedNodes", "SCHEDNODES", orNull(func(r *row) string { return r.ScheduledNodes })},
		{0, "StdErr", "STDERR", orNull(func(r *row) string { return r.StdErr })},
		{0, "StdIn", "STDIN", orNull(func(r *row) string { return r.StdIn })},
		{0, "StdOut", "STDOUT", orNull(func(r *row) string { return r.StdOut })},
		{'Z', "WorkDir", "WORK_DIR", orNull(func(r *row) string { return r.WorkDir })},
	}
}

// rareEntries are fields that few jobs set.
func (c *command) rareEntries() []entry {
	return []entry{
		{0, "AssocId", "ASSOC_ID", integer(func(r *row) int64 { return r.AssociationID })},
		{0, "BatchFlag", "BATCH_FLAG", func(r *row) string { return flag(r.BatchFlag) }},
		{0, "BurstBuffer", "BURST_BUFFER", orNull(func(r *row) string { return r.BurstBuffer })},
		{0, "BurstBufferState", "BURST_BUFFER_STATE", orNull(func(r *row) string { return r.BurstBufferState })},
		{0, "ClusterFeature", "CLUSTER_FEATURES", orNull(func(r *row) string { return r.ClusterFeatures })},
		{0, "Container", "CONTAINER", orNull(func(r *row) string { return r.Container })},
		{0, "ContainerId", "CONTAINERID", orNull(func(r *row) string { return r.ContainerID })},
		{'O', "Contiguous", "CONTIGUOUS", func(r *row) string { return flag(r.Contiguous) }},
		{'I', "Cores", "CORES_PER_SOCKET", orStar(func(r *row) wire.Number { return r.CoresPerSocket })},
		{'X', "CoreSpec", "CORE_SPEC", coreSpec},
		{0, "cpus-per-tres", "CPUS_PER_TRES", orNA(func(r *row) string { return r.CPUsPerTRES })},
		{0, "DelayBoot", "DELAY_BOOT", func(r *row) string { return show.Elapsed(r.DelayBoot.Value()) }},
		{0, "HetJobId", "HET_JOB_ID", ofHet(func(r *row) wire.Number { return r.HetJobID })},
		{0, "HetJobIdSet", "HET_JOB_ID_SET", orNA(func(r *row) string { return r.HetJobIDSet })},
		{0, "HetJobOffset", "HET_JOB_OFFSET", ofHet(func(r *row) wire.Number { return r.HetJobOffset })},
		{0, "MCSLabel", "MCSLABEL", orNull(func(r *row) string { return r.MCSLabel })},
		{0, "Network", "NETWORK", orNull(func(r *row) string { return r.Network })},
		{0, "NTPerCore", "NTASKS_PER_CORE", bounded(func(r *row) wire.Number { return r.TasksPerCore })},
		{0, "NTPerSocket", "NTASKS_PER_SOCKET", bounded(func(r *row) wire.Number { return r.TasksPerSocket })},
		{0, "NTPerBoard", "NTASKS_PER_BOARD", num(func(r *row) wire.Number { return r.TasksPerBoard })},
		{0, "PreemptTime", "PREEMPT_TIME", c.when(func(r *row) wire.Number { return r.PreemptTime })},
		{0, "Prefer", "PREFER", orNull(func(r *row) string { return r.Prefer })},
		{0, "Profile", "PROFILE", profile},
		{0, "Reboot", "REBOOT", func(r *row) string { return flag(r.Reboot) }},
		{0, "ResizeTime", "RESIZE_TIME", c.when(func(r *row) wire.Number { return r.ResizeTime })},
		{'z', "SCT", "S:C:T", func(r *row) string {
			return star(r.SocketsPerNode) + ":" + star(r.CoresPerSocket) + ":" + star(r.ThreadsPerCore)
		}},
		{'H', "Sockets", "SOCKETS_PER_NODE", orStar(func(r *row) wire.Number { return r.SocketsPerNode })},
		{0, "system_comment", "SYSTEM_COMMENT", orNull(func(r *row) string { return r.SystemComment })},
		{'J', "Threads", "THREADS_PER_CORE", orStar(func(r *row) wire.Number { return r.ThreadsPerCore })},
		{0, "tres-bind", "TRES_BIND", orNA(func(r *row) string { return r.TRESBind })},
		{0, "tres-freq", "TRES_FREQ", orNA(func(r *row) string { return r.TRESFreq })},
		{0, "tres-per-socket", "TRES_PER_SOCKET", orNA(func(r *row) string { return r.TRESPerSocket })},
	}
}

// fixedEntries are fields that the federation lacks: they show what Slurm shows for a job that did not ask.
var fixedEntries = []entry{
	{0, "AllocSID", "ALLOC_SID", text("0")}, {0, "BoardsPerNode", "BOARDS_PER_NODE", text("0")},
	{0, "Origin", "ORIGIN", text("NA")}, {0, "OriginRaw", "ORIGIN_RAW", text("NA")},
	{0, "SiblingsActive", "ACTIVE_SIBLINGS", text("NA")}, {0, "SiblingsActiveRaw", "ACTIVE_SIBLINGS_RAW", text("NA")},
	{0, "SiblingsViable", "VIABLE_SIBLINGS", text("NA")}, {0, "SiblingsViableRaw", "VIALBLE_SIBLINGS_RAW", text("NA")},
	{0, "SPerBoard", "SOCKETS_PER_BOARD", text("0")},
}
