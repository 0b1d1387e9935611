package jobenv

import (
	"fmt"
	"strconv"

	"fsub/cloud/agentapi"
	"fsub/slurm/hostlist"
)

// StepSpec is a step as srun has laid it out.
type StepSpec struct {
	ID uint32 // SLURM_STEP_ID
	// Env is what the tasks get of srun's own environment: all of it, or what --export leaves. What
	// srun's options set is srun's to put there: SLURM_CPUS_PER_TASK, SLURM_TRES_PER_TASK,
	// SLURM_NTASKS_PER_NODE, SLURM_GPUS..., SLURM_TRES_BIND, SLURM_LABELIO, SLURM_CPU_BIND... of
	// its own command line, and only of that.
	Env []string
	// Nodes are the host names of the step in order, and Tasks how many tasks each of them runs.
	// CPUs is what the step has of each.
	Nodes []string
	Tasks []int
	CPUs  []int
	// Distribution is srun's --distribution as the step has it: "block", "cyclic", "plane" ... "":
	// srun's default for so many tasks.
	Distribution string
	Host         string // IP address of srun
	Port         int    // where srun listens
	Umask        int
	// Group is the component of a heterogeneous job that the step runs in; -1: in several, or the job has none.
	Group int
}

// TaskSpec is one task of a step.
type TaskSpec struct {
	Node  int   // index in StepSpec.Nodes
	Rank  int   // SLURM_PROCID
	Local int   // SLURM_LOCALID
	Ranks []int // of all tasks of the node: SLURM_GTIDS
	PID   int
	GPUs  []int // what CUDA_VISIBLE_DEVICES shows; nil: the step has none there
	// NodeGPUs is how many the step has on the node: SLURM_GPUS_ON_NODE. 0: as many as GPUs
	NodeGPUs int
}

// Step returns what all tasks of a step have in common. It has no variable that [Task] sets.
func Step(l *agentapi.Launch, s StepSpec) []string {
	e := newEnviron(s.Env, 32)
	e.drop("CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL", "ROCR_VISIBLE_DEVICES", "ZE_AFFINITY_MASK", "SLURM_STEP_GPUS", "SLURM_GPUS_ON_NODE",
		"SLURMD_TRES_BIND", "SLURMD_NODENAME", "SLURM_NODEID", "SLURM_PROCID", "SLURM_LOCALID", "SLURM_GTIDS", "SLURM_TASK_PID", "SLURM_TOPOLOGY_ADDR",
		"SLURM_TOPOLOGY_ADDR_PATTERN", "SLURM_CPUS_ON_NODE")
	addGroup(e, l, &s)
	tasks := 0
	for _, n := range s.Tasks {
		tasks += n
	}
	count, nodes, names := strconv.Itoa(tasks), strconv.Itoa(len(s.Nodes)), hostlist.Compress(s.Nodes)
	id, port := strconv.FormatUint(uint64(s.ID), 10), strconv.Itoa(s.Port)
	distribution := s.Distribution
	if distribution == "" {
		distribution = "block"
		if tasks <= len(s.Nodes) {
			distribution = "cyclic"
		}
	}
	for _, v := range [...]struct{ name, value string }{
		{"SLURM_STEP_ID", id}, {"SLURM_STEPID", id}, {"SLURM_STEP_NUM_NODES", nodes}, {"SLURM_STEP_NUM_TASKS", count}, {"SLURM_STEP_NODELIST", names},
		{"SLURM_STEP_TASKS_PER_NODE", Repeated(s.Tasks)}, {"SLURM_TASKS_PER_NODE", Repeated(s.Tasks)}, {"SLURM_NTASKS", count}, {"SLURM_NPROCS", count},
		{"SLURM_NNODES", nodes}, {"SLURM_DISTRIBUTION", distribution}, {"SLURM_LAUNCH_NODE_IPADDR", s.Host}, {"SLURM_SRUN_COMM_HOST", s.Host},
		{"SLURM_SRUN_COMM_PORT", port}, {"SLURM_STEP_LAUNCHER_PORT", port}, {"SLURM_UMASK", fmt.Sprintf("%04o", s.Umask)},
		{"SLURMD_DEBUG", "2"}, {"SRUN_DEBUG", "3"}, {"SLURM_TOPOLOGY_ADDR_PATTERN", "node"},
	} {
		e.set(v.name, v.value)
	}
	return e.vars
}

// addGroup says what the step has of a heterogeneous job: over several components it is as one job
// of all their nodes.
func addGroup(e *environ, l *agentapi.Launch, s *StepSpec) {
	if len(l.Groups) < 2 {
		return
	}
	if s.Group >= 0 && s.Group < len(l.Groups) {
		addSize(e, &l.Groups[s.Group], "")
		return
	}
	nodes, list := strconv.Itoa(len(s.Nodes)), hostlist.Compress(s.Nodes)
	e.set("SLURM_JOB_NUM_NODES", nodes)
	e.set("SLURM_JOB_NODELIST", list)
	e.set("SLURM_NODELIST", list)
	e.set("SLURM_JOB_CPUS_PER_NODE", Repeated(s.CPUs))
}

// Task returns the whole environment of one task: that of its step, as Step made it, and its own.
// step is not changed.
func Task(s *StepSpec, step []string, t TaskSpec) []string {
	node := s.Nodes[t.Node]
	env := append(make([]string, 0, len(step)+20), step...)
	env = append(env, "SLURMD_NODENAME="+node, "SLURM_TOPOLOGY_ADDR="+node,
		"SLURM_NODEID="+strconv.Itoa(t.Node), "SLURM_PROCID="+strconv.Itoa(t.Rank), "SLURM_LOCALID="+strconv.Itoa(t.Local),
		"SLURM_GTIDS="+numbers(t.Ranks), "SLURM_TASK_PID="+strconv.Itoa(t.PID))
	if t.Node < len(s.CPUs) {
		env = append(env, "SLURM_CPUS_ON_NODE="+strconv.Itoa(s.CPUs[t.Node]))
	}
	if len(t.GPUs) == 0 {
		return env
	}
	list := numbers(t.GPUs)
	for _, name := range devices {
		env = append(env, name+"="+list)
	}
	if bind, ok := lookup(step, "SLURM_TRES_BIND"); ok {
		env = append(env, "SLURMD_TRES_BIND="+bind)
	}
	return append(env, "SLURM_STEP_GPUS="+list, "SLURM_GPUS_ON_NODE="+strconv.Itoa(max(t.NodeGPUs, len(t.GPUs))))
}
