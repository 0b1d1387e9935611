package sbatch

// Where the plain texts, counts, flags and choices of [More] are, by the names of their options.

// textField is where a plain text goes, nil if the option is none.
func (m *More) textField(name string) *string {
	switch name {
	case "acctg-freq":
		return &m.AcctgFreq
	case "batch":
		return &m.Batch
	case "bb":
		return &m.BurstBuffer
	case "container":
		return &m.Container
	case "container-id":
		return &m.ContainerID
	case "cluster-constraint":
		return &m.ClusterConstraint
	case "context":
		return &m.Context
	case "cpu-freq":
		return &m.CPUFreq
	case "distribution":
		return &m.Distribution
	case "extra":
		return &m.Extra
	case "gpu-bind":
		return &m.GPUBind
	case "gpu-freq":
		return &m.GPUFreq
	case "gpus-per-socket":
		return &m.GPUsPerSocket
	case "gres-flags":
		return &m.GRESFlags
	case "hint":
		return &m.Hint
	case "licenses":
		return &m.Licenses
	case "mcs-label":
		return &m.MCSLabel
	case "mem-bind":
		return &m.MemBind
	case "network":
		return &m.Network
	case "nodes":
		return &m.NodeSizes
	case "prefer":
		return &m.Prefer
	case "priority":
		return &m.Priority
	case "profile":
		return &m.Profile
	case "tres-bind":
		return &m.TRESBind
	case "tres-per-task":
		return &m.TRESPerTask
	case "resv-ports":
		return &m.ResvPorts
	case "wckey":
		return &m.WCKey
	}
	return nil
}

func (m *More) countField(name string) *int {
	switch name {
	case "core-spec":
		return &m.CoreSpec
	case "cores-per-socket":
		return &m.CoresPerSocket
	case "cpus-per-gpu":
		return &m.CPUsPerGPU
	case "mincpus":
		return &m.MinCPUs
	case "ntasks-per-core":
		return &m.NTasksPerCore
	case "ntasks-per-gpu":
		return &m.NTasksPerGPU
	case "ntasks-per-socket":
		return &m.NTasksPerSocket
	case "ntasks-per-tres":
		return &m.NTasksPerTRES
	case "segment":
		return &m.Segment
	case "sockets-per-node":
		return &m.SocketsPerNode
	case "thread-spec":
		return &m.ThreadSpec
	case "threads-per-core":
		return &m.ThreadsPerCore
	}
	return nil
}

func (m *More) flagField(name string) *bool {
	switch name {
	case "contiguous":
		return &m.Contiguous
	case "no-kill":
		return &m.NoKill
	case "overcommit":
		return &m.Overcommit
	case "reboot":
		return &m.Reboot
	case "spread-job":
		return &m.SpreadJob
	case "stepmgr":
		return &m.StepManager
	case "use-min-nodes":
		return &m.UseMinNodes
	}
	return nil
}

func (m *More) yesNoField(name string) *YesNo {
	switch name {
	case "kill-on-invalid-dep":
		return &m.KillOnInvalidDep
	case "oom-kill-step":
		return &m.OOMKillStep
	case "wait-all-nodes":
		return &m.WaitAllNodes
	}
	return nil
}
