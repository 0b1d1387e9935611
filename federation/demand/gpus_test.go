package demand

import (
	"strings"
	"testing"

	"fsub/sbatch"
)

// What slurmctld 24.11.5 said.
func TestRefusedGPUs(t *testing.T) {
	for name, c := range map[string]struct {
		spec sbatch.Spec
		said string // a part of it; "": nothing
	}{
		"none":                 {sbatch.Spec{NTasks: 4}, ""},
		"no GPUs, CPUs":        {sbatch.Spec{More: &sbatch.More{CPUsPerGPU: 2}}, "Requested cpus_per_tres=gres/gpu:2 but"},
		"no GPUs, memory":      {sbatch.Spec{MemPerGPU: 100, GRES: "gpu:0"}, "Requested mem_per_tres=gres/gpu:100 but"},
		"memory":               {sbatch.Spec{MemPerGPU: 100, GRES: "nvme:1,gpu:h100:2"}, ""},
		"sockets":              {sbatch.Spec{More: &sbatch.More{GPUsPerSocket: "1"}}, "requires --sockets-per-node"},
		"no tasks":             {sbatch.Spec{GPUsPerTask: "1"}, "used without either"},
		"no tasks, a range":    {sbatch.Spec{GPUsPerTask: "1", MinNodes: 1, MaxNodes: 2}, "used without either"},
		"nodes are tasks":      {sbatch.Spec{GPUsPerTask: "1", MinNodes: 2, MaxNodes: 2}, ""},
		"too few":              {sbatch.Spec{GPUsPerNode: "4", GPUs: "3"}, "Failed to ensure --gpus >="},
		"uneven":               {sbatch.Spec{GPUsPerNode: "2", GPUs: "5"}, "is not multiple of --gres=gpu/--gpus-per-node"},
		"other nodes":          {sbatch.Spec{GPUsPerNode: "1", GPUs: "5", MinNodes: 2, MaxNodes: 2}, "required nodes (5) doesn't fall between min_nodes (2) and max_nodes (2)"},
		"fewer than nodes":     {sbatch.Spec{GPUs: "2", MinNodes: 3, MaxNodes: 3}, "--gpus < -N"},
		"uneven tasks":         {sbatch.Spec{GPUsPerTask: "2", GPUs: "3"}, "--gpus not multiple of --gpus-per-task"},
		"other tasks":          {sbatch.Spec{GPUsPerTask: "2", GPUs: "4", NTasks: 3}, "number of requested tasks differ"},
		"tasks of a GPU":       {sbatch.Spec{NTasks: 7, More: &sbatch.More{NTasksPerGPU: 2}}, "has to be a multiple of --ntasks-per-gpu"},
		"tasks of no GPU":      {sbatch.Spec{More: &sbatch.More{NTasksPerGPU: 2}}, "--ntasks-per-tres needs either"},
		"tasks of GPUs, typed": {sbatch.Spec{GPUs: "h100:4", NTasks: 8, More: &sbatch.More{NTasksPerGPU: 2}}, ""},
	} {
		if said := Of(&c.spec).RefusedGPUs(); !strings.Contains(said, c.said) || (said == "") != (c.said == "") {
			t.Errorf("%s: %q, want %q", name, said, c.said)
		}
	}
}
