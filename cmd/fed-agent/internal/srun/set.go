package srun

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"fsub/sbatch"
	"fsub/slurm/hostlist"
)

// exit ends srun: with text for stdout, or lines for stderr that have their prefix.
type exit struct {
	code           int
	stdout, stderr string
}

func (e *exit) Error() string { return e.stderr }

// bad refuses an option's value, with exit code 1.
func bad(format string, args ...any) error {
	return &exit{1, "", "srun: error: " + fmt.Sprintf(format, args...) + "\n"}
}

// numberOf takes a number of at least 1.
func numberOf(name string, to func(c *call) *int) func(*call, string) error {
	return func(c *call, v string) error {
		n, err := strconv.Atoi(v)
		if err != nil || n < 1 {
			return bad("Invalid numeric value %q for %s.", v, name)
		}
		*to(c) = n
		return nil
	}
}

var (
	numberTasks   = numberOf("--ntasks", func(c *call) *int { return &c.ask.Tasks })
	numberCPUs    = numberOf("--cpus-per-task", func(c *call) *int { return &c.ask.CPUsPerTask })
	numberPerNode = numberOf("--ntasks-per-node", func(c *call) *int { return &c.ask.TasksPerNode })
)

func setTasks(c *call, v string) error {
	c.tasksGiven = !c.inEnv
	return numberTasks(c, v)
}

func setCPUsPerTask(c *call, v string) error {
	before := c.ask.CPUsPerTask
	if err := numberCPUs(c, v); err != nil {
		return err
	}
	if !c.inEnv {
		c.say("SLURM_CPUS_PER_TASK", strconv.Itoa(c.ask.CPUsPerTask))
		c.tresPerTask = append(c.tresPerTask, "cpu="+strconv.Itoa(c.ask.CPUsPerTask))
	}
	if !c.inEnv && before > 0 && c.ask.CPUsPerTask > before {
		c.inform(fmt.Sprintf("Job step's --cpus-per-task value exceeds that of job (%d > %d). Job step may never run.", c.ask.CPUsPerTask, before))
	}
	return nil
}

func setTasksPerNode(c *call, v string) error {
	c.perNodeGiven = !c.inEnv
	return numberPerNode(c, v)
}

// setNodes reads N, N-M; 0 is as if it were not there.
func setNodes(c *call, v string) error {
	least, most, ranged := strings.Cut(v, "-")
	a, err := strconv.Atoi(least)
	b := a
	if err == nil && ranged {
		b, err = strconv.Atoi(most)
	}
	if err != nil || a < 0 || b < a {
		return &exit{255, "", fmt.Sprintf("srun: error: %q is not a valid node count\n", v)}
	}
	if a == 0 {
		return nil
	}
	c.nodesGiven = !c.inEnv
	c.ask.MinNodes, c.ask.MaxNodes = a, b
	return nil
}

func setNodeList(c *call, v string) error {
	if strings.Contains(v, "/") { // a file with names
		text, err := os.ReadFile(v)
		if err != nil {
			return bad("Unable to open nodelist file %s: %s", v, reason(err))
		}
		v = strings.Join(strings.Fields(string(text)), ",")
	}
	names, err := hostlist.Expand(v)
	if err != nil {
		return bad("Invalid node name specification: %s", v)
	}
	c.ask.Nodes = names
	return nil
}

func setExclude(c *call, v string) (err error) {
	if c.ask.Exclude, err = hostlist.Expand(v); err != nil {
		return bad("Invalid node name specification: %s", v)
	}
	return nil
}

func setRelative(c *call, v string) error {
	n, err := strconv.Atoi(v)
	if err != nil || n < 0 {
		return bad("Invalid numeric value %q for --relative.", v)
	}
	c.ask.Relative, c.relativeGiven = n, true
	return nil
}

// setDistribution reads NODES[:SOCKETS[:CORES]][,pack|nopack]; only the first level matters to which task runs where.
func setDistribution(c *call, v string) error {
	lower := strings.ToLower(v)
	levels, _, _ := strings.Cut(lower, ",")
	first, rest, _ := strings.Cut(levels, ":")
	word, size, sized := strings.Cut(first, "=")
	switch word {
	case "block", "cyclic", "arbitrary", "*", "pack", "nopack":
	case "plane":
		n, err := strconv.Atoi(size)
		if sized && (err != nil || n < 1) {
			return badDistribution(v)
		}
		if !sized {
			n, _ = strconv.Atoi(c.env("SLURM_DIST_PLANESIZE"))
		}
		if n < 1 {
			return badDistribution(v)
		}
		c.ask.Plane = n
		c.say("SLURM_DIST_PLANESIZE", strconv.Itoa(n))
	default:
		return badDistribution(v)
	}
	c.shownDistribution, c.ask.Distribution = lower, word
	switch word {
	case "plane":
		c.shownDistribution = "plane"
	case "*":
		c.ask.Distribution, c.shownDistribution = "block", "block"
		if rest != "" {
			c.shownDistribution = "block:" + rest
		}
	case "pack":
		c.ask.Distribution, c.shownDistribution = "block", "block,pack"
	case "nopack":
		c.ask.Distribution, c.shownDistribution = "", ",nopack"
	}
	return nil
}

func badDistribution(v string) error {
	return &exit{255, "", "srun: error: Invalid --distribution specification\n"}
}

// setTRESPerTask reads "cpu=2,gres/gpu=1" in its several spellings.
func setTRESPerTask(c *call, v string) error {
	for item := range strings.SplitSeq(v, ",") {
		item = strings.TrimPrefix(item, "gres/")
		name, count, _ := strings.Cut(strings.Replace(item, ":", "=", 1), "=")
		switch name {
		case "cpu":
			if err := setCPUsPerTask(c, count); err != nil {
				return err
			}
		case "gpu":
			if err := setGPUsPerTask(c, strings.ReplaceAll(count, "=", ":")); err != nil {
				return err
			}
		}
	}
	return nil
}

// gpuCount reads N, TYPE:N or TYPE.
func gpuCount(name, v string) (int, error) {
	last := v[strings.LastIndexAny(v, ":=")+1:]
	n, err := strconv.Atoi(last)
	switch {
	case err == nil && n >= 0:
		return n, nil
	case last == v && v != "" || strings.Contains(v, ":"):
		return 1, nil
	}
	return 0, bad("Invalid %s specification: %s", name, v)
}

func (c *call) gpus(name, v string, to *int) error {
	n, err := gpuCount(name, v)
	c.ask.NoGPUs = err == nil && n == 0
	*to = n
	return err
}

func setGPUs(c *call, v string) error {
	c.say("SLURM_GPUS", v)
	return c.gpus("--gpus", v, &c.ask.GPUs)
}

func setGPUsPerNode(c *call, v string) error {
	c.say("SLURM_GPUS_PER_NODE", v)
	return c.gpus("--gpus-per-node", v, &c.ask.GPUsPerNode)
}

func setGPUsPerTask(c *call, v string) error {
	if err := c.gpus("--gpus-per-task", v, &c.ask.GPUsPerTask); err != nil {
		return err
	}
	n := strconv.Itoa(c.ask.GPUsPerTask)
	c.say("SLURM_TRES_BIND", "gres/gpu:per_task:"+n)
	c.tresPerTask = append(c.tresPerTask, "gres/gpu="+n)
	return nil
}

func setTasksPerGPU(c *call, v string) error {
	if err := numberOf("--ntasks-per-gpu", func(c *call) *int { return &c.tasksPerGPU })(c, v); err != nil {
		return err
	}
	c.gpuBind = "single:" + v
	c.say("SLURM_NTASKS_PER_TRES", v)
	c.say("SLURM_TRES_BIND", "gres/gpu:single:"+v)
	return nil
}

func setCPUsPerGPU(c *call, v string) error {
	c.say("SLURM_CPUS_PER_GPU", v)
	return numberOf("--cpus-per-gpu", func(c *call) *int { return &c.ask.CPUsPerGPU })(c, v)
}

func setGPUBind(c *call, v string) error {
	c.gpuBind = v
	c.say("SLURM_TRES_BIND", "gres/gpu:"+v)
	return nil
}

func setThreadsPerCore(c *call, v string) error {
	c.sayBind(false, "threads", "")
	c.say("SLURM_THREADS_PER_CORE", v)
	return nil
}

func setTasksPerCore(c *call, v string) error {
	c.sayBind(false, "cores", "")
	c.say("SLURM_NTASKS_PER_CORE", v)
	return nil
}

// setExternal is for the daemons of mpirun and mpiexec: they divide the CPUs among their own children.
func setExternal(c *call, _ string) error {
	c.ask.Overlap, c.ask.Overcommit, c.cpuBind = true, true, "none"
	c.sayBind(false, "none", "")
	c.say("SLURM_MEM_BIND", "quiet,none")
	c.say("SLURM_MEM_BIND_LIST", "")
	c.say("SLURM_MEM_BIND_TYPE", "none")
	c.say("SLURM_MEM_BIND_VERBOSE", "quiet")
	return nil
}

// setGRES reads the GPUs of --gres; other resources are not counted on rented nodes.
func setGRES(c *call, v string) error {
	if strings.EqualFold(v, "none") {
		c.ask.NoGPUs = true
		return nil
	}
	for item := range strings.SplitSeq(v, ",") {
		item = strings.TrimPrefix(item, "gres/")
		if item == "gpu" {
			item = "gpu:1"
		}
		if rest, ok := strings.CutPrefix(strings.Replace(item, "=", ":", 1), "gpu:"); ok {
			if err := c.gpus("--gres", rest, &c.ask.GPUsPerNode); err != nil {
				return err
			}
		}
	}
	return nil
}

// mib reads an amount of memory.
func mib(v string) (int64, bool) {
	v = strings.ToUpper(strings.TrimSuffix(strings.ToUpper(v), "B"))
	unit := int64(1)
	if v != "" {
		switch v[len(v)-1] {
		case 'K':
			unit = -1024
		case 'M':
		case 'G':
			unit = 1 << 10
		case 'T':
			unit = 1 << 20
		default:
			v += "M"
		}
		v = v[:len(v)-1]
	}
	n, err := strconv.ParseInt(v, 10, 40)
	if err != nil || n < 0 {
		return 0, false
	}
	if unit < 0 {
		return (n + 1023) / 1024, true
	}
	return n * unit, true
}

func setMem(c *call, v string) error {
	n, ok := mib(v)
	if !ok {
		return &exit{255, "", "srun: error: Invalid --mem specification\n"}
	}
	if n == 0 {
		n = -1
	}
	c.ask.MemPerNode, c.ask.MemPerCPU = n, 0
	return nil
}

func setMemPerCPU(c *call, v string) error {
	n, ok := mib(v)
	if !ok {
		return &exit{255, "", "srun: error: Invalid --mem-per-cpu specification\n"}
	}
	c.ask.MemPerCPU, c.ask.MemPerNode = n, 0
	return nil
}

// setTime takes whole minutes, rounded up.
func setTime(c *call, v string) error {
	d, ok := sbatch.TimeLimit(v)
	if !ok {
		return &exit{1, "", "srun: error: Invalid --time specification\n"}
	}
	if c.timeout = d; d == sbatch.Unlimited {
		c.timeout = 0
	}
	return nil
}

func setWait(c *call, v string) error {
	n, err := strconv.Atoi(v)
	if err != nil || n < 0 {
		return bad("Invalid numeric value %q for --wait.", v)
	}
	c.wait = time.Duration(n) * time.Second
	return nil
}

func setKill(c *call, v string) error {
	if v == "" {
		c.killBad = true
		return nil
	}
	n, err := strconv.Atoi(v)
	if err != nil {
		return bad("Invalid numeric value %q for --kill-on-bad-exit.", v)
	}
	c.killBad = n != 0
	return nil
}

func setOpenMode(c *call, v string) error {
	switch v {
	case "a", "A", "append":
		c.append = true
	case "t", "T", "truncate":
		c.append = false
	default:
		return &exit{255, "", "srun: error: Invalid --open-mode specification\n"}
	}
	return nil
}

func setHint(c *call, v string) error {
	switch v {
	case "compute_bound", "memory_bound", "multithread":
		return nil
	case "nomultithread":
		return setThreadsPerCore(c, "1")
	}
	return &exit{255, "", fmt.Sprintf("srun: error: unrecognized --hint argument \"%s\", see --hint=help\n", v)}
}

func setCPUBind(c *call, v string) error {
	kind := v
	for {
		word, rest, more := strings.Cut(kind, ",")
		switch word {
		case "v", "verbose":
			c.bindVerbose = true
		case "q", "quiet":
			c.bindVerbose = false
		default:
			more = false
		}
		if !more {
			break
		}
		kind = rest
	}
	word, list, _ := strings.Cut(strings.ToLower(kind), ":")
	switch word {
	case "v", "verbose", "q", "quiet", "none", "no", "rank", "cores", "core", "threads", "thread", "sockets", "socket", "ldoms", "ldom", "rank_ldom", "boards":
	case "map_cpu", "mask_cpu":
		if list == "" {
			return bad("missing list for \"--cpu-bind=%s:<list>\"", word)
		}
	case "map_ldom", "mask_ldom":
		return bad("--cpu-bind=%s is not carried out on rented nodes: use map_cpu or mask_cpu", word)
	case "help":
		return &exit{0, cpuBindHelp, ""}
	default:
		return bad("unrecognized --cpu-bind argument \"%s\"", v)
	}
	c.cpuBind = v
	if !slices.Contains([]string{"v", "verbose", "q", "quiet"}, word) {
		c.sayBind(c.bindVerbose, word, list)
	}
	return nil
}

// setTRESBind reads "gres/gpu:per_task:1".
func setTRESBind(c *call, v string) error {
	for item := range strings.SplitSeq(v, "+") {
		if rest, ok := strings.CutPrefix(item, "gres/gpu:"); ok {
			c.gpuBind = rest
		}
	}
	c.say("SLURM_TRES_BIND", v)
	return nil
}

func setLabel(c *call, _ string) error {
	c.label = true
	c.say("SLURM_LABELIO", "1")
	return nil
}

func setOvercommit(c *call, _ string) error {
	c.ask.Overcommit = true
	c.say("SLURM_OVERCOMMIT", "1")
	return nil
}

func setName(c *call, v string) error {
	c.name = v
	c.say("SLURM_JOB_NAME", v)
	return nil
}

func setOOM(c *call, v string) error {
	if v == "" {
		v = "1"
	}
	c.say("SLURM_OOM_KILL_STEP", v)
	return nil
}

// setGroups reads 0,1 or 0-2.
func setGroups(c *call, v string) error {
	for item := range strings.SplitSeq(v, ",") {
		first, last, ranged := strings.Cut(item, "-")
		a, err := strconv.Atoi(first)
		b := a
		if err == nil && ranged {
			b, err = strconv.Atoi(last)
		}
		if err != nil || a < 0 || b < a || b > 128 {
			return bad("Invalid --het-group value: %s", v)
		}
		for ; a <= b; a++ {
			c.groups = append(c.groups, a)
		}
	}
	return nil
}

// setMPI: launchers that bring their own way of finding each other need none. The interfaces of slurmstepd's plugins are not there.
func setMPI(c *call, v string) error {
	switch {
	case v == "list":
		return &exit{0, "MPI plugin types are...\n\tnone\n", ""}
	case v == "none" || v == "openmpi":
		return nil
	case v == "pmi2" || strings.HasPrefix(v, "pmix"):
		if c.inEnv {
			return nil // a leaving of the submitting shell
		}
		return bad("--mpi=%s: rented nodes have no PMI server; start MPI programs with mpirun or mpiexec, which reaches all nodes of the job through srun by itself", v)
	}
	return &exit{1, "", fmt.Sprintf("srun: error: Couldn't find the specified plugin name for mpi/%s looking at all files\nsrun: error: cannot find mpi plugin for mpi/%s\n"+
		"srun: error: MPI: Cannot create context for mpi/%s\nsrun: error: MPI: Unable to load any plugin\nsrun: error: Invalid MPI type '%s', --mpi=list for acceptable types\n", v, v, v, v)}
}

func reason(err error) string {
	if e, ok := err.(*os.PathError); ok {
		err = e.Err
	}
	text := err.Error()
	return strings.ToUpper(text[:1]) + text[1:]
}

func base(path string) string { return filepath.Base(path) }
