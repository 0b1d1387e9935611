package place

import (
	"fsub/federation"
	"fsub/federation/codes"
	"fsub/federation/demand"
	"fsub/federation/reasons"
	"fsub/sbatch"
	"fsub/sbatch/gres"
	"fsub/slurm/hostlist"
)

// ask is a job's demand and what follows from it for any pool. What it takes in one pool is a [fit].
type ask struct {
	*demand.Demand
	include  []string // nodes it requires
	exclude  []string
	switches int // 0: any number of leaves
	tasks    int // 0: it follows from the nodes
	gpuType  string
	mixed    bool // GPUs of several types
}

// newAsk derives the ask of a demand. dropSwitches: the job has waited long enough for its --switches.
func newAsk(d *demand.Demand, dropSwitches bool) *ask {
	a := &ask{Demand: d, switches: d.Switches}
	if dropSwitches {
		a.switches = 0
	}
	numbers := d.Ask(demand.Options{})
	a.tasks, a.gpuType, a.mixed = numbers.Tasks(), numbers.GPUType(), numbers.MixedGPUs()
	a.include, _ = hostlist.ExpandLoosely(d.NodeList)
	a.include = numbers.Names(a.include)
	a.exclude, _ = hostlist.ExpandLoosely(d.Exclude)
	return a
}

// numbers is the demand in numbers for a pool, and one of its nodes when it is empty.
func (m *model) numbers(a *ask, shape *federation.Node, part *federation.Partition) (demand.Ask, demand.Node) {
	o := demand.Options{Whole: shape.Rented != nil && shape.Rented.Whole, DefMemPerNode: part.DefMemPerNode}
	if m.obs.Version != federation.OwnVersion {
		o.Release = sbatch.Release(m.obs.Version)
	}
	if o.DefMemPerNode == 0 {
		o.DefMemPerCPU = part.DefMemPerCPU
	}
	n := a.Ask(o)
	n.Names(a.include)
	gpus := gres.Resource{Name: "gpu", Type: a.gpuType}
	return n, demand.Node{CPUs: shape.CPUs, Mem: shape.Mem, GPUs: shapeGRES(shape, gpus), GPUType: gpus.Type, Threads: shape.Threads}
}

// lacks refuses a shape that has less of something than the job wants on every node, whatever its tasks.
func (m *model) lacks(a *ask, shape *federation.Node) *refusal {
	for _, g := range a.GRES {
		if no := m.hasGRES(shape, g.Resource); no != nil {
			return no
		}
	}
	for _, x := range [...]struct {
		want, have int
		what       string
	}{{a.Sockets, shape.Sockets, "sockets"}, {a.Cores, shape.Cores, "cores a socket"}, {a.Threads, shape.Threads, "threads a core"}} {
		if x.have > 0 && x.want > x.have {
			return forGood(reasons.ReqNodeNotAvail, codes.Layout, x.want, x.what, x.have)
		}
	}
	if has := shape.TmpDisk; a.TmpDisk > has && (has > 0 || shape.Rented == nil) { // of what is rented it may not be known
		return forGood(reasons.ReqNodeNotAvail, codes.TmpDisk, memoryText(a.TmpDisk), memoryText(has))
	}
	for _, g := range a.GRES {
		switch have := shapeGRES(shape, g.Resource); {
		case g.Count <= have || g.Per == demand.PerJob:
		case g.Per == demand.PerTask:
			return forGood(reasons.GRES, codes.GRESOfTask, g.Count, g.Resource, have)
		default:
			return forGood(reasons.GRES, codes.GRESOfNode, a.onNode(g), g.Resource, have)
		}
	}
	return nil
}

// holdsNothing is why an empty node of a shape holds no part of the job.
func holdsNothing(a *ask, n *demand.Ask, node *demand.Node) *refusal {
	const reason = reasons.ReqNodeNotAvail
	gpus := gres.Resource{Name: "gpu", Type: a.gpuType}
	switch lack, want, have := n.Lacks(node); lack {
	case demand.LackThreads:
		return forGood(reason, codes.Layout, want, "threads a core", have)
	case demand.LackCPUsOfTask:
		return forGood(reason, codes.CPUsOfTask, want, have)
	case demand.LackGPUs:
		return forGood(reasons.GRES, codes.GRESOfNode, want, gpus, have)
	case demand.LackGPUsOfTask:
		return forGood(reasons.GRES, codes.GRESOfTask, want, gpus, have)
	case demand.LackTasks:
		return forGood(reason, codes.TasksOfNode, want, max(a.CPUsPerTask, 1), have)
	case demand.LackMemory:
		return forGood(reason, codes.MemoryOnNode, unlikeTexts(sbatch.MemMiB(want), sbatch.MemMiB(have))...)
	case demand.LackCPUs:
		return forGood(reason, codes.CPUsOnNode, want, have)
	}
	return forGood(reason, codes.CPUsOnNode, max(a.MinCPUs, a.CPUsPerTask, a.CPUsPerGPU, 1), node.CPUs)
}

// onNode is how many of a resource the job wants of each node, if it goes by nodes or sockets.
func (a *ask) onNode(g demand.GRES) int {
	if g.Per == demand.PerSocket {
		return g.Count * max(a.Sockets, 1)
	}
	return g.Count
}

// onNodes are the resources that the job takes of each of some nodes, where it gets such a share of each. GPUs of one type are those of the share; of
// several types, each goes by its own count.
func (a *ask) onNodes(nodes int, each demand.Share) []gres.Resource {
	var all []gres.Resource
	if each.GPUs > 0 && !a.mixed {
		all = append(all, gres.Resource{Name: "gpu", Type: a.gpuType, Count: each.GPUs})
	}
next:
	for _, g := range a.GRES {
		r := g.Resource
		switch {
		case g.Name == "gpu" && !a.mixed:
			continue
		case g.Per == demand.PerJob:
			r.Count = ceilDiv(g.Count, nodes)
		case g.Per == demand.PerTask:
			r.Count = g.Count * each.Tasks
		default:
			r.Count = a.onNode(g)
		}
		for i := range all {
			if all[i].Name == r.Name && all[i].Type == r.Type {
				all[i].Count += r.Count
				continue next
			}
		}
		all = append(all, r)
	}
	return all
}
