package salloc

import (
	"slices"
	"strconv"
	"strings"

	"fsub/cmd/internal/srun"
	v1 "fsub/federation/api/v1"
	"fsub/slurm/hostlist"
)

// told are the variables that salloc 24.11 gives its command of what the batch script of such a job has.
var told = []string{"SLURM_CLUSTER_NAME", "SLURM_CPUS_PER_GPU", "SLURM_CPUS_PER_TASK", "SLURM_DISTRIBUTION", "SLURM_GPUS", "SLURM_GPUS_PER_NODE", "SLURM_GPUS_PER_TASK", "SLURM_JOBID",
	"SLURM_JOB_ACCOUNT", "SLURM_JOB_CPUS_PER_NODE", "SLURM_JOB_ID", "SLURM_JOB_NAME", "SLURM_JOB_NODELIST", "SLURM_JOB_NUM_NODES", "SLURM_JOB_PARTITION", "SLURM_JOB_QOS",
	"SLURM_JOB_RESERVATION", "SLURM_MEM_PER_CPU", "SLURM_MEM_PER_GPU", "SLURM_MEM_PER_NODE", "SLURM_NNODES", "SLURM_NODELIST", "SLURM_NPROCS", "SLURM_NTASKS",
	"SLURM_NTASKS_PER_NODE", "SLURM_OVERCOMMIT", "SLURM_SUBMIT_DIR", "SLURM_SUBMIT_HOST", "SLURM_TASKS_PER_NODE"}

// allocated are the variables of a job: of what its batch script is given, or of a job at a Slurm cluster, what the federation knows of it.
func allocated(j *v1.Job, batch []string) []string {
	env := []string{srun.AllocationEnv + "=" + strconv.Itoa(int(j.ID))}
	for _, e := range batch {
		if name, _, _ := strings.Cut(e, "="); slices.Contains(told, name) {
			env = append(env, e)
		}
	}
	if batch != nil {
		return env
	}
	set := func(names, value string) {
		for _, name := range strings.Fields(names) {
			if value != "" && value != "0" {
				env = append(env, name+"="+value)
			}
		}
	}
	set("SLURM_JOB_ID SLURM_JOBID", strconv.Itoa(int(j.ID)))
	set("SLURM_JOB_NAME", j.Spec.Name)
	set("SLURM_JOB_NODELIST SLURM_NODELIST", j.Nodes)
	nodes, _ := hostlist.Count(j.Nodes)
	set("SLURM_JOB_NUM_NODES SLURM_NNODES", strconv.Itoa(nodes))
	set("SLURM_JOB_PARTITION", j.Partition)
	set("SLURM_JOB_ACCOUNT", j.Account)
	set("SLURM_JOB_QOS", j.Spec.QOS)
	set("SLURM_CLUSTER_NAME", string(j.Site))
	set("SLURM_SUBMIT_DIR", j.Spec.WorkDir)
	set("SLURM_SUBMIT_HOST", j.SubmitHost)
	return env
}

// withoutJob is an environment without what describes a job.
func withoutJob(env []string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(e string) bool { name, _, _ := strings.Cut(e, "="); return slices.Contains(told, name) })
}
