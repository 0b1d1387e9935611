package sbatch

import (
	"strconv"
	"strings"
)

// RefuseGPUs says why no Slurm takes what a job asks of GPUs, in slurmctld's words (24.11), "" if there is nothing wrong. Its error is "Invalid generic
// resource (gres) specification", which sbatch shows after them.
func RefuseGPUs(s *Spec) string {
	m := s.More
	if m == nil {
		m = &More{}
	}
	job, node, task := sumGPUs(s.GPUs), max(sumGPUs(s.GPUsPerNode), sumGPUs(gpuGRES(s.GRES))), sumGPUs(s.GPUsPerTask)
	tasksGPU := max(m.NTasksPerGPU, m.NTasksPerTRES)
	has := job > 0 || node > 0 || task > 0 || sumGPUs(m.GPUsPerSocket) > 0 || tasksGPU > 0 && (s.NTasks > 0 || s.MinNodes > 0)
	tasks := s.NTasks
	if fixed := s.MinNodes > 0 && (s.MaxNodes == s.MinNodes || s.MaxNodes == 0); tasks == 0 && fixed && (s.NTasksPerNode > 0 || s.CPUsPerTask == 0) {
		tasks = s.MinNodes * max(1, s.NTasksPerNode)
	}
	switch {
	case tasksGPU > 0 && job == 0 && node == 0 && s.NTasks == 0 && s.MinNodes == 0:
		return "gres_job_state_validate: --ntasks-per-tres needs either a GRES GPU specification or a node/ntask specification"
	case s.MemPerGPU > 0 && !has:
		return "Requested mem_per_tres=gres/gpu:" + strconv.FormatInt(int64(s.MemPerGPU), 10) + " but did not request any GPU."
	case m.CPUsPerGPU > 0 && !has:
		return "Requested cpus_per_tres=gres/gpu:" + strconv.Itoa(m.CPUsPerGPU) + " but did not request any GPU."
	case m.GPUsPerSocket != "" && m.SocketsPerNode == 0:
		return "--gpus-per-socket option requires --sockets-per-node specification"
	case task > 0 && job == 0 && tasks == 0:
		return "Failed to validate job spec. --gpus-per-task or --tres-per-task used without either --gpus or -n/--ntasks is not allowed."
	case tasksGPU > 0 && job == 0 && node == 0 && s.NTasks%tasksGPU > 0:
		return "Failed to validate job spec, -n/--ntasks has to be a multiple of --ntasks-per-gpu."
	case job > 0 && node > job:
		return "Failed to ensure --gpus >= --gres=gpu/--gpus-per-node >= --gpus-per-socket"
	case job > 0 && node > 0 && job%node > 0:
		return "Failed to validate job spec, --gpus is not multiple of --gres=gpu/--gpus-per-node"
	case job > 0 && node > 0 && outside(job/node, s):
		most := uint32(s.MaxNodes)
		if most == 0 {
			most = 1<<32 - 2 // as slurmctld writes "any number"
		}
		return "Failed to validate job spec. Based on --gpu and --gres=gpu/--gpus-per-node required nodes (" + strconv.Itoa(job/node) + ") doesn't fall between min_nodes (" +
			strconv.Itoa(leastNodes(s)) + ") and max_nodes (" + strconv.FormatUint(uint64(most), 10) + ") boundaries."
	case job > 0 && task > 0 && job%task > 0:
		return "Failed to validate job spec, --gpus not multiple of --gpus-per-task"
	case job > 0 && task > 0 && tasks > 0 && job != task*tasks:
		return "Failed to validate job spec. Based on --gpus and --gpus-per-task number of requested tasks differ from -n/--ntasks."
	case job > 0 && job < s.MinNodes:
		return "Failed to validate job spec, --gpus < -N"
	}
	return ""
}

// outside reports whether a number of nodes is none that the job may have.
func outside(nodes int, s *Spec) bool {
	return nodes < leastNodes(s) || s.MaxNodes > 0 && nodes > s.MaxNodes
}

// leastNodes is how many nodes the tasks of a job need, by the number that a node may have.
func leastNodes(s *Spec) int {
	least := max(1, s.MinNodes)
	if s.NTasksPerNode > 0 {
		least = max(least, (s.NTasks+s.NTasksPerNode-1)/s.NTasksPerNode)
	}
	return least
}

// gpuGRES is the part of --gres that is about GPUs, without their name.
func gpuGRES(list string) string {
	var gpus []string
	for item := range strings.SplitSeq(list, ",") {
		if rest, ok := strings.CutPrefix(strings.TrimPrefix(item, "gres/"), "gpu"); ok && (rest == "" || rest[0] == ':' || rest[0] == '=') {
			gpus = append(gpus, "1"[len(rest[:min(1, len(rest))]):]+strings.TrimLeft(rest, ":="))
		}
	}
	return strings.Join(gpus, ",")
}

// sumGPUs adds up a list of "TYPE:N", "TYPE" and "N".
func sumGPUs(list string) (sum int) {
	for item := range strings.SplitSeq(list, ",") {
		if item == "" {
			continue
		}
		item, _, _ = strings.Cut(item, "(")
		if n, err := strconv.Atoi(item[strings.LastIndexAny(item, ":=")+1:]); err == nil {
			sum += n
		} else {
			sum++
		}
	}
	return sum
}
