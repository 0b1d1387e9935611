package demand

import (
	"strconv"
	"strings"

	"fsub/sbatch"
	"fsub/sbatch/gres"
)

// Size is what a demand adds up to: slurmctld's ReqTRES.
type Size struct {
	Nodes, Tasks, CPUs int
	Mem                sbatch.MemMiB   // 0: as the partition, or all of each node
	GRES               []gres.Resource // of the whole job, one of each name and type
}

// Size adds d up for some nodes; 0 is as few as it may have.
func (d *Demand) Size(nodes int) Size {
	z := Size{Nodes: nodes}
	if nodes == 0 {
		z.Nodes = d.leastNodes()
	}
	z.Tasks = d.tasksOn(z.Nodes)
	z.CPUs = z.Tasks * max(d.CPUsPerTask, 1)
	switch {
	case d.Overcommit:
		z.CPUs = z.Nodes
	case nodes > 0:
		z.CPUs = max(z.CPUs, nodes)
	case !d.counted() && (d.MaxNodes > d.MinNodes || d.MinNodes < z.Nodes): // no number of tasks follows from one of several numbers of nodes
		z.CPUs = max(d.CPUsPerTask, 1)
	}
	z.GRES = d.totals(&z)
	gpus := z.GPUs()
	z.CPUs = max(z.CPUs, gpus*d.CPUsPerGPU)
	switch m := d.Memory; {
	case m.Amount <= 0:
	case m.Per == PerNode:
		z.Mem = m.Amount * sbatch.MemMiB(z.Nodes)
	case m.Per == PerCPU:
		z.Mem = m.Amount * sbatch.MemMiB(z.CPUs)
	case m.Per == PerGPU:
		z.Mem = m.Amount * sbatch.MemMiB(gpus)
	}
	return z
}

// GPUs is how many GPUs it has, of whatever type.
func (z *Size) GPUs() (n int) {
	for _, g := range z.GRES {
		if g.Name == "gpu" {
			n += g.Count
		}
	}
	return n
}

// leastNodes is how few nodes d may have, whatever they are.
func (d *Demand) leastNodes() int {
	nodes := max(d.MinNodes, 1)
	if d.Tasks > 0 {
		nodes = min(nodes, d.Tasks) // as sbatch does, with a warning
		if d.TasksPerNode > 0 {
			nodes = max(nodes, ceil(d.Tasks, d.TasksPerNode))
		}
	}
	if each := d.Count("gpu", PerNode); each > 0 {
		nodes = max(nodes, ceil(d.Count("gpu", PerJob), each))
	}
	return nodes
}

// Sizes are the numbers of nodes that a job may have, with gaps between: "1,2,4", "1-9:2", as [sbatch.More.NodeSizes]. "": all between its bounds.
type Sizes string

// Has reports whether a number of nodes is one of them.
func (s Sizes) Has(nodes int) bool {
	if s == "" {
		return true
	}
	for item := range strings.SplitSeq(string(s), ",") {
		span, step, _ := strings.Cut(item, ":")
		from, to, ranged := strings.Cut(span, "-")
		if !ranged {
			to = from
		}
		a, _ := strconv.Atoi(from)
		b, _ := strconv.Atoi(to)
		by, _ := strconv.Atoi(step)
		if nodes >= a && nodes <= b && (nodes-a)%max(1, by) == 0 {
			return true
		}
	}
	return false
}

// counted reports whether the number of tasks is known.
func (d *Demand) counted() bool {
	return d.Tasks > 0 || d.TasksPerNode > 0 || d.TasksPerGPU > 0 || d.Count("gpu", PerJob) > 0 && d.Count("gpu", PerTask) > 0
}

// tasksOn is the number of tasks on some nodes, if no option says it.
func (d *Demand) tasksOn(nodes int) int {
	job, task := d.Count("gpu", PerJob), d.Count("gpu", PerTask)
	switch {
	case d.Tasks > 0:
		return d.Tasks
	case d.TasksPerNode > 0:
		return d.TasksPerNode * nodes
	case d.TasksPerGPU > 0:
		return max(1, job, d.Count("gpu", PerNode)*nodes) * d.TasksPerGPU
	case job > 0 && task > 0:
		return max(1, job/task)
	}
	return nodes
}

// totals are the resources of the whole job. Where a resource is asked for on several bases they say the same of it, and one of them
// says how many there are.
func (d *Demand) totals(z *Size) []gres.Resource {
	var out []gres.Resource
	for _, g := range d.GRES {
		r := g.Resource
		switch job, task := d.Count(g.Name, PerJob), d.Count(g.Name, PerTask); {
		case job > 0 && g.Per != PerJob, job == 0 && task > 0 && g.Per != PerTask:
			continue
		case g.Per == PerTask:
			r.Count *= z.Tasks
		case g.Per == PerNode:
			r.Count *= z.Nodes
		case g.Per == PerSocket:
			r.Count *= z.Nodes * max(d.Sockets, 1)
		}
		out = append(out, r)
	}
	if d.TasksPerGPU > 0 && !d.AsksGPUs() {
		out = append(out, gres.Resource{Name: "gpu", Count: ceil(z.Tasks, d.TasksPerGPU)})
	}
	return out
}

func ceil(a, b int) int { return (a + b - 1) / b }
