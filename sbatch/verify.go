package sbatch

import (
	"strconv"
	"strings"
)

// verify makes the checks that sbatch makes once all options are known, and derives what it
// derives. slurmrestd makes none of them.
func (p *parser) verify() error {
	s := &p.req.Spec
	if p.req.Quiet && p.req.Verbose > 0 {
		return p.errorLine(p.exitError, "don't specify both --verbose (-v) and --quiet (-Q)")
	}
	for _, check := range [...]func(*parser) error{(*parser).verifyMemory, (*parser).verifyExclusions, (*parser).verifyTRES,
		(*parser).verifyHint, (*parser).verifyHosts} {
		if err := check(p); err != nil {
			return err
		}
	}
	p.deriveTasks()
	p.deriveNodes()
	if !s.Begin.IsZero() && !s.Deadline.IsZero() && s.Deadline.Before(s.Begin) {
		return p.errorLine(p.exitError, "Incompatible begin and deadline time specification")
	}
	p.deriveNames()
	if s.More != nil && s.More.Priority == "0" {
		s.Hold = true
	}
	if s.More != nil && *s.More == (More{}) { // switched off again
		s.More = nil
	}
	return nil
}

// verifyLate makes the checks that sbatch makes when it has listed the options.
func (p *parser) verifyLate() error {
	if p.distribution == "arbitrary" && p.req.Spec.NodeList == "" {
		return p.errorLine(p.exitError, "With Arbitrary distribution you need to specify a nodelist or hostfile with the -w option")
	}
	if err := p.verifyLimits(); err != nil {
		return err
	}
	return p.readFiles()
}

// verifyMemory allows one of the three sizes. Two on the command line or in the script are an error, two in the
// environment another one; otherwise script and command line put the environment's away.
func (p *parser) verifyMemory() error {
	s := &p.req.Spec
	fields := [...]struct {
		from  source
		value *MemMiB
	}{{p.wasSet("mem"), &s.MemPerNode}, {p.wasSet("mem-per-cpu"), &s.MemPerCPU}, {p.wasSet("mem-per-gpu"), &s.MemPerGPU}}
	written, fromVars := 0, 0
	for _, f := range fields {
		switch f.from {
		case fromScript, fromArgs:
			written++
		case fromEnv:
			fromVars++
		}
	}
	switch {
	case written > 1:
		return p.fatal("--mem, --mem-per-cpu, and --mem-per-gpu are mutually exclusive.")
	case fromVars > 1:
		return p.fatal("SLURM_MEM_PER_CPU, SLURM_MEM_PER_GPU, and SLURM_MEM_PER_NODE are mutually exclusive.")
	case written == 1:
		for _, f := range fields {
			if f.from == fromEnv {
				*f.value = 0
			}
		}
	}
	return nil
}

// verifyExclusions refuses pairs of options that sbatch does not take together.
func (p *parser) verifyExclusions() error {
	has := func(name string) bool { return p.wasSet(name) != fromNowhere }
	if has("threads-per-core") {
		p.informVerbose("Setting --cpu-bind=threads as a default of --threads-per-core use")
	}
	switch {
	case has("resv-ports") && !has("stepmgr"):
		return p.errorLine(p.exitError, "Slurmstepd step management must be enabled to use --resv-ports for job allocations")
	case has("exclusive") && has("oversubscribe"):
		return p.fatal("--exclusive and --oversubscribe options are mutually exclusive")
	case has("cpus-per-task") && has("cpus-per-gpu"):
		return p.fatal("--cpus-per-task, --tres-per-task=cpu:#, and --cpus-per-gpu are mutually exclusive")
	case has("ntasks-per-gpu") && has("gpus-per-task"):
		return p.fatal("--gpus-per-task is mutually exclusive with --ntasks-per-gpu and SLURM_NTASKS_PER_GPU")
	case has("ntasks-per-gpu") && (has("ntasks-per-node") || has("tasks-per-node")):
		return p.fatal("--ntasks-per-node is mutually exclusive with --ntasks-per-gpu and SLURM_NTASKS_PER_GPU")
	case p.release >= Slurm2605 && has("gpus-per-node") && has("gres") && strings.Contains(","+p.req.Spec.GRES, ",gpu"):
		return p.fatal("--gpus-per-node and --gres=gpu are mutually exclusive.")
	case has("bb") && has("bbf"):
		return p.errorLine(p.exitError, "Cannot specify both --burst-buffer and --bbf")
	case has("ntasks-per-gpu") && has("tres-per-task"):
		return p.fatal("--tres-per-task is mutually exclusive with --ntasks-per-gpu and SLURM_NTASKS_PER_GPU")
	case has("ntasks-per-gpu") && has("gpus-per-socket"):
		return p.fatal("--gpus-per-socket is mutually exclusive with --ntasks-per-gpu and SLURM_NTASKS_PER_GPU")
	case has("ntasks-per-core") && has("threads-per-core") && p.more().NTasksPerCore > p.more().ThreadsPerCore:
		return p.errorLine(p.exitError, "--ntasks-per-core (", strconv.Itoa(p.more().NTasksPerCore),
			") can not be bigger than --threads-per-core (", strconv.Itoa(p.more().ThreadsPerCore), ")")
	case p.distribution == "arbitrary" && has("nodes"):
		return p.errorLine(p.exitError, "--nodes is incompatible with --distribution=arbitrary")
	}
	return p.verifySpecialized()
}

// verifySpecialized allows one of --core-spec and --thread-spec. Of the environment's and another
// one the one that is read later counts.
func (p *parser) verifySpecialized() error {
	core, thread := p.wasSet("core-spec"), p.wasSet("thread-spec")
	switch {
	case core == fromNowhere || thread == fromNowhere:
	case core == fromEnv && thread == fromEnv:
		return p.fatal("Both --core-spec and --thread-spec set using environment variables. Those options are mutually exclusive.")
	case core != fromEnv && thread != fromEnv:
		return p.fatal("-S/--core-spec and --thred-spec options are mutually exclusive")
	case core > thread:
		p.forget("thread-spec")
		p.more().ThreadSpec = 0
	default:
		p.forget("core-spec")
		p.more().CoreSpec, p.more().NoCoreSpec = 0, false
	}
	return nil
}

// verifyTRES makes -c and --gpus-per-task of the CPUs and GPUs in --tres-per-task.
func (p *parser) verifyTRES() error {
	if p.tresPerTask == "" {
		return nil
	}
	s := &p.req.Spec
	for _, item := range strings.Split(s.More.TRESPerTask, ",") {
		kind := item
		if end := strings.IndexAny(item, "/=:"); end >= 0 {
			kind = item[:end]
		}
		switch kind {
		case "mem", "energy", "node", "billing", "fs", "vmem", "pages", "bb":
			return p.fatal("Invalid TRES for --tres-per-task: " + kind)
		}
	}
	switch {
	case p.tresCPUs > 0 && p.wasSet("cpus-per-task") != fromNowhere:
		return p.fatal("You can not have --tres-per-task=cpu= and --cpus-per-task please use one or the other")
	case p.tresCPUs > 0 && p.wasSet("cpus-per-gpu") != fromNowhere:
		return p.fatal("--cpus-per-task, --tres-per-task=cpu:#, and --cpus-per-gpu are mutually exclusive")
	case p.tresGPUs != "" && p.wasSet("gpus-per-task") != fromNowhere:
		return p.fatal("You can not have --tres-per-task=gres/gpu= and --gpus-per-task please use one or the other")
	}
	if p.tresCPUs > 0 {
		s.CPUsPerTask = p.tresCPUs
	}
	if p.tresGPUs != "" {
		s.GPUsPerTask = p.tresGPUs
	}
	return nil
}

// verifyLimits looks at the names of --propagate.
func (p *parser) verifyLimits() error {
	if p.propagate == nil || *p.propagate == "ALL" || *p.propagate == "NONE" {
		return nil
	}
	for _, name := range limitNames(*p.propagate) {
		if !knownLimit(name) {
			return p.exit(p.exitError, "sbatch: error: Bad rlimit name: "+name, "sbatch: error: --propagate="+*p.propagate+" is not valid.")
		}
	}
	return nil
}

// deriveTasks counts the tasks that an arbitrary distribution implies, or a number of nodes
// together with one of sockets, cores or threads. -B needs no number of nodes for that.
func (p *parser) deriveTasks() {
	s := &p.req.Spec
	if s.More == nil || s.NTasks > 0 {
		return
	}
	if p.distribution == "arbitrary" {
		hosts, _ := expandHosts(s.NodeList)
		s.NTasks = len(hosts)
		return
	}
	sockets, cores, threads, _ := s.More.Layout()
	fixed := s.MinNodes == s.MaxNodes || s.MaxNodes == 0
	if s.NTasksPerNode > 0 || !fixed || sockets == 0 && cores == 0 && threads == 0 ||
		p.wasSet("nodes") == fromNowhere && s.NodeList == "" && p.wasSet("extra-node-info") == fromNowhere {
		return
	}
	nodes := s.MinNodes
	if p.wasSet("nodes") == fromNowhere {
		nodes, _ = hostCount(s.NodeList)
	}
	s.NTasks = max(1, nodes) * max(1, sockets) * max(1, cores) * max(1, threads)
	p.informVerbose("Number of tasks implicitly set to " + strconv.Itoa(s.NTasks) + ".")
}

// deriveNodes makes the number of nodes fit the number of tasks.
func (p *parser) deriveNodes() {
	s := &p.req.Spec
	if s.NodeList != "" && s.MinNodes == 0 {
		s.MinNodes, _ = hostCount(s.NodeList)
	}
	if s.NTasks == 0 || s.NTasks >= s.MinNodes && (s.NTasks >= s.MaxNodes || s.MaxNodes == 0) {
		if s.NTasks > 0 && s.NTasksPerNode > 0 && s.MinNodes == 0 {
			s.MinNodes = (s.NTasks + s.NTasksPerNode - 1) / s.NTasksPerNode
		}
		return
	}
	if s.NTasks < s.MinNodes {
		warning := "warning"
		if p.release < Slurm2411 {
			warning = "Warning"
		}
		p.inform("sbatch: " + warning + ": can't run " + strconv.Itoa(s.NTasks) + " processes on " + strconv.Itoa(s.MinNodes) +
			" nodes, setting nnodes to " + strconv.Itoa(s.NTasks))
		s.MinNodes = s.NTasks
	}
	if s.MaxNodes > s.NTasks {
		s.MaxNodes = s.NTasks
	}
}

// deriveNames fills in the job's name and makes file names absolute.
func (p *parser) deriveNames() {
	s := &p.req.Spec
	if s.WorkDir == "" {
		s.WorkDir = p.in.Dir
	}
	for _, f := range [...]*string{&s.Input, &s.Output, &s.Error} {
		if *f != "" {
			*f = absolute(s.WorkDir, *f)
		}
	}
	switch {
	case s.Name != "":
	case s.Command != "":
		s.Name = s.Command[strings.LastIndexByte(s.Command, '/')+1:]
	case p.wrap != nil:
		s.Name = "wrap"
	default:
		s.Name = "sbatch"
	}
}
