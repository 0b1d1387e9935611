package demand

import (
	"math"
	"strings"

	"fsub/sbatch"
)

// capacity is how much of the job a node can hold; no tasks: none of it.
func (n *Ask) capacity(f *Node) (c candidate) {
	if n.never || f.Threads > 0 && n.threads > f.Threads || n.exclusive && f.GPUs*n.cpusGPU > f.CPUs || f.Busy && (n.exclusive || n.memory.all) || f.Mem < n.memory.node() || !n.others.holds(f) {
		return c
	}
	gpus := n.capGPUs(f)
	if gpus < max(n.gpusNode, n.gpusTask*n.perNode) || n.gpusJob > 0 && gpus == 0 {
		return c
	}
	c.cpus = n.capCPUs(f, gpus)
	tasks := c.cpus / n.cost(f)
	if n.overcommit && tasks > 0 {
		tasks = math.MaxInt32
	}
	if c.cpus < n.leastCPUs(f) {
		return c
	}
	for _, most := range [...]int{n.perNode, n.mostHere} {
		if most > 0 {
			tasks = min(tasks, most)
		}
	}
	if tasks = n.capByGPUs(tasks, gpus); tasks == 0 || n.exact && tasks < n.perNode {
		return c
	}
	c.tasks = tasks
	if !n.overcommit {
		c.cpus = tasks * n.cost(f)
	}
	if n.gpusJob > 0 || n.gpusTask > 0 {
		c.gpus = gpus
	}
	return c
}

// capByGPUs is how many of so many tasks have GPUs.
func (n *Ask) capByGPUs(tasks, gpus int) int {
	switch {
	case n.gpusTask > 0:
		return min(tasks, gpus/n.gpusTask, n.tasks)
	case n.gpusJob > 0 && n.bundle > 0 && (tasks >= n.bundle || n.tasksGPU > 0):
		return min(tasks/n.bundle, gpus, n.gpusJob-(n.minNodes-1)) * n.bundle
	}
	return tasks
}

// leastCPUs is how many CPUs a node must have to be thought of: with so many tasks of a node, those of all of them, however few there will be.
func (n *Ask) leastCPUs(f *Node) int {
	if n.overcommit {
		return 0
	}
	return max(n.minCPUs, n.perNode*n.cost(f))
}

// capGPUs is how many GPUs the job could have of a node.
func (n *Ask) capGPUs(f *Node) int {
	gpus := f.GPUs
	if n.gpuType != "" && !strings.EqualFold(n.gpuType, f.GPUType) {
		gpus = 0
	}
	if n.memory.perGPU > 0 {
		gpus = min(gpus, int(f.Mem/n.memory.perGPU))
	}
	if n.cpusGPU > 0 {
		gpus = min(gpus, n.byMemory(f, f.CPUs)/n.cpusGPU)
	}
	return gpus
}

// capCPUs is how many CPUs the job could have of a node that gives it so many GPUs.
func (n *Ask) capCPUs(f *Node, gpus int) int {
	cpus := f.CPUs
	if n.cpusGPU > 0 {
		cpus = min(cpus, max(n.cpusGPU*n.gpusHere(gpus), n.perNode, n.mostHere))
	}
	return n.byMemory(f, cpus)
}

// byMemory is how many of so many CPUs have memory.
func (n *Ask) byMemory(f *Node, cpus int) int {
	if n.memory.perCPU == 0 || n.exclusive && n.memory.byDefault {
		return cpus // the default must not keep out a job that has the node to itself
	}
	if n.exclusive && !n.whole && n.memory.perCPU*sbatch.MemMiB(f.CPUs) > f.Mem {
		return 0 // a job that has the node to itself has all of its CPUs
	}
	byMem := int(f.Mem / n.memory.perCPU)
	if n.overcommit {
		return cpus * min(byMem, 1)
	}
	return min(cpus, byMem)
}

// gpusHere is with how many GPUs slurmctld reckons for the CPUs of a node that could give so many: those of a job's total are not yet shared out then.
func (n *Ask) gpusHere(gpus int) int {
	switch {
	case n.gpusTask > 0:
		return min(gpus/n.gpusTask, n.tasks-(n.minNodes-1)) * n.gpusTask
	case n.gpusJob > 0:
		return min(gpus, n.gpusJob-(n.minNodes-1))
	}
	return n.gpusNode
}

// cost is how many CPUs of a node a task takes.
func (n *Ask) cost(f *Node) int {
	if n.single {
		return n.cpusTask * max(1, f.Threads)
	}
	return n.cpusTask
}
