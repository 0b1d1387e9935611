package place

import (
	"cmp"
	"math"

	"fsub/federation"
	"fsub/federation/demand"
	"fsub/sbatch/gres"
	"fsub/slurm/hostlist"
)

// ask is a job's demand and what follows from it for any pool. What it takes in one pool is a [fit].
type ask struct {
	*demand.Demand

	minNodes, maxNodes int // 0: not said
	tasks              int // 0: not said
	tasksPerNode       int // 0: not said
	cpusPerTask        int

	nodeGRES []gres.Resource // of each node
	jobGRES  []gres.Resource // of the whole job
	taskGRES []gres.Resource // of each task

	include  []string // nodes it requires
	exclude  []string
	switches int // 0: any number of leaves
}

// newAsk derives the ask of a demand. dropSwitches: the job has waited long enough for its --switches.
func newAsk(d *demand.Demand, dropSwitches bool) *ask {
	a := &ask{
		Demand:   d,
		minNodes: d.MinNodes, maxNodes: d.MaxNodes,
		tasks: d.Tasks, tasksPerNode: d.TasksPerNode,
		cpusPerTask: max(d.CPUsPerTask, 1),
		switches:    d.Switches,
	}
	if dropSwitches {
		a.switches = 0
	}
	if a.maxNodes == 0 {
		a.maxNodes = a.minNodes // "-N 2" is both bounds
	}
	if a.tasks > 0 && a.tasks < a.minNodes {
		a.minNodes = a.tasks // as sbatch does, with a warning
	}
	a.sortGRES()
	a.tasksOfGPUs()
	if d.Overcommit && len(a.taskGRES) == 0 {
		a.tasks, a.tasksPerNode = 0, 0 // all tasks of a node share the CPUs of one
	}
	a.include, _ = hostlist.ExpandLoosely(d.NodeList)
	if a.maxNodes > 0 && len(a.include) > a.maxNodes {
		a.include = a.include[:a.maxNodes] // as sbatch does, with a warning
	}
	a.exclude, _ = hostlist.ExpandLoosely(d.Exclude)
	return a
}

func (a *ask) sortGRES() {
	for _, g := range a.GRES {
		r := g.Resource
		r.Count = min(r.Count, math.MaxInt32)
		switch g.Per {
		case demand.PerNode:
			a.nodeGRES = append(a.nodeGRES, r)
		case demand.PerSocket:
			r.Count *= max(a.Sockets, 1)
			a.nodeGRES = addGRES(a.nodeGRES, r)
		case demand.PerJob:
			a.jobGRES = append(a.jobGRES, r)
		case demand.PerTask:
			a.taskGRES = append(a.taskGRES, r)
		}
	}
	if each := a.Count("gpu", demand.PerTask); each > 0 && len(a.jobGRES) > 0 {
		// Of the whole and each part the third follows: the number of tasks.
		if a.tasks == 0 {
			a.tasks = max(a.Count("gpu", demand.PerJob)/each, 1)
		}
		a.jobGRES = nil
	}
}

// tasksOfGPUs has tasks follow from the GPUs, or GPUs from the tasks, where the job says how many tasks share one.
func (a *ask) tasksOfGPUs() {
	each, node, job := a.TasksPerGPU, a.gpusOnNode(), countGPUs(a.jobGRES)
	switch {
	case each == 0 || countGPUs(a.taskGRES) > 0:
	case node > 0:
		a.tasksPerNode = cmp.Or(a.tasksPerNode, node*each)
		if a.tasks > 0 && a.minNodes > 0 { // slurmctld makes them as many
			a.tasks = a.minNodes * node * each
		}
	case job > 0:
		a.tasks = job * each
	case a.tasks > 0:
		a.jobGRES = append(a.jobGRES, gres.Resource{Name: "gpu", Count: ceilDiv(a.tasks, each)})
	default:
		a.nodeGRES = append(a.nodeGRES, gres.Resource{Name: "gpu", Count: 1})
		a.tasksPerNode = cmp.Or(a.tasksPerNode, each)
	}
}

// gpusOnNode is how many GPUs the job asks for on each node, 0 if it does not say so.
func (a *ask) gpusOnNode() int { return countGPUs(a.nodeGRES) }

// cpusOfTask is how many CPUs of a node a task takes: with one thread of each core, those of whole cores.
func (a *ask) cpusOfTask(shape *federation.Node) int {
	if a.Threads == 1 && shape.Threads > 1 {
		return a.cpusPerTask * shape.Threads
	}
	return a.cpusPerTask
}

func countGPUs(asks []gres.Resource) int {
	n := 0
	for _, g := range asks {
		if g.Name == "gpu" {
			n += g.Count
		}
	}
	return n
}

func countGRES(asks []gres.Resource) int {
	n := 0
	for _, a := range asks {
		n += a.Count
	}
	return n
}

// addGRES adds more to asks, joining equal kinds.
func addGRES(asks []gres.Resource, more ...gres.Resource) []gres.Resource {
next:
	for _, m := range more {
		for i := range asks {
			if asks[i].Name == m.Name && asks[i].Type == m.Type {
				asks[i].Count += m.Count
				continue next
			}
		}
		asks = append(asks, m)
	}
	return asks
}
