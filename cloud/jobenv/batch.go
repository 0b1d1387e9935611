package jobenv

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"fsub/cloud/agentapi"
	"fsub/sbatch"
	"fsub/slurm/hostlist"
)

// Own is what the machine adds of its own.
type Own struct {
	PID      int    // of the script: SLURM_TASK_PID
	TmpDir   string // TMPDIR where the user has none; "": /tmp
	Commands string // the folder of srun, scontrol ..., which comes first in PATH; "": none
	Socket   string // where they find the daemon: FSUB_SOCKET; "": nowhere
	// Login is what a login shell of the user has in its environment, for jobs that [WantsLogin].
	// What was sent along goes before it.
	Login []string
	// IsDir reports whether a path is a folder, for the user's TMPDIR: one that is none is not
	// kept. nil: all are.
	IsDir func(path string) bool
}

// WantsLogin reports whether the job is to begin with the environment of a login shell:
// --get-user-env, and any --export but ALL and NIL.
func WantsLogin(l *agentapi.Launch) bool {
	v, _ := lookup(l.Environment, "SLURM_GET_USER_ENV")
	return v == "1"
}

// Batch returns the whole environment of the batch script: the user's, then what slurmctld and
// slurmd would set.
func Batch(l *agentapi.Launch, o Own) []string {
	e := newEnviron(l.Environment, 64)
	for _, v := range o.Login {
		if name, value, ok := strings.Cut(v, "="); ok {
			e.keep(name, value)
		}
	}
	// What a job around this one had on its node, and its numbers, are not this one's.
	e.drop("CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL", "ROCR_VISIBLE_DEVICES", "ZE_AFFINITY_MASK", "SLURM_JOB_GPUS", "SLURM_GPUS_ON_NODE",
		"FSUB_JOB_ID", "FSUB_ARRAY_JOB_ID")
	for _, v := range l.Environment { // slurmd takes them out when it has set the limits
		if name, _, _ := strings.Cut(v, "="); strings.HasPrefix(name, "SLURM_RLIMIT_") || name == "SLURM_UMASK" {
			e.drop(name)
		}
	}
	g := &l.Groups[0]
	addJob(e, l, g)
	addSize(e, g, "")
	addNode(e, g, o)
	addArray(e, l)
	addComponents(e, l)
	addOwn(e, o)
	for _, v := range TPU(l) {
		name, value, _ := strings.Cut(v, "=")
		e.set(name, value)
	}
	return e.vars
}

// addJob says which job it is.
func addJob(e *environ, l *agentapi.Launch, g *agentapi.Group) {
	id := strconv.FormatUint(uint64(l.Job), 10)
	e.set("SLURM_JOB_ID", id)
	e.set("SLURM_JOBID", id)
	e.set("SLURM_JOB_NAME", g.Spec.Name)
	e.set("SLURM_JOB_USER", l.User.Name)
	e.set("SLURM_JOB_UID", strconv.FormatUint(uint64(l.User.UID), 10))
	e.set("SLURM_JOB_GID", strconv.FormatUint(uint64(l.User.GID), 10))
	e.set("SLURM_CLUSTER_NAME", l.Cluster)
	addWords(e, l, g, "")
	if g.Spec.Reservation != "" {
		e.set("SLURM_JOB_RESERVATION", g.Spec.Reservation)
	}
	if m := g.Spec.More; m != nil && m.Licenses != "" {
		e.set("SLURM_JOB_LICENSES", m.Licenses)
	}
	if m := g.Spec.More; m != nil && m.Overcommit {
		e.set("SLURM_OVERCOMMIT", "1")
	}
	e.set("SLURM_OOM_KILL_STEP", oomKillStep(g.Spec.More))
	e.set("SLURM_JOB_START_TIME", strconv.FormatInt(l.Start.Unix(), 10))
	end := l.Start.Add(365 * 24 * time.Hour) // what slurmctld takes for no limit
	if l.TimeLimit > 0 && l.TimeLimit != sbatch.Unlimited {
		end = l.Start.Add(l.TimeLimit)
	}
	e.set("SLURM_JOB_END_TIME", strconv.FormatInt(end.Unix(), 10))
	if l.Restarts > 0 {
		e.set("SLURM_RESTART_COUNT", strconv.Itoa(l.Restarts))
	}
}

func oomKillStep(m *sbatch.More) string {
	if m != nil && m.OOMKillStep == sbatch.Yes {
		return "1"
	}
	return "0"
}

// addWords adds what each component of a heterogeneous job has as well, under names that end with suffix.
func addWords(e *environ, l *agentapi.Launch, g *agentapi.Group, suffix string) {
	e.set("SLURM_JOB_PARTITION"+suffix, g.Partition)
	if l.Account != "" {
		e.set("SLURM_JOB_ACCOUNT"+suffix, l.Account)
	}
	qos := l.QOS
	if qos == "" {
		qos = "normal" // the one that every site has
	}
	e.set("SLURM_JOB_QOS"+suffix, qos)
}

// addSize says how much the job has.
func addSize(e *environ, g *agentapi.Group, suffix string) {
	names, cpus, tasks := columns(g)
	count, list := strconv.Itoa(len(names)), hostlist.Compress(names)
	e.set("SLURM_JOB_NUM_NODES"+suffix, count)
	e.set("SLURM_JOB_NODELIST"+suffix, list)
	if suffix == "" {
		e.set("SLURM_NNODES", count)
		e.set("SLURM_NODELIST", list)
	}
	e.set("SLURM_JOB_CPUS_PER_NODE"+suffix, Repeated(cpus))
	e.set("SLURM_TASKS_PER_NODE"+suffix, Repeated(tasks))
	if name, amount := memory(g); name != "" {
		e.set(name+suffix, strconv.FormatInt(amount, 10))
	}
	if n := counted(&g.Spec, tasks); n > 0 && suffix == "" {
		e.set("SLURM_NTASKS", strconv.Itoa(n))
		e.set("SLURM_NPROCS", strconv.Itoa(n))
	}
}

func columns(g *agentapi.Group) (names []string, cpus, tasks []int) {
	for i := range g.Nodes {
		n := &g.Nodes[i]
		names, cpus, tasks = append(names, n.Name), append(cpus, n.CPUs), append(tasks, n.Tasks)
	}
	return names, cpus, tasks
}

// memory returns the job's memory limit and the variable that shows it; "" if there is none. sbatch
// itself shows --mem-per-gpu.
func memory(g *agentapi.Group) (name string, amount int64) {
	s, n := &g.Spec, &g.Nodes[0]
	switch {
	case s.MemPerNode == sbatch.MemAll || s.MemPerGPU > 0:
		return "", 0
	case s.MemPerNode > 0:
		return "SLURM_MEM_PER_NODE", int64(s.MemPerNode)
	case s.MemPerCPU > 0:
		return "SLURM_MEM_PER_CPU", int64(s.MemPerCPU)
	case n.Whole || n.MemMiB == 0 || n.CPUs == 0:
		return "", 0
	}
	return "SLURM_MEM_PER_CPU", n.MemMiB / int64(n.CPUs) // the site's default
}

// counted is the number of tasks if it was asked for, 0 else.
func counted(s *sbatch.Spec, tasks []int) int {
	m := s.More
	switch {
	case s.NTasks > 0:
		return s.NTasks
	case s.NTasksPerNode > 0, s.GPUsPerTask != "", m != nil && (m.NTasksPerGPU > 0 || m.NTasksPerTRES > 0):
		sum := 0
		for _, n := range tasks {
			sum += n
		}
		return sum
	}
	return 0
}

// addNode says what the script has on its own node, the first one.
func addNode(e *environ, g *agentapi.Group, o Own) {
	n := &g.Nodes[0]
	e.set("SLURMD_NODENAME", n.Name)
	e.set("HOSTNAME", n.Name)
	e.set("SLURM_TOPOLOGY_ADDR", n.Name)
	e.set("SLURM_TOPOLOGY_ADDR_PATTERN", "node")
	e.set("SLURM_CPUS_ON_NODE", strconv.Itoa(n.CPUs))
	for _, name := range [...]string{"SLURM_NODEID", "SLURM_PROCID", "SLURM_LOCALID", "SLURM_GTIDS"} {
		e.set(name, "0")
	}
	e.set("SLURM_TASK_PID", strconv.Itoa(o.PID))
	e.set("ENVIRONMENT", "BATCH")
	if len(n.GPUs) > 0 {
		list := numbers(n.GPUs)
		e.set("SLURM_JOB_GPUS", list)
		e.set("SLURM_GPUS_ON_NODE", strconv.Itoa(len(n.GPUs)))
		for _, name := range devices {
			e.set(name, list)
		}
	}
}

// devices are the variables by which the libraries of GPUs know which of them are theirs.
var devices = [...]string{"CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL", "ROCR_VISIBLE_DEVICES", "ZE_AFFINITY_MASK"}

func addArray(e *environ, l *agentapi.Launch) {
	a := l.Array
	if a == nil {
		return
	}
	e.set("SLURM_ARRAY_JOB_ID", strconv.FormatUint(uint64(a.Job), 10))
	for _, v := range [...]struct {
		name string
		n    int
	}{{"TASK_ID", a.Task}, {"TASK_COUNT", a.Count}, {"TASK_MIN", a.Min}, {"TASK_MAX", a.Max}, {"TASK_STEP", a.Step}} {
		e.set("SLURM_ARRAY_"+v.name, strconv.Itoa(v.n))
	}
}

// addComponents says it all of each component of a heterogeneous job. PACK is what they were called
// up to 20.02.
func addComponents(e *environ, l *agentapi.Launch) {
	if len(l.Groups) < 2 {
		return
	}
	e.set("SLURM_HET_SIZE", strconv.Itoa(len(l.Groups)))
	e.set("SLURM_PACK_SIZE", strconv.Itoa(len(l.Groups)))
	for i := range l.Groups {
		g := &l.Groups[i]
		for _, kind := range [...]string{"_HET_GROUP_", "_PACK_GROUP_"} {
			suffix := kind + strconv.Itoa(i)
			e.set("SLURM_JOB_ID"+suffix, strconv.FormatUint(uint64(g.Job), 10))
			e.set("SLURM_JOB_NAME"+suffix, g.Spec.Name)
			addWords(e, l, g, suffix)
			addSize(e, g, suffix)
		}
	}
}

// addOwn adds the machine's own.
func addOwn(e *environ, o Own) {
	if dir, _ := e.get("TMPDIR"); dir == "" || o.IsDir != nil && !o.IsDir(dir) {
		e.set("TMPDIR", orText(o.TmpDir, "/tmp"))
	}
	if o.Commands != "" {
		path, _ := e.get("PATH")
		e.set("PATH", o.Commands+":"+orText(path, defaultPath))
	}
	if o.Socket != "" {
		e.drop("FSUB_TOKEN") // of another way in
		e.set("FSUB_SOCKET", o.Socket)
	}
}

// defaultPath is the PATH of a shell that has none in its environment.
const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

func orText(a, b string) string {
	if a == "" {
		return b
	}
	return a
}

// Repeated writes numbers of nodes as Slurm does: "4(x2),1".
func Repeated(counts []int) string {
	var b []byte
	for i := 0; i < len(counts); {
		same := i
		for same < len(counts) && counts[same] == counts[i] {
			same++
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, int64(counts[i]), 10)
		if k := same - i; k > 1 {
			b = append(strconv.AppendInt(append(b, "(x"...), int64(k), 10), ')')
		}
		i = same
	}
	return string(b)
}

func numbers(list []int) string {
	var b []byte
	for i, n := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, int64(n), 10)
	}
	return string(b)
}

// lookup is the value of a variable; the first one counts, as for getenv.
func lookup(env []string, name string) (string, bool) {
	i := slices.IndexFunc(env, func(e string) bool { return len(e) > len(name) && e[len(name)] == '=' && e[:len(name)] == name })
	if i < 0 {
		return "", false
	}
	return env[i][len(name)+1:], true
}
