package srun

import "fsub/sbatch/getopt"

const (
	no  = getopt.NoArg
	req = getopt.RequiredArg
	opt = getopt.OptionalArg
)

// row is one of srun's. Its environment variables are read in their order, before the command
// line. An option without a set function speaks of the job, which is there already: srun within a
// job takes it and does nothing with it.
type row struct {
	name  string
	short byte
	arg   getopt.Arg
	env   []string
	set   func(c *call, value string) error
}

// options are those of srun 24.11. An option that a plugin there would carry out is in refusedOptions.
var options = []row{
	{"account", 'A', req, nil, nil},
	{"acctg-freq", 0, req, nil, nil},
	{"bb", 0, req, nil, nil},
	{"bbf", 0, req, nil, nil},
	{"bcast", 0, opt, nil, refuse("bcast")},
	{"bcast-exclude", 0, req, nil, nil},
	{"begin", 'b', req, nil, nil},
	{"chdir", 'D', req, []string{"SLURM_REMOTE_CWD", "SLURM_WORKING_DIR"}, func(c *call, v string) error { c.dir = v; return nil }},
	{"cluster-constraint", 0, req, nil, nil},
	{"clusters", 'M', req, nil, nil},
	{"cluster", 0, req, nil, nil},
	{"comment", 0, req, nil, nil},
	{"compress", 0, opt, nil, nil},
	{"constraint", 'C', req, nil, nil},
	{"container", 0, req, []string{"SLURM_CONTAINER"}, refuse("container")},
	{"container-id", 0, req, []string{"SLURM_CONTAINER_ID"}, refuse("container-id")},
	{"container-entrypoint", 0, no, nil, setContainer("container-entrypoint")},
	{"container-entrypoint-log", 0, no, nil, setContainer("container-entrypoint-log")},
	{"container-env", 0, req, nil, setContainer("container-env")},
	{"container-image", 0, req, nil, setContainer("container-image")},
	{"container-mount-home", 0, no, nil, setContainer("container-mount-home")},
	{"container-mounts", 0, req, nil, setContainer("container-mounts")},
	{"container-name", 0, req, nil, setContainer("container-name")},
	{"container-readonly", 0, no, nil, setContainer("container-readonly")},
	{"container-remap-root", 0, no, nil, setContainer("container-remap-root")},
	{"container-save", 0, req, nil, setContainer("container-save")},
	{"container-unshare", 0, req, nil, setContainer("container-unshare")},
	{"container-workdir", 0, req, nil, setContainer("container-workdir")},
	{"container-writable", 0, no, nil, setContainer("container-writable")},
	{"contiguous", 0, no, nil, nil},
	{"core-spec", 'S', req, nil, nil},
	{"cores-per-socket", 0, req, nil, nil},
	{"cpu-bind", 0, req, []string{"SLURM_CPU_BIND"}, setCPUBind},
	{"cpu-freq", 0, req, nil, nil},
	{"cpus-per-gpu", 0, req, []string{"SLURM_CPUS_PER_GPU"}, setCPUsPerGPU},
	{"cpus-per-task", 'c', req, []string{"SLURM_CPUS_PER_TASK", "SRUN_CPUS_PER_TASK"}, setCPUsPerTask},
	{"deadline", 0, req, nil, nil},
	{"delay-boot", 0, req, nil, nil},
	{"dependency", 'd', req, nil, nil},
	{"disable-status", 'X', no, []string{"SLURM_DISABLE_STATUS"}, func(c *call, _ string) error { c.noStatus = true; return nil }},
	{"distribution", 'm', req, []string{"SLURM_DISTRIBUTION"}, setDistribution},
	{"epilog", 0, req, nil, nil},
	{"error", 'e', req, []string{"SLURM_STDERRMODE"}, func(c *call, v string) error { c.stderr = &v; return nil }},
	{"exact", 0, no, []string{"SLURM_EXACT"}, func(c *call, _ string) error { c.ask.Exact = true; return nil }},
	{"exclude", 'x', req, nil, setExclude},
	{"exclusive", 0, opt, []string{"SLURM_EXCLUSIVE"}, func(c *call, _ string) error { c.ask.Exact, c.exclusive = true, true; return nil }},
	{"export", 0, req, []string{"SLURM_EXPORT_ENV"}, func(c *call, v string) error { c.export = v; return nil }},
	{"external-launcher", 0, no, nil, setExternal},
	{"extra", 0, req, nil, nil},
	{"extra-node-info", 'B', req, nil, nil},
	{"gpu-bind", 0, req, []string{"SLURM_GPU_BIND"}, setGPUBind},
	{"gpu-freq", 0, req, nil, nil},
	{"gpus", 'G', req, []string{"SLURM_GPUS"}, setGPUs},
	{"gpus-per-node", 0, req, []string{"SLURM_GPUS_PER_NODE"}, setGPUsPerNode},
	{"gpus-per-socket", 0, req, nil, nil},
	{"gpus-per-task", 0, req, nil, setGPUsPerTask},
	{"gres", 0, req, []string{"SLURM_STEP_GRES"}, setGRES},
	{"gres-flags", 0, req, nil, nil},
	{"help", 'h', no, nil, func(*call, string) error { return askedHelp }},
	{"het-group", 0, req, []string{"SLURM_HET_GROUP"}, setGroups},
	{"pack-group", 0, req, nil, setGroups},
	{"hint", 0, req, []string{"SLURM_HINT"}, setHint},
	{"hold", 'H', no, nil, nil},
	{"immediate", 'I', opt, []string{"SLURM_IMMEDIATE"}, setImmediate},
	{"input", 'i', req, []string{"SLURM_STDINMODE"}, func(c *call, v string) error { c.stdin = v; return nil }},
	{"jobid", 0, req, nil, func(c *call, v string) error { c.job = v; return nil }},
	{"job-name", 'J', req, nil, setName},
	{"kill-on-bad-exit", 'K', opt, []string{"SLURM_KILL_BAD_EXIT"}, setKill},
	{"label", 'l', no, []string{"SLURM_LABELIO"}, setLabel},
	{"licenses", 'L', req, nil, nil},
	{"mail-type", 0, req, nil, nil},
	{"mail-user", 0, req, nil, nil},
	{"mcs-label", 0, req, nil, nil},
	{"mem", 0, req, []string{"SLURM_MEM_PER_NODE"}, setMem},
	{"mem-bind", 0, req, nil, nil},
	{"mem-per-cpu", 0, req, []string{"SLURM_MEM_PER_CPU"}, setMemPerCPU},
	{"mem-per-gpu", 0, req, nil, func(c *call, _ string) error { c.ask.ByGPU = true; return nil }},
	{"mincpus", 0, req, nil, nil},
	{"mpi", 0, req, []string{"SLURM_MPI_TYPE"}, setMPI},
	{"multi-prog", 0, no, []string{"SLURM_MULTI_PROG"}, func(c *call, _ string) error { c.multiProg = true; return nil }},
	{"network", 0, req, nil, nil},
	{"nice", 0, opt, nil, nil},
	{"no-allocate", 'Z', no, nil, refuse("no-allocate")},
	{"no-container-entrypoint", 0, no, nil, setContainer("no-container-entrypoint")},
	{"no-container-mount-home", 0, no, nil, setContainer("no-container-mount-home")},
	{"no-container-remap-root", 0, no, nil, setContainer("no-container-remap-root")},
	{"no-kill", 'k', opt, []string{"SLURM_NO_KILL"}, func(c *call, v string) error { c.noKill = v != "off"; return nil }},
	{"nodelist", 'w', req, nil, setNodeList},
	{"nodes", 'N', req, []string{"SLURM_NNODES", "SLURM_JOB_NUM_NODES"}, setNodes},
	{"ntasks", 'n', req, []string{"SLURM_NPROCS", "SLURM_NTASKS"}, setTasks},
	{"ntasks-per-core", 0, req, nil, setTasksPerCore},
	{"ntasks-per-gpu", 0, req, nil, setTasksPerGPU},
	{"ntasks-per-node", 0, req, []string{"SLURM_NTASKS_PER_NODE"}, setTasksPerNode},
	{"tasks-per-node", 0, req, nil, setTasksPerNode},
	{"ntasks-per-socket", 0, req, nil, nil},
	{"ntasks-per-tres", 0, req, nil, nil},
	{"oom-kill-step", 0, opt, nil, setOOM},
	{"open-mode", 0, req, []string{"SLURM_OPEN_MODE"}, setOpenMode},
	{"output", 'o', req, []string{"SLURM_STDOUTMODE"}, func(c *call, v string) error { c.stdout = &v; return nil }},
	{"overcommit", 'O', no, []string{"SLURM_OVERCOMMIT"}, setOvercommit},
	{"overlap", 0, no, []string{"SLURM_OVERLAP"}, func(c *call, _ string) error { c.ask.Overlap = true; return nil }},
	{"oversubscribe", 's', no, nil, nil},
	{"partition", 'p', req, nil, nil},
	{"power", 0, req, nil, nil},
	{"prefer", 0, req, nil, nil},
	{"preserve-env", 'E', no, []string{"SLURM_PRESERVE_ENV"}, nil},
	{"priority", 0, req, nil, nil},
	{"profile", 0, req, nil, nil},
	{"prolog", 0, req, nil, nil},
	{"propagate", 0, opt, nil, nil},
	{"pty", 0, opt, nil, func(c *call, _ string) error { c.pty = true; return nil }},
	{"qos", 'q', req, nil, nil},
	{"quiet", 'Q', no, []string{"SLURM_QUIET"}, func(c *call, _ string) error { c.quiet = true; return nil }},
	{"quit-on-interrupt", 0, no, nil, func(c *call, _ string) error { c.quit = true; return nil }},
	{"reboot", 0, no, nil, nil},
	{"relative", 'r', req, nil, setRelative},
	{"reservation", 0, req, nil, nil},
	{"resv-ports", 0, opt, nil, nil},
	{"segment", 0, req, nil, nil},
	{"send-libs", 0, opt, nil, nil},
	{"signal", 0, req, nil, nil},
	{"slurmd-debug", 0, req, nil, nil},
	{"sockets-per-node", 0, req, nil, nil},
	{"spread-job", 0, no, nil, nil},
	{"stepmgr", 0, no, nil, nil},
	{"switches", 0, req, nil, nil},
	{"task-epilog", 0, req, []string{"SLURM_TASK_EPILOG"}, refuse("task-epilog")},
	{"task-prolog", 0, req, []string{"SLURM_TASK_PROLOG"}, refuse("task-prolog")},
	{"test-only", 0, no, nil, func(c *call, _ string) error { c.testOnly = true; return nil }},
	{"thread-spec", 0, req, nil, nil},
	{"threads", 'T', req, nil, nil},
	{"threads-per-core", 0, req, nil, setThreadsPerCore},
	{"time", 't', req, []string{"SLURM_TIMELIMIT"}, setTime},
	{"time-min", 0, req, nil, nil},
	{"tmp", 0, req, nil, nil},
	{"tres-bind", 0, req, []string{"SLURM_TRES_BIND"}, setTRESBind},
	{"tres-per-task", 0, req, []string{"SLURM_TRES_PER_TASK"}, setTRESPerTask},
	{"unbuffered", 'u', no, []string{"SLURM_UNBUFFEREDIO"}, func(c *call, _ string) error { c.unbuffered = true; return nil }},
	{"usage", 0, no, nil, func(*call, string) error { return &exit{0, usageText, ""} }},
	{"use-min-nodes", 0, no, nil, nil},
	{"verbose", 'v', no, nil, func(c *call, _ string) error { c.verbose++; return nil }},
	{"version", 'V', no, nil, func(*call, string) error { return &exit{0, versionText, ""} }},
	{"wait", 'W', req, []string{"SLURM_WAIT"}, setWait},
	{"wckey", 0, req, nil, nil},
	{"x11", 0, opt, nil, refuse("x11")},
}

// refusals are options that cannot be carried out here, and what to do instead.
var refusals = map[string]string{
	"bcast":        "copy the file with sbcast",
	"container":    "start the container with the command itself",
	"container-id": "start the container with the command itself",
	"no-allocate":  "leave it away: the job has its nodes",
	"task-epilog":  "call it from a script that srun runs",
	"task-prolog":  "call it from a script that srun runs",
	"x11":          "forward the display with ssh",
}

// refuse is for what cannot be done here.
func refuse(name string) func(*call, string) error {
	return func(*call, string) error {
		return bad("--%s is not carried out on rented nodes: %s", name, refusals[name])
	}
}

func newSet() *getopt.Set {
	rows := make([]getopt.Option, len(options))
	for i := range options {
		rows[i] = getopt.Option{Name: options[i].name, Short: options[i].short, Arg: options[i].arg, ID: i}
	}
	return getopt.NewSet("srun", rows)
}
