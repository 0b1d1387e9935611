package slurm

import (
	"math"
	"strconv"
	"strings"
	"time"

	"fsub/federation/demand"
	"fsub/sbatch"
	"fsub/slurm/wire"
	"fsub/slurm/words"
)

// describeMore sets what is asked for beyond the usual. It comes last: some of it overrules what was derived before.
//
// The priority stays here: a site would take it from the token of SlurmUser as it does from operators, and of users' it
// takes no notice.
func describeMore(d *wire.JobDesc, sp *sbatch.Spec, needs *demand.Demand) {
	m := sp.More
	describeLayout(d, m)
	describeCPUs(d, sp, needs)
	describeBinding(d, m)
	describeFlags(d, m)
	d.DelayBoot = int(m.DelayBoot / time.Second)
	if m.DelayBoot == sbatch.Unlimited {
		d.DelayBoot = math.MaxUint32
	}
	d.MemBindType, d.MemBind = memoryBinding(m.MemBind)
	if d.Profile = words.Profile(m); m.Profile == "all" {
		d.Profile = wire.Strings{"ENERGY", "LUSTRE", "NETWORK", "TASK"}
	}
}

// memoryBinding is the words of --mem-bind and the list of its map or mask.
func memoryBinding(bind string) (types wire.Strings, list string) {
	if bind == "" {
		return nil, ""
	}
	words, list, _ := strings.Cut(bind, ":")
	for _, w := range strings.Split(words, ",") {
		types = append(types, strings.ToUpper(strings.TrimSuffix(w, "_mem")))
	}
	return types, list
}

// describeLayout sets how the tasks lie on nodes, sockets and cores.
func describeLayout(d *wire.JobDesc, m *sbatch.More) {
	d.SocketsPerNode, d.CoresPerSocket, d.ThreadsPerCore, d.TasksPerCore = m.Layout()
	d.NTasksPerTRES = max(m.NTasksPerGPU, m.NTasksPerTRES)
	d.MinCPUsPerNode = max(d.MinCPUsPerNode, m.MinCPUs)
	d.Distribution = m.Distribution
	if _, size, plane := strings.Cut(m.Distribution, "plane="); plane {
		d.PlaneSize, _ = strconv.Atoi(size)
	}
}

// describeCPUs sets the least number of CPUs where it is not that of the tasks.
func describeCPUs(d *wire.JobDesc, sp *sbatch.Spec, needs *demand.Demand) {
	m := sp.More
	switch {
	case m.Overcommit:
		d.MinCPUs = max(1, sp.MinNodes)
	case m.NodeSizes != "": // without a word on tasks there is one, on whatever number of nodes
		d.MinCPUs = max(1, d.Tasks) * max(1, sp.CPUsPerTask)
	case sp.NTasks == 0: // slurmctld counts the tasks of GPUs, but not their CPUs, and does not tell the job
		if n := max(needs.Count("gpu", demand.PerJob), needs.Count("gpu", demand.PerNode)*max(1, sp.MinNodes)) * d.NTasksPerTRES; n > 0 {
			d.Tasks, d.MinCPUs = n, max(d.MinCPUs, n*max(1, sp.CPUsPerTask))
			d.Flags = append(d.Flags, "EXACT_TASK_COUNT_REQUESTED")
		}
	}
}

// describeBinding sets what is bound to what.
func describeBinding(d *wire.JobDesc, m *sbatch.More) {
	d.TRESPerTask = words.Joined(d.TRESPerTask, m.TRESPerTask)
	switch {
	case m.TRESBind != "":
		d.TRESBind = m.TRESBind
	case m.GPUBind != "":
		d.TRESBind = "gres/gpu:" + m.GPUBind
	}
}

// describeFlags sets what is asked for by a word in the list of flags, and choices.
func describeFlags(d *wire.JobDesc, m *sbatch.More) {
	for _, f := range [...]struct {
		asked bool
		flag  string
	}{
		{strings.Contains(m.GRESFlags, "enforce-binding"), "GRES_BINDING_ENFORCED"},
		{strings.Contains(m.GRESFlags, "disable-binding"), "GRES_BINDING_DISABLED"},
		{m.KillOnInvalidDep == sbatch.Yes, "KILL_INVALID_DEPENDENCY"}, {m.KillOnInvalidDep == sbatch.No, "NO_KILL_INVALID_DEPENDENCY"},
	} {
		if f.asked {
			d.Flags = append(d.Flags, f.flag)
		}
	}
	if m.WaitAllNodes != "" {
		d.WaitAllNodes = new(m.WaitAllNodes == sbatch.Yes)
	}
	switch m.OOMKillStep {
	case sbatch.Yes:
		d.OOMKillStep = 1
	case sbatch.No:
		d.OOMKillStep = 0
	}
}
