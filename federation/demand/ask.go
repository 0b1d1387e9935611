package demand

import (
	"fmt"
	"slices"
	"strings"

	"fsub/sbatch"
	"fsub/slurm/hostlist"
)

// Ask is a demand in numbers that agree with each other, as sbatch and slurmctld derive them, at a site that gives out its nodes in some way.
type Ask struct {
	target
	asked      bool // the number of tasks is --ntasks
	perNode    int  // tasks of a node at most; 0: any number
	allTasks   int  // a node has the CPUs of so many tasks, also where it runs fewer
	mostHere   int  // tasks of a node at most, as it follows from the GPUs; 0: any number
	bundle     int  // tasks that share a GPU: a node takes whole bundles where it can
	cpusTask   int
	minCPUs    int // of a node
	cpusGPU    int
	threads    int  // of a core, that it must have
	single     bool // one thread of each core
	never      bool // slurmctld never starts it
	final      int  // the number of tasks that the job is told in the end, where it is another one; else 0
	overcommit bool

	memory memory
	others others // see [readOthers]

	gpusNode int
	gpuType  string // "": any
	gpuTypes int    // how many types are asked for

	exclusive, whole bool
}

// target is what the nodes of a job must be and hold together.
type target struct {
	minNodes, maxNodes int // maxNodes 0: as many as it takes
	sizes              Sizes
	spread, useMin     bool

	tasks   int  // at least one for each node
	counted bool // the number of tasks is known: SLURM_NTASKS is there
	exact   bool // each node has the same tasks, however many nodes there are

	gpusJob, gpusTask int // of the whole job, of each task
	tasksGPU          int // that share a GPU
}

// Ask derives the numbers of d at a site with such options.
func (d *Demand) Ask(o Options) Ask {
	n := Ask{
		target: target{minNodes: max(1, d.MinNodes), maxNodes: d.MaxNodes, sizes: d.NodeSizes, spread: d.Spread, useMin: d.UseMinNodes,
			tasks: d.Tasks, tasksGPU: d.TasksPerGPU},
		asked: d.Tasks > 0, perNode: d.TasksPerNode, cpusTask: max(1, d.CPUsPerTask), minCPUs: d.MinCPUs, cpusGPU: d.CPUsPerGPU,
		threads: d.Threads, single: d.Threads == 1, overcommit: d.Overcommit, exclusive: d.Whole || o.Whole, whole: o.Whole, memory: d.memory(o),
	}
	if o.Release != "" && (o.Release < sbatch.Slurm2411 || o.Release >= sbatch.Slurm2605) {
		n.allTasks = d.TasksPerNode
	}
	if o.Most > 0 && n.maxNodes > o.Most {
		n.maxNodes = max(o.Most, n.minNodes)
	}
	n.readGPUs(d)
	n.count()
	return n
}

// rented is [Demand.Ask] for nodes that are rented: with an error, if no such nodes will ever do.
func (d *Demand) rented(o Options) (Ask, error) {
	if said := d.RefusedGPUs(); said != "" {
		return Ask{}, &Refused{Text: said + "\nInvalid generic resource (gres) specification"}
	}
	if err := d.Refused(); err != nil {
		return Ask{}, err
	}
	n := d.Ask(o)
	if n.gpuTypes > 1 {
		return Ask{}, fmt.Errorf("%s: no machine has GPUs of several types", d.gpuTypes())
	}
	var err error
	n.others, err = readOthers(d)
	return n, err
}

// readGPUs sums the GPUs, whatever their types.
func (n *Ask) readGPUs(d *Demand) {
	for _, g := range d.GRES {
		if g.Name == "gpu" && g.Type != "" && !strings.EqualFold(n.gpuType, g.Type) {
			n.gpuType = g.Type
			n.gpuTypes++
		}
	}
	if n.gpuTypes > 1 {
		n.gpuType = ""
	}
	n.gpusNode, n.gpusTask, n.gpusJob = d.Count("gpu", PerNode), d.Count("gpu", PerTask), d.Count("gpu", PerJob)
	if n.gpusNode == 0 {
		n.gpusNode = d.Count("gpu", PerSocket) * max(d.Sockets, 1)
	}
}

// gpuTypes lists the types of GPU that d asks for.
func (d *Demand) gpuTypes() string {
	var types []string
	for _, g := range d.GRES {
		if g.Name == "gpu" && g.Type != "" && !slices.Contains(types, g.Type) {
			types = append(types, g.Type)
		}
	}
	return strings.Join(types, ", ")
}

// count derives the numbers of tasks and nodes from each other and from the GPUs, as sbatch and slurmctld do.
func (n *Ask) count() {
	n.counted = n.tasks > 0
	n.countGPUs()
	switch {
	case n.counted:
	case n.gpusTask > 0 && n.gpusJob > 0:
		n.counted, n.tasks = true, max(1, n.gpusJob/n.gpusTask)
	case n.perNode > 0:
		n.counted, n.exact = true, true
		n.tasks = n.minNodes * n.perNode
		if n.minNodes == 1 && n.gpusJob == n.perNode { // one for each task, and all of them here
			n.gpusNode, n.gpusJob = n.gpusJob, 0
		}
	case n.gpusTask > 0:
		n.counted, n.tasks = true, n.minNodes
	default:
		n.tasks = n.minNodes
	}
	if n.gpusTask > 0 { // they follow the tasks
		n.gpusJob = 0
		if n.gpusNode > 0 && n.perNode == 0 {
			n.perNode = max(1, n.gpusNode/n.gpusTask)
		}
		n.gpusNode = 0
	}
	if n.perNode > 0 && !n.exact {
		n.minNodes = max(n.minNodes, ceil(n.tasks, n.perNode))
	}
	if n.tasks < n.minNodes {
		n.minNodes = n.tasks
	}
}

// countGPUs is about the GPUs of the whole job, and tasks for each of them.
func (n *Ask) countGPUs() {
	n.bundle = n.tasksGPU
	if n.tasksGPU == 0 && n.gpusTask == 0 && n.counted && n.gpusJob > 0 && n.tasks%n.gpusJob == 0 {
		n.bundle = n.tasks / n.gpusJob
	}
	if n.gpusJob > 0 && n.gpusNode > 0 {
		n.minNodes = ceil(n.gpusJob, n.gpusNode)
		n.maxNodes, n.sizes, n.gpusJob, n.mostHere = n.minNodes, "", 0, n.bundle*n.gpusNode
	}
	switch {
	case n.tasksGPU == 0 || n.gpusTask > 0:
	case n.gpusNode > 0, !n.counted && n.gpusJob == 0:
		n.gpusNode = max(1, n.gpusNode)
		n.perNode = n.gpusNode * n.tasksGPU
		n.final = n.minNodes * n.perNode
	default:
		if n.gpusJob == 0 {
			n.gpusJob = ceil(n.tasks, n.tasksGPU)
		}
		n.final = n.gpusJob * n.tasksGPU
		if n.minNodes > 1 && n.maxNodes == n.minNodes { // a node has as many as the other
			n.never = n.never || n.gpusJob%n.minNodes > 0
			n.gpusNode = n.gpusJob / n.minNodes
			n.perNode, n.gpusJob = n.gpusNode*n.tasksGPU, 0
		}
	}
	if n.final > 0 && !n.counted {
		n.counted, n.tasks = true, n.final
	}
}

// named makes room for the nodes that the job names.
func (n *Ask) named(d *Demand) error {
	if d.NodeList == "" {
		return nil
	}
	names, err := hostlist.Expand(d.NodeList)
	if err != nil {
		return err
	}
	n.atLeast(n.must(names))
	return nil
}

// must is which of the nodes that the job names it gets: the first ones, if it may not have so many.
func (n *Ask) must(names []string) []string {
	most := len(names)
	if n.maxNodes > 0 {
		most = min(most, n.maxNodes)
	}
	if n.counted && !n.exact {
		most = min(most, n.tasks)
	}
	return names[:most]
}

func (n *Ask) atLeast(names []string) {
	nodes := len(names)
	if nodes <= n.minNodes {
		return
	}
	switch {
	case n.exact:
		n.tasks = nodes * n.perNode
	case n.tasks < nodes:
		n.tasks = nodes
	}
	n.minNodes = nodes
}
