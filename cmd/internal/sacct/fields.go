package sacct

import (
	"strings"

	"fsub/slurm/wire"
)

// field is one field of sacct: its name, usual width (negative: left-justified) and value.
type field struct {
	name  string
	width int
	value func(*command, *record) string
	time  bool
}

// fields is sacct's table, in its order: the beginning of a name stands for the first that fits.
var fields = []field{
	{name: "Account", width: 10, value: func(_ *command, r *record) string { return r.Account }},
	{name: "AdminComment", width: 19, value: ofJob(func(r *record) string { return r.Comment.Administrator })},
	{name: "AllocCPUS", width: 10, value: allocCPUs},
	{name: "AllocNodes", width: 10, value: allocNodes},
	{name: "AllocTRES", width: 10, value: allocTRES},
	{name: "AssocID", width: 7, value: func(_ *command, r *record) string { return nonZero(r.Association.ID) }},
	{name: "AveCPU", width: 10, value: usage(inAverage, "cpu", cpuClock)},
	{name: "AveCPUFreq", width: 10, value: ofStep(func(r *record) string { return frequency(r.step.Statistics.CPU.ActualFrequency) })},
	{name: "AveDiskRead", width: 14, value: usage(inAverage, "fs/disk", (*command).megabytes)},
	{name: "AveDiskWrite", width: 14, value: usage(outAverage, "fs/disk", (*command).megabytes)},
	{name: "AvePages", width: 10, value: usage(inAverage, "pages", (*command).pages)},
	{name: "AveRSS", width: 10, value: usage(inAverage, "mem", (*command).bytes)},
	{name: "AveVMSize", width: 10, value: usage(inAverage, "vmem", (*command).bytes)},
	{name: "BlockID", width: 16, value: unknown},
	{name: "Cluster", width: 10, value: func(_ *command, r *record) string { return r.Cluster }},
	{name: "Comment", width: 14, value: ofJob(func(r *record) string { return r.Comment.Job })},
	{name: "Constraints", width: 19, value: ofJob(func(r *record) string { return r.Constraints })},
	{name: "ConsumedEnergy", width: 14, value: energy},
	{name: "ConsumedEnergyRaw", width: 17, value: energy},
	{name: "Container", width: 19, value: unknown},
	{name: "CPUTime", width: 10, value: func(c *command, r *record) string { return clock(cpuSeconds(c, r)) }},
	{name: "CPUTimeRAW", width: 10, value: func(c *command, r *record) string { return decimal(cpuSeconds(c, r)) }},
	{name: "DBIndex", width: 20, value: func(_ *command, r *record) string { return decimal(r.JobID) }},
	{name: "DerivedExitCode", width: 15, value: ofJob(func(r *record) string { return exitText(r.DerivedExitCode) })},
	{name: "Elapsed", width: 10, value: func(c *command, r *record) string { return clock(elapsed(r)) }},
	{name: "ElapsedRaw", width: 10, value: func(c *command, r *record) string { return decimal(elapsed(r)) }},
	{name: "Eligible", width: 19, value: eligible, time: true},
	{name: "End", width: 19, value: end, time: true},
	{name: "ExitCode", width: 8, value: exitCode},
	{name: "Extra", width: 19, value: ofJob(func(r *record) string { return r.Extra })},
	{name: "FailedNode", width: 15, value: ofJob(func(r *record) string { return r.FailedNode })},
	{name: "Flags", width: 20, value: ofJob(func(r *record) string { return strings.Join(flagsOf(r.AccountingJob), ",") })},
	{name: "GID", width: 6, value: ofJob(func(r *record) string { return decimal(int64(r.GroupID)) })},
	{name: "Group", width: 9, value: ofJob(func(r *record) string { return r.Group })},
	{name: "JobID", width: -12, value: jobID},
	{name: "JobIDRaw", width: -12, value: rawID},
	{name: "JobName", width: 10, value: func(_ *command, r *record) string { return name(r) }},
	{name: "Layout", width: 9, value: ofStep(func(r *record) string { return r.step.Task.Distribution })},
	{name: "Licenses", width: 20, value: ofJob(func(r *record) string { return r.Licenses })},
	{name: "MaxDiskRead", width: 12, value: usage(inMax, "fs/disk", (*command).megabytes)},
	{name: "MaxDiskReadNode", width: 15, value: usageNode(inMax, "fs/disk")},
	{name: "MaxDiskReadTask", width: 15, value: usageTask(inMax, "fs/disk")},
	{name: "MaxDiskWrite", width: 12, value: usage(outMax, "fs/disk", (*command).megabytes)},
	{name: "MaxDiskWriteNode", width: 16, value: usageNode(outMax, "fs/disk")},
	{name: "MaxDiskWriteTask", width: 16, value: usageTask(outMax, "fs/disk")},
	{name: "MaxPages", width: 8, value: usage(inMax, "pages", (*command).pages)},
	{name: "MaxPagesNode", width: 12, value: usageNode(inMax, "pages")},
	{name: "MaxPagesTask", width: 14, value: usageTask(inMax, "pages")},
	{name: "MaxRSS", width: 10, value: usage(inMax, "mem", (*command).bytes)},
	{name: "MaxRSSNode", width: 10, value: usageNode(inMax, "mem")},
	{name: "MaxRSSTask", width: 10, value: usageTask(inMax, "mem")},
	{name: "MaxVMSize", width: 10, value: usage(inMax, "vmem", (*command).bytes)},
	{name: "MaxVMSizeNode", width: 14, value: usageNode(inMax, "vmem")},
	{name: "MaxVMSizeTask", width: 14, value: usageTask(inMax, "vmem")},
	{name: "McsLabel", width: 9, value: ofJob(func(r *record) string { return r.MCS.Label })},
	{name: "MinCPU", width: 10, value: usage(inMin, "cpu", cpuClock)},
	{name: "MinCPUNode", width: 10, value: usageNode(inMin, "cpu")},
	{name: "MinCPUTask", width: 10, value: usageTask(inMin, "cpu")},
	{name: "NCPUS", width: 10, value: allocCPUs},
	{name: "NNodes", width: 8, value: nodeCount},
	{name: "NodeList", width: 15, value: nodeList},
	{name: "NTasks", width: 8, value: ofStep(func(r *record) string { return decimal(r.step.Tasks.Count) })},
	{name: "Partition", width: 10, value: ofJob(func(r *record) string { return r.Partition })},
	{name: "Planned", width: 10, value: func(c *command, r *record) string {
		return ofJob(func(r *record) string { return clock(planned(c, r)) })(c, r)
	}},
	{name: "PlannedCPU", width: 10, value: func(c *command, r *record) string {
		return ofJob(func(r *record) string { return clock(planned(c, r) * r.Required.CPUs) })(c, r)
	}},
	{name: "PlannedCPURAW", width: 13, value: func(c *command, r *record) string {
		return ofJob(func(r *record) string { return decimal(planned(c, r) * r.Required.CPUs) })(c, r)
	}},
	{name: "Priority", width: 10, value: ofJob(func(r *record) string { return decimal(r.Priority.Value()) })},
	{name: "QOS", width: 10, value: ofJob(func(r *record) string { return r.QOS })},
	{name: "QOSRAW", width: 6, value: unknown},
	{name: "QOSREQ", width: 10, value: ofJob(func(r *record) string { return r.QOSReq })},
	{name: "Reason", width: 22, value: ofJob(func(r *record) string { return r.State.Reason })},
	{name: "ReqCPUFreq", width: 10, value: frequencyMin},
	{name: "ReqCPUFreqGov", width: 13, value: governor},
	{name: "ReqCPUFreqMax", width: 13, value: frequencyMax},
	{name: "ReqCPUFreqMin", width: 13, value: frequencyMin},
	{name: "ReqCPUS", width: 8, value: func(_ *command, r *record) string { return requestedCPUs(r) }},
	{name: "ReqMem", width: 10, value: func(c *command, r *record) string {
		return ofJob(func(r *record) string { return requestedMemory(c, r) })(c, r)
	}},
	{name: "ReqNodes", width: 8, value: func(_ *command, r *record) string { return requestedNodes(r) }},
	{name: "ReqTRES", width: 10, value: func(c *command, r *record) string {
		return ofJob(func(r *record) string { return tres(c, r.TRES.Requested) })(c, r)
	}},
	{name: "Reservation", width: 20, value: ofJob(func(r *record) string { return r.Reservation.Name })},
	{name: "ReservationId", width: 13, value: ofJob(func(r *record) string { return nonZero(r.Reservation.ID) })},
	{name: "Restarts", width: 8, value: ofJob(func(r *record) string { return decimal(r.RestartCnt) })},
	{name: "SLUID", width: 15, value: func(_ *command, r *record) string { return r.SLUID }},
	{name: "Start", width: 19, value: start, time: true},
	{name: "State", width: 10, value: state},
	{name: "StdErr", width: 19, value: fileName(func(r *record) (string, string) { return r.StdErr, r.StdErrExpanded })},
	{name: "StdIn", width: 19, value: fileName(func(r *record) (string, string) { return r.StdIn, r.StdInExpanded })},
	{name: "StdOut", width: 19, value: fileName(func(r *record) (string, string) { return r.StdOut, r.StdOutExpanded })},
	{name: "Submit", width: 19, value: submitted, time: true},
	{name: "SubmitLine", width: 20, value: ofJob(func(r *record) string { return r.SubmitLine })},
	{name: "Suspended", width: 10, value: func(_ *command, r *record) string { return clock(suspended(r)) }},
	{name: "SystemComment", width: 20, value: ofJob(func(r *record) string { return r.Comment.System })},
	{name: "SystemCPU", width: 10, value: cpuTime(func(t times) wire.Duration { return t.system })},
	{name: "Timelimit", width: 10, value: ofJob(func(r *record) string { return timeLimit(r, func(m int64) string { return clock(60 * m) }) })},
	{name: "TimelimitRaw", width: 12, value: ofJob(func(r *record) string { return timeLimit(r, decimal) })},
	{name: "TotalCPU", width: 10, value: cpuTime(func(t times) wire.Duration { return t.total })},
	{name: "TRESUsageInAve", width: 14, value: usageText(inAverage)},
	{name: "TRESUsageInMax", width: 14, value: usageText(inMax)},
	{name: "TRESUsageInMaxNode", width: 18, value: usageNodes(inMax)},
	{name: "TRESUsageInMaxTask", width: 18, value: usageTasks(inMax)},
	{name: "TRESUsageInMin", width: 14, value: usageText(inMin)},
	{name: "TRESUsageInMinNode", width: 18, value: usageNodes(inMin)},
	{name: "TRESUsageInMinTask", width: 18, value: usageTasks(inMin)},
	{name: "TRESUsageInTot", width: 14, value: usageText(inTotal)},
	{name: "TRESUsageOutAve", width: 15, value: usageText(outAverage)},
	{name: "TRESUsageOutMax", width: 15, value: usageText(outMax)},
	{name: "TRESUsageOutMaxNode", width: 19, value: usageNodes(outMax)},
	{name: "TRESUsageOutMaxTask", width: 19, value: usageTasks(outMax)},
	{name: "TRESUsageOutMin", width: 15, value: usageText(outMin)},
	{name: "TRESUsageOutMinNode", width: 19, value: usageNodes(outMin)},
	{name: "TRESUsageOutMinTask", width: 19, value: usageTasks(outMin)},
	{name: "TRESUsageOutTot", width: 15, value: usageText(outTotal)},
	{name: "UID", width: 6, value: ofJob(func(r *record) string { return decimal(int64(r.UserID)) })},
	{name: "User", width: 9, value: ofJob(func(r *record) string { return r.User })},
	{name: "UserCPU", width: 10, value: cpuTime(func(t times) wire.Duration { return t.user })},
	{name: "WCKey", width: 10, value: ofJob(func(r *record) string { return r.WCKey.WCKey })},
	{name: "WCKeyID", width: 8, value: ofJob(func(*record) string { return "0" })},
	{name: "WorkDir", width: 20, value: ofJob(func(r *record) string { return r.WorkDir })},
}

// costField is what a job has come to, in dollars, so far if it runs. Slurm does not have it: no beginning of its name that is one of Slurm's names stands for it, and "all" is
// without it.
var costField = field{name: "Cost", width: 10, value: ofJob(func(r *record) string {
	if r.Cost == nil {
		return ""
	}
	return r.Cost.Text(2)
})}
