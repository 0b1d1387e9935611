package slurm

import (
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"

	"fsub/federation"
	"fsub/federation/demand"
	"fsub/sbatch"
	"fsub/slurm/hostlist"
	"fsub/slurm/wire"
	"fsub/slurm/words"
)

// describe turns a submission into what slurmrestd is asked for. It derives what sbatch derives before it submits,
// so that the job is the one that sbatch would have made.
//
// The dependency stays here: the federation has seen to it, and the IDs in it may be jobs of other sites.
func describe(s *federation.Submission) (*wire.JobDesc, error) {
	sp := s.Job.Spec
	d := &wire.JobDesc{
		JobID:        int64(s.Job.Number()),
		UserID:       numeric(s.User.UID),
		GroupID:      numeric(s.User.GID),
		AdminComment: s.Key,

		Partition:   s.Partition,
		OOMKillStep: noValue16,
	}
	if s.Job.Held != federation.NotHeld {
		hold := true
		d.Hold = &hold
	}
	if sp.Nice < 0 {
		// The token of SlurmUser could raise any job: what the user may not do himself must not be done for him.
		return nil, slurmError(federation.ErrInvalid, wire.Error{Number: wire.ErrNice}, "only operators may ask for a negative one")
	}
	words.Describe(d, sp)
	describeSize(d, sp)
	describeTRES(d, sp, s.Job.Needs())
	describeTimes(d, sp)
	describeFiles(d, sp, &s.Payload, s.Restarts)
	if do, _ := sp.NodeLoss(); do == sbatch.LossShrink {
		d.KillOnNodeFail = new(false)
	}
	if sp.More != nil {
		describeMore(d, sp, s.Job.Needs())
	}
	return d, describeNodes(d, sp)
}

// noValue16 says "not given" where slurmrestd would otherwise take 0 for what was asked.
const noValue16 = 0xfffe

func numeric(id uint32) wire.Text { return wire.Text(strconv.FormatUint(uint64(id), 10)) }

// describeSize sets nodes, tasks, CPUs and memory.
func describeSize(d *wire.JobDesc, sp *sbatch.Spec) {
	switch {
	case sp.More != nil && sp.More.NodeSizes != "":
		d.Nodes = sp.More.NodeSizes
	case sp.MaxNodes > sp.MinNodes:
		d.Nodes = fmt.Sprintf("%d-%d", max(1, sp.MinNodes), sp.MaxNodes)
	case sp.MaxNodes > 0:
		d.Nodes = strconv.Itoa(sp.MinNodes)
	default:
		d.MinNodes = sp.MinNodes
	}
	d.Tasks = sp.NTasks
	if sp.NTasks > 0 {
		d.Flags = append(d.Flags, "EXACT_TASK_COUNT_REQUESTED")
	} else if sp.NTasksPerNode > 0 {
		d.Tasks = max(1, sp.MinNodes) * sp.NTasksPerNode
	} // else none: a job that was not asked for tasks has no SLURM_NTASKS
	if sp.CPUsPerTask > 0 {
		d.Flags = append(d.Flags, "EXACT_CPU_COUNT_REQUESTED")
		d.MinCPUsPerNode = sp.CPUsPerTask * max(1, sp.NTasksPerNode)
	}
	if d.Tasks > 0 || sp.MinNodes > 0 || sp.CPUsPerTask > 0 {
		d.MinCPUs = max(1, d.Tasks, sp.MinNodes) * max(1, sp.CPUsPerTask)
	}
	switch {
	case sp.MemPerNode == sbatch.MemAll:
		d.MemoryPerNode = wire.Num(0)
	case sp.MemPerNode > 0:
		d.MemoryPerNode = wire.Num(int64(sp.MemPerNode))
	case sp.MemPerCPU > 0:
		d.MemoryPerCPU = wire.Num(int64(sp.MemPerCPU))
	case sp.MemPerGPU > 0:
		d.MemoryPerTRES = fmt.Sprintf("gres/gpu:%d", sp.MemPerGPU)
	}
	if sp.MemPerNode != 0 || sp.MemPerCPU != 0 {
		d.Flags = append(d.Flags, "EXACT_MEMORY_REQUESTED")
	}
	switch sp.Exclusive {
	case "":
	case "exclusive":
		d.Shared = wire.Strings{"none"}
	default:
		d.Shared = wire.Strings{sp.Exclusive}
	}
	if sp.Switches > 0 {
		d.RequiredSwitches = wire.Num(int64(sp.Switches))
		d.WaitForSwitch = int(sp.SwitchesWait / time.Second)
	}
}

// describeTRES sets the generic resources: each item of a list needs its "gres/".
func describeTRES(d *wire.JobDesc, sp *sbatch.Spec, needs *demand.Demand) {
	d.TRESPerNode = words.TRESPerNode(sp)
	if sp.CPUsPerTask > 0 {
		d.TRESPerTask = "cpu=" + strconv.Itoa(sp.CPUsPerTask)
	}
	if sp.GPUsPerTask == "" { // what else a task asks for stands in --tres-per-task
		return
	}
	for _, g := range needs.GRES {
		if g.Per == demand.PerTask && g.Name == "gpu" {
			d.TRESPerTask = words.Joined(d.TRESPerTask, fmt.Sprintf("gres/%s=%d", g, g.Count))
		}
	}
	if n := needs.Count("gpu", demand.PerTask); n > 0 {
		d.TRESBind = fmt.Sprintf("gres/gpu:per_task:%d", n)
	}
}

// describeTimes sets limits, times and the warning signal.
func describeTimes(d *wire.JobDesc, sp *sbatch.Spec) {
	switch {
	case sp.TimeLimit == sbatch.Unlimited:
		d.TimeLimit = wire.Number{Set: true, Infinite: true}
	case sp.TimeLimit > 0:
		d.TimeLimit = wire.Num(int64(sp.TimeLimit / time.Minute))
	}
	if sp.TimeMin > 0 && sp.TimeMin != sbatch.Unlimited {
		d.TimeMinimum = wire.Num(int64(sp.TimeMin / time.Minute))
	}
	if !sp.Begin.IsZero() {
		d.BeginTime = wire.Num(sp.Begin.Unix())
	}
	if !sp.Deadline.IsZero() {
		d.Deadline = sp.Deadline.Unix()
	}
	if s := sp.Signal; s != nil {
		d.KillWarningSignal = s.Name
		d.KillWarningDelay = wire.Num(int64(s.Before / time.Second))
		if s.BatchOnly {
			d.KillWarningFlags = append(d.KillWarningFlags, "BATCH_JOB")
		}
		if s.Reservation {
			d.KillWarningFlags = append(d.KillWarningFlags, "RESERVATION_JOB")
		}
	}
}

// describeFiles sets the script with arguments and environment, and where its input and output are.
func describeFiles(d *wire.JobDesc, sp *sbatch.Spec, p *sbatch.Payload, restarts int) {
	d.Script = p.Script
	if sp.Command != "" || len(p.Argv) > 0 {
		d.Argv = append([]string{sp.Command}, p.Argv...)
	}
	d.Environment = wire.Environment(p.Environment)
	if restarts > 0 { // slurmctld sets it for its own requeues only
		d.Environment = append(d.Environment[:len(d.Environment):len(d.Environment)], fmt.Sprintf("SLURM_RESTART_COUNT=%d", restarts), fmt.Sprintf("FSUB_RESTARTS=%d", restarts))
	}
	if len(d.Environment) == 0 { // refused otherwise
		d.Environment = wire.Environment{"SLURM_SUBMIT_DIR=" + sp.WorkDir}
	}
	d.StdIn, d.StdOut, d.StdErr = file(sp.WorkDir, sp.Input), file(sp.WorkDir, sp.Output), file(sp.WorkDir, sp.Error)
	if d.StdIn == "" {
		d.StdIn = "/dev/null"
	}
	if sp.OpenMode != "" {
		d.OpenMode = wire.Strings{strings.ToUpper(sp.OpenMode)}
	}
}

// file makes a file name pattern absolute.
func file(dir, name string) string {
	switch {
	case name == "" || path.IsAbs(name):
		return name
	case name == "none":
		return "/dev/null"
	}
	return strings.TrimSuffix(dir, "/") + "/" + name // not cleaned: sbatch does not either
}

// describeNodes sets the nodes that are asked for by name, one by one: slurmrestd takes names, not hostlists.
func describeNodes(d *wire.JobDesc, sp *sbatch.Spec) error {
	for _, l := range []struct {
		list string
		to   *wire.Strings
	}{{sp.NodeList, &d.RequiredNodes}, {sp.Exclude, &d.ExcludedNodes}} {
		names, err := hostlist.Expand(l.list)
		if err != nil {
			return fmt.Errorf("%w: %v", federation.ErrInvalid, err)
		}
		*l.to = names
	}
	if n := len(d.RequiredNodes); n > 0 && sp.MinNodes == 0 && sp.NTasks == 0 {
		d.MinNodes = n
	}
	return nil
}
