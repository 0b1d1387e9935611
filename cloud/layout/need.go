package layout

import (
	"fmt"
	"strconv"
	"strings"

	"fsub/sbatch"
	"fsub/slurm/hostlist"
)

// need is what a job asks of nodes.
type need struct {
	minNodes, maxNodes int    // maxNodes 0: as many as it takes
	sizes              string // numbers of nodes with gaps between, as [sbatch.More.NodeSizes]
	tasks              int    // at least one for each node
	counted            bool   // the number of tasks was asked for: SLURM_NTASKS is there
	exact              bool   // each node has perNode tasks, however many nodes there are
	perNode            int    // tasks of a node at most; 0: any number
	cpusTask           int
	minCPUs            int // of a node
	cpusGPU            int
	single             bool // one thread of each core
	overcommit         bool

	memNode, memCPU, memGPU sbatch.MemMiB
	memAll                  bool
	defMem                  bool // memCPU is the site's default

	gpusNode, gpusTask, gpusJob int
	tasksGPU                    int
	gpuType                     string

	exclusive, whole bool
}

// read takes in what a job asks for.
func (n *need) read(s *sbatch.Spec, o Options) error {
	*n = need{minNodes: max(1, s.MinNodes), maxNodes: s.MaxNodes, tasks: s.NTasks, perNode: s.NTasksPerNode, cpusTask: max(1, s.CPUsPerTask),
		memNode: s.MemPerNode, memCPU: s.MemPerCPU, memGPU: s.MemPerGPU, exclusive: s.Exclusive == "exclusive" || o.Whole, whole: o.Whole}
	if n.memNode == sbatch.MemAll {
		n.memNode, n.memAll = 0, true
	}
	if !n.memAll && n.memNode == 0 && n.memCPU == 0 && n.memGPU == 0 && o.DefMemPerCPU > 0 {
		n.memCPU, n.defMem = o.DefMemPerCPU, true
	}
	if m := s.More; m != nil {
		_, _, threads, _ := m.Layout()
		n.single = threads == 1
		n.sizes, n.minCPUs, n.cpusGPU, n.tasksGPU, n.overcommit = m.NodeSizes, m.MinCPUs, m.CPUsPerGPU, max(m.NTasksPerGPU, m.NTasksPerTRES), m.Overcommit
	}
	if o.Most > 0 && n.maxNodes > o.Most {
		n.maxNodes = max(o.Most, n.minNodes)
	}
	if err := n.readGPUs(s); err != nil {
		return err
	}
	n.count()
	return nil
}

// readGPUs sums the lists of GPUs. They are all of one type: no node has two.
func (n *need) readGPUs(s *sbatch.Spec) error {
	socket := ""
	if s.More != nil {
		socket = s.More.GPUsPerSocket
	}
	for _, l := range [...]struct {
		list string
		to   *int
		gres bool
	}{{s.GPUsPerNode, &n.gpusNode, false}, {socket, &n.gpusNode, false}, {s.GRES, &n.gpusNode, true}, {s.GPUsPerTask, &n.gpusTask, false}, {s.GPUs, &n.gpusJob, false}} {
		if l.list == "" || l.gres && strings.EqualFold(l.list, "none") {
			continue
		}
		sum := 0
		for item := range strings.SplitSeq(l.list, ",") {
			k, err := n.gpuItem(item, l.gres)
			if err != nil {
				return err
			}
			sum += k
		}
		*l.to = sum
	}
	return nil
}

// gpuItem reads TYPE:N, TYPE or N, after "gpu" if it is one of --gres.
func (n *need) gpuItem(item string, gres bool) (int, error) {
	rest := strings.TrimPrefix(item, "gres/")
	if gres {
		name, more, _ := strings.Cut(rest, ":")
		if rest = more; name != "gpu" {
			return 0, fmt.Errorf("--gres=%s: rented machines have no %q, only gpu", item, name)
		}
	}
	if i := strings.IndexByte(rest, '('); i >= 0 { // sockets
		rest = rest[:i]
	}
	kind, number := "", rest
	if i := strings.LastIndexAny(rest, ":="); i >= 0 {
		kind, number = rest[:i], rest[i+1:]
	}
	count := 1
	if number != "" {
		k, err := strconv.Atoi(number)
		switch {
		case err == nil:
			count = k
		case kind == "":
			kind = number
		default:
			return 0, fmt.Errorf("%q: %q is no number of GPUs", item, number)
		}
	}
	switch {
	case count < 0:
		return 0, fmt.Errorf("%q: %d is no number of GPUs", item, count)
	case count == 0 || kind == "":
	case n.gpuType == "" || strings.EqualFold(n.gpuType, kind):
		n.gpuType = kind
	default:
		return 0, fmt.Errorf("%q: no machine has GPUs of two types, %s and %s", item, n.gpuType, kind)
	}
	return count, nil
}

// count derives the numbers of tasks and nodes from each other and from the GPUs, as sbatch and slurmctld do.
func (n *need) count() {
	n.counted = n.tasks > 0
	gpus := n.gpusJob
	if gpus > 0 && n.gpusNode > 0 {
		n.minNodes = ceil(gpus, n.gpusNode)
		n.maxNodes, n.sizes, n.gpusJob = n.minNodes, "", 0
		if n.counted && n.perNode == 0 {
			n.perNode = ceil(n.tasks, n.minNodes)
		}
	}
	switch {
	case n.counted:
		if n.tasksGPU > 0 && gpus == 0 && n.gpusNode == 0 && n.gpusTask == 0 {
			n.gpusJob = ceil(n.tasks, n.tasksGPU)
		}
	case n.perNode > 0:
		n.counted, n.exact = true, true
		n.tasks = n.minNodes * n.perNode
	case n.gpusTask > 0 && gpus > 0:
		n.counted, n.tasks = true, max(1, gpus/n.gpusTask)
	case n.gpusTask > 0:
		n.counted, n.tasks = true, n.minNodes
	case n.tasksGPU > 0 && gpus > 0:
		n.counted, n.tasks = true, gpus*n.tasksGPU
	case n.tasksGPU > 0 && n.gpusNode > 0:
		n.counted, n.exact, n.perNode = true, true, n.gpusNode*n.tasksGPU
		n.tasks = n.minNodes * n.perNode
	default:
		n.tasks = n.minNodes
	}
	if n.gpusTask > 0 {
		n.gpusJob = 0 // they follow the tasks
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
	if n.maxNodes > 0 && n.maxNodes < n.minNodes {
		n.maxNodes = n.minNodes
	}
}

// named makes room for the nodes that the job names.
func (n *need) named(s *sbatch.Spec) error {
	if s.NodeList == "" {
		return nil
	}
	names, err := hostlist.Expand(s.NodeList)
	if err != nil {
		return err
	}
	return n.atLeast(len(names), s.NodeList)
}

func (n *need) atLeast(nodes int, list string) error {
	if nodes <= n.minNodes {
		return nil
	}
	if n.maxNodes > 0 && nodes > n.maxNodes {
		return fmt.Errorf("--nodelist=%s names %d nodes, but the job is to have at most %d", list, nodes, n.maxNodes)
	}
	switch {
	case n.exact:
		n.tasks = nodes * n.perNode
	case n.tasks < nodes:
		n.tasks = nodes
	}
	n.minNodes = nodes
	return nil
}
