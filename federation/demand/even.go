package demand

import (
	"math"

	"fsub/sbatch"
)

// Room is how much of a job a node can hold.
type Room struct {
	CPUs  int // that the job could have of it
	Tasks int // 0: the node holds no part of the job
	GPUs  int // of the job's total that it can give
}

// Room is how much of the job a node of a shape holds, as far as CPUs, memory and GPUs go. Resources other than GPUs are left out.
func (n *Ask) Room(shape *Node) Room {
	c := n.capacity(shape)
	return Room{CPUs: c.cpus, Tasks: c.tasks, GPUs: c.gpus}
}

// Names makes room for the nodes that the job names. It returns those that it gets: the first ones, if it may not have so many.
func (n *Ask) Names(names []string) []string {
	names = n.must(names)
	n.atLeast(names)
	return names
}

// Bounds are the fewest and the most nodes that a job can use, of nodes with such room. Most is not more than what helps: a task or a GPU for each node.
// Least may be above most, if the job may not have so many.
func (n *Ask) Bounds(room Room) (least, most int) {
	least = n.minNodes
	if !n.exact {
		least = max(least, ceil(n.tasks, room.Tasks))
	}
	if n.gpusJob > 0 {
		least = max(least, ceil(n.gpusJob, max(room.GPUs, 1)))
	}
	most = least
	if n.counted && !n.exact && !n.overcommit {
		most = max(most, n.tasks)
	}
	most = max(most, n.gpusJob)
	if n.maxNodes > 0 {
		most = min(most, n.maxNodes)
	}
	return least, most
}

// Tasks is the number of tasks of the job; 0: it follows from the nodes.
func (n *Ask) Tasks() int {
	if !n.counted || n.exact || n.overcommit {
		return 0
	}
	return n.tasks
}

// MaxNodes is the most nodes that the job may have; 0: as many as it takes.
func (t *target) MaxNodes() int { return t.maxNodes }

// GPUType is the type of GPU that the job asks for; "": any, or [Ask.MixedGPUs].
func (n *Ask) GPUType() string { return n.gpuType }

// MixedGPUs reports whether the job asks for GPUs of several types.
func (n *Ask) MixedGPUs() bool { return n.gpuTypes > 1 }

// MayHave reports whether the job may have so many nodes, as far as its list of numbers goes ([Demand.NodeSizes]).
func (t *target) MayHave(nodes int) bool { return t.sizes.Has(nodes) }

// Even is what a job gets of each of some nodes of one shape, which have such room, if it has equal parts of all: where it does not come out even, that of
// the node with most. GPUs are those of the job's own counts, also where it has whole nodes.
func (n *Ask) Even(shape *Node, room Room, nodes int) Share {
	s := Share{Tasks: 1}
	give := ceil(n.gpusJob, nodes)
	switch {
	case n.byGPU():
		s.Tasks = give * n.tasksGPU
	case n.exact:
		s.Tasks = n.perNode
	case n.counted:
		s.Tasks = ceil(max(n.tasks, n.final), nodes)
	}
	switch {
	case n.gpusTask > 0:
		s.GPUs = n.gpusTask * s.Tasks
	case n.gpusNode > 0:
		s.GPUs = n.gpusNode
	default:
		s.GPUs = give
	}
	gpus := s.GPUs
	n.size(&s, shape, &candidate{cpus: room.CPUs, tasks: room.Tasks, gpus: room.GPUs})
	s.GPUs = gpus
	return s
}

// LeastCPUs is how many CPUs must be free on a node of a shape for the job to be given any of them; it may take fewer.
func (n *Ask) LeastCPUs(shape *Node) int { return min(n.leastCPUs(shape), math.MaxInt32) }

// Lack is what a node can have too little of.
type Lack uint8

const (
	LackNothing    Lack = iota
	LackThreads         // of a core
	LackCPUsOfTask      // for one task
	LackCPUs            // for what the job asks of each node
	LackGPUs            // of each node
	LackGPUsOfTask      // for one task
	LackTasks           // CPUs for the tasks that each node is to run
	LackMemory          // MiB
	LackRoom            // the parts fit one by one, and not together
)

// Lacks says what a node of a shape, when it is empty, has too little of for any part of the job: so many are wanted, and it has so many. [LackNothing]: it
// holds a part of the job.
func (n *Ask) Lacks(shape *Node) (lack Lack, want, have int) {
	if n.capacity(shape).tasks > 0 {
		return LackNothing, 0, 0
	}
	each := max(n.cost(shape), n.cpusGPU*n.gpusTask)
	perGPU := n.cpusGPU * max(n.gpusNode, min(n.gpusJob, 1))
	mem := int(n.leastMem(shape))
	switch {
	case shape.Threads > 0 && n.threads > shape.Threads:
		return LackThreads, n.threads, shape.Threads
	case each > shape.CPUs:
		return LackCPUsOfTask, each, shape.CPUs
	case max(n.minCPUs, perGPU) > shape.CPUs:
		return LackCPUs, max(n.minCPUs, perGPU), shape.CPUs
	case n.gpusNode > shape.GPUs:
		return LackGPUs, n.gpusNode, shape.GPUs
	case n.gpusTask > shape.GPUs:
		return LackGPUsOfTask, n.gpusTask, shape.GPUs
	case n.perNode*each > shape.CPUs && !n.overcommit:
		return LackTasks, n.perNode, shape.CPUs / each
	case mem > int(shape.Mem):
		return LackMemory, mem, int(shape.Mem)
	}
	return LackRoom, 0, 0
}

// leastMem is the memory that a node must have for any part of the job.
func (n *Ask) leastMem(f *Node) sbatch.MemMiB {
	switch m := &n.memory; {
	case m.node() > 0:
		return m.perNode
	case m.perGPU > 0:
		return m.perGPU * sbatch.MemMiB(max(n.gpusNode, n.gpusTask, min(n.gpusJob, 1)))
	case m.perCPU > 0 && n.exclusive && !n.whole && !m.byDefault:
		return m.perCPU * sbatch.MemMiB(f.CPUs)
	case m.perCPU > 0:
		return m.perCPU * sbatch.MemMiB(max(n.cost(f), n.leastCPUs(f)))
	}
	return 0
}
