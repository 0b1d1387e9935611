package sbatch

import (
	"strconv"
	"strings"
)

// verify makes the checks that sbatch makes once all options are known, and derives what it
// derives. slurmrestd makes none of them.
func (p *parser) verify() error {
	s := &p.req.Spec
	if p.notices.quiet && p.notices.verbose > 0 {
		return errorLine(p.exitError, "don't specify both --verbose (-v) and --quiet (-Q)")
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
		return errorLine(p.exitError, "Incompatible begin and deadline time specification")
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
	if p.own.distribution == "arbitrary" && p.req.Spec.NodeList == "" {
		return errorLine(p.exitError, "With Arbitrary distribution you need to specify a nodelist or hostfile with the -w option")
	}
	if err := p.env.verifyLimits(p.exitError); err != nil {
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
	}{{p.given.from("mem"), &s.MemPerNode}, {p.given.from("mem-per-cpu"), &s.MemPerCPU}, {p.given.from("mem-per-gpu"), &s.MemPerGPU}}
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
		return fatal("--mem, --mem-per-cpu, and --mem-per-gpu are mutually exclusive.")
	case fromVars > 1:
		return fatal("SLURM_MEM_PER_CPU, SLURM_MEM_PER_GPU, and SLURM_MEM_PER_NODE are mutually exclusive.")
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
	has := p.given.has
	if has("threads-per-core") {
		p.notices.informVerbose("Setting --cpu-bind=threads as a default of --threads-per-core use")
	}
	switch {
	case has("resv-ports") && !has("stepmgr"):
		return errorLine(p.exitError, "Slurmstepd step management must be enabled to use --resv-ports for job allocations")
	case has("exclusive") && has("oversubscribe"):
		return fatal("--exclusive and --oversubscribe options are mutually exclusive")
	case has("cpus-per-task") && has("cpus-per-gpu"):
		return fatal("--cpus-per-task, --tres-per-task=cpu:#, and --cpus-per-gpu are mutually exclusive")
	case has("ntasks-per-gpu") && has("gpus-per-task"):
		return fatal("--gpus-per-task is mutually exclusive with --ntasks-per-gpu and SLURM_NTASKS_PER_GPU")
	case has("ntasks-per-gpu") && (has("ntasks-per-node") || has("tasks-per-node")):
		return fatal("--ntasks-per-node is mutually exclusive with --ntasks-per-gpu and SLURM_NTASKS_PER_GPU")
	case p.release >= Slurm2605 && has("gpus-per-node") && has("gres") && strings.Contains(","+p.req.Spec.GRES, ",gpu"):
		return fatal("--gpus-per-node and --gres=gpu are mutually exclusive.")
	case has("bb") && has("bbf"):
		return errorLine(p.exitError, "Cannot specify both --burst-buffer and --bbf")
	case has("ntasks-per-gpu") && has("tres-per-task"):
		return fatal("--tres-per-task is mutually exclusive with --ntasks-per-gpu and SLURM_NTASKS_PER_GPU")
	case has("ntasks-per-gpu") && has("gpus-per-socket"):
		return fatal("--gpus-per-socket is mutually exclusive with --ntasks-per-gpu and SLURM_NTASKS_PER_GPU")
	case has("ntasks-per-core") && has("threads-per-core") && p.more().NTasksPerCore > p.more().ThreadsPerCore:
		return errorLine(p.exitError, "--ntasks-per-core (", strconv.Itoa(p.more().NTasksPerCore),
			") can not be bigger than --threads-per-core (", strconv.Itoa(p.more().ThreadsPerCore), ")")
	case p.own.distribution == "arbitrary" && has("nodes"):
		return errorLine(p.exitError, "--nodes is incompatible with --distribution=arbitrary")
	}
	return p.verifySpecialized()
}

// verifySpecialized allows one of --core-spec and --thread-spec. Of the environment's and another
// one the one that is read later counts.
func (p *parser) verifySpecialized() error {
	core, thread := p.given.from("core-spec"), p.given.from("thread-spec")
	switch {
	case core == fromNowhere || thread == fromNowhere:
	case core == fromEnv && thread == fromEnv:
		return fatal("Both --core-spec and --thread-spec set using environment variables. Those options are mutually exclusive.")
	case core != fromEnv && thread != fromEnv:
		return fatal("-S/--core-spec and --thred-spec options are mutually exclusive")
	case core > thread:
		p.given.ignore("thread-spec")
		p.more().ThreadSpec = 0
	default:
		p.given.ignore("core-spec")
		p.more().CoreSpec, p.more().NoCoreSpec = 0, false
	}
	return nil
}

// verifyTRES makes -c and --gpus-per-task of the CPUs and GPUs in --tres-per-task.
func (p *parser) verifyTRES() error {
	if !p.own.tres.given {
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
			return fatal("Invalid TRES for --tres-per-task: " + kind)
		}
	}
	switch {
	case p.own.tres.cpus > 0 && p.given.has("cpus-per-task"):
		return fatal("You can not have --tres-per-task=cpu= and --cpus-per-task please use one or the other")
	case p.own.tres.cpus > 0 && p.given.has("cpus-per-gpu"):
		return fatal("--cpus-per-task, --tres-per-task=cpu:#, and --cpus-per-gpu are mutually exclusive")
	case p.own.tres.gpus != "" && p.given.has("gpus-per-task"):
		return fatal("You can not have --tres-per-task=gres/gpu= and --gpus-per-task please use one or the other")
	}
	if p.own.tres.cpus > 0 {
		s.CPUsPerTask = p.own.tres.cpus
	}
	if p.own.tres.gpus != "" {
		s.GPUsPerTask = p.own.tres.gpus
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
	if p.own.distribution == "arbitrary" {
		hosts, _ := expandHosts(s.NodeList)
		s.NTasks = len(hosts)
		return
	}
	sockets, cores, threads, _ := s.More.Layout()
	fixed := s.MinNodes == s.MaxNodes || s.MaxNodes == 0
	if s.NTasksPerNode > 0 || !fixed || sockets == 0 && cores == 0 && threads == 0 ||
		!p.given.has("nodes") && s.NodeList == "" && !p.given.has("extra-node-info") {
		return
	}
	nodes := s.MinNodes
	if !p.given.has("nodes") {
		nodes, _ = hostCount(s.NodeList)
	}
	s.NTasks = max(1, nodes) * max(1, sockets) * max(1, cores) * max(1, threads)
	p.notices.informVerbose("Number of tasks implicitly set to " + strconv.Itoa(s.NTasks) + ".")
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
		p.notices.inform("sbatch: " + warning + ": can't run " + strconv.Itoa(s.NTasks) + " processes on " + strconv.Itoa(s.MinNodes) +
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
