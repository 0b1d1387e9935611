package demand

import "strconv"

// RefusedGPUs says why no Slurm takes what a job asks of GPUs, in slurmctld's words (24.11), "" if there is nothing wrong. Its error is
// "Invalid generic resource (gres) specification", which sbatch shows after them.
func (d *Demand) RefusedGPUs() string {
	job, node, task, socket := d.Count("gpu", PerJob), d.Count("gpu", PerNode), d.Count("gpu", PerTask), d.Count("gpu", PerSocket)
	each := d.TasksPerGPU
	has := d.AsksGPUs() || each > 0 && (d.Tasks > 0 || d.MinNodes > 0)
	tasks := d.Tasks
	if fixed := d.MinNodes > 0 && (d.MaxNodes == d.MinNodes || d.MaxNodes == 0); tasks == 0 && fixed && (d.TasksPerNode > 0 || d.CPUsPerTask == 0) {
		tasks = d.MinNodes * max(1, d.TasksPerNode)
	}
	switch {
	case each > 0 && job == 0 && node == 0 && d.Tasks == 0 && d.MinNodes == 0:
		return "gres_job_state_validate: --ntasks-per-tres needs either a GRES GPU specification or a node/ntask specification"
	case d.Memory.Per == PerGPU && !has:
		return "Requested mem_per_tres=gres/gpu:" + strconv.FormatInt(int64(d.Memory.Amount), 10) + " but did not request any GPU."
	case d.CPUsPerGPU > 0 && !has:
		return "Requested cpus_per_tres=gres/gpu:" + strconv.Itoa(d.CPUsPerGPU) + " but did not request any GPU."
	case socket > 0 && d.Sockets == 0:
		return "--gpus-per-socket option requires --sockets-per-node specification"
	case task > 0 && job == 0 && tasks == 0:
		return "Failed to validate job spec. --gpus-per-task or --tres-per-task used without either --gpus or -n/--ntasks is not allowed."
	case each > 0 && job == 0 && node == 0 && d.Tasks%each > 0:
		return "Failed to validate job spec, -n/--ntasks has to be a multiple of --ntasks-per-gpu."
	case job > 0 && node > job:
		return "Failed to ensure --gpus >= --gres=gpu/--gpus-per-node >= --gpus-per-socket"
	case job > 0 && node > 0 && job%node > 0:
		return "Failed to validate job spec, --gpus is not multiple of --gres=gpu/--gpus-per-node"
	case job > 0 && node > 0 && d.outside(job/node):
		most := uint32(d.MaxNodes)
		if most == 0 {
			most = 1<<32 - 2 // as slurmctld writes "any number"
		}
		return "Failed to validate job spec. Based on --gpu and --gres=gpu/--gpus-per-node required nodes (" + strconv.Itoa(job/node) + ") doesn't fall between min_nodes (" +
			strconv.Itoa(d.nodesForTasks()) + ") and max_nodes (" + strconv.FormatUint(uint64(most), 10) + ") boundaries."
	case job > 0 && task > 0 && job%task > 0:
		return "Failed to validate job spec, --gpus not multiple of --gpus-per-task"
	case job > 0 && task > 0 && tasks > 0 && job != task*tasks:
		return "Failed to validate job spec. Based on --gpus and --gpus-per-task number of requested tasks differ from -n/--ntasks."
	case job > 0 && job < d.MinNodes:
		return "Failed to validate job spec, --gpus < -N"
	}
	return ""
}

// outside reports whether a number of nodes is none that the job may have.
func (d *Demand) outside(nodes int) bool {
	return nodes < d.nodesForTasks() || d.MaxNodes > 0 && nodes > d.MaxNodes
}

// nodesForTasks is how many nodes the tasks of a job need, by the number that a node may have.
func (d *Demand) nodesForTasks() int {
	least := max(1, d.MinNodes)
	if d.TasksPerNode > 0 {
		least = max(least, ceil(d.Tasks, d.TasksPerNode))
	}
	return least
}
