package jobenv

import "fsub/cloud/agentapi"

// StepSpec is a step as srun has laid it out.
type StepSpec struct {
	ID uint32 // SLURM_STEP_ID
	// Env is what the tasks get of srun's own environment: all of it, or what --export leaves. SLURM_* that srun's options set are
	// srun's to put there (SLURM_NTASKS_PER_NODE, SLURM_CPUS_PER_TASK ... of its own command line).
	Env []string
	// Nodes are the host names of the step in order, and Tasks how many tasks each of them runs. CPUs is what the step has of each.
	Nodes []string
	Tasks []int
	CPUs  []int
	// Distribution is srun's --distribution as the step has it: "block", "cyclic", "plane" ...
	Distribution string
	Host         string // IP address of srun
	Port         int    // where srun listens
	Umask        int
	// Group is the component of a heterogeneous job that the step runs in; all of them have the same.
	Group int
}

// TaskSpec is one task of a step.
type TaskSpec struct {
	Node  int   // index in StepSpec.Nodes
	Rank  int   // SLURM_PROCID
	Local int   // SLURM_LOCALID
	Ranks []int // of all tasks of the node: SLURM_GTIDS
	PID   int
	GPUs  []int // what CUDA_VISIBLE_DEVICES shows; nil: the job has none there
}

// Step returns what all tasks of a step have in common.
func Step(l *agentapi.Launch, s StepSpec) []string { return nil }

// Task returns the whole environment of one task: that of its step, as Step made it, and its own.
func Task(l *agentapi.Launch, s StepSpec, step []string, t TaskSpec) []string { return nil }
