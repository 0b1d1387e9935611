package layout

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"fsub/sbatch"
	"fsub/slurm/hostlist"
)

// candidate is a node that can hold a part of a job.
type candidate struct {
	node     int // index
	tasks    int // that it can hold
	gpus     int // of the job's total that it can give
	required bool
}

// candidates are the nodes that can hold at least one task, those that the job names among them.
func (n *need) candidates(s *sbatch.Spec, free []Node) ([]candidate, error) {
	required, err := hostlist.Expand(s.NodeList)
	if err != nil {
		return nil, err
	}
	excluded, err := hostlist.Expand(s.Exclude)
	if err != nil {
		return nil, err
	}
	if err := n.atLeast(len(required), s.NodeList); err != nil {
		return nil, err
	}
	c := make([]candidate, 0, len(free))
	found := 0
	for i := range free {
		if len(excluded) > 0 && slices.Contains(excluded, free[i].Name) {
			continue
		}
		one := n.capacity(&free[i])
		if one.tasks == 0 {
			continue
		}
		one.node = i
		if len(required) > 0 && slices.Contains(required, free[i].Name) {
			one.required = true
			found++
		}
		c = append(c, one)
	}
	if found < len(required) {
		return nil, fmt.Errorf("%w: not all of %s are free", ErrNoFit, s.NodeList)
	}
	return c, nil
}

// capacity is how much of the job a node can hold; no tasks: none of it.
func (n *need) capacity(f *Node) (c candidate) {
	if f.Busy && (n.exclusive || n.memAll) || f.CPUs < n.minCPUs || f.Mem < n.memNode {
		return c
	}
	tasks := f.CPUs / n.cost(f)
	if n.overcommit && f.CPUs > 0 {
		tasks = math.MaxInt32
	}
	if n.perNode > 0 {
		tasks = min(tasks, n.perNode)
	}
	if n.memCPU > 0 {
		tasks = min(tasks, n.byMemory(f))
	}
	gpus := f.GPUs
	if n.gpuType != "" && !strings.EqualFold(n.gpuType, f.GPUType) {
		gpus = 0
	}
	if n.memGPU > 0 {
		gpus = min(gpus, int(f.Mem/n.memGPU))
	}
	if n.cpusGPU > 0 {
		gpus = min(gpus, f.CPUs/n.cpusGPU)
	}
	if gpus < n.gpusNode || n.gpusJob > 0 && gpus == 0 || tasks < 1 {
		return c
	}
	if n.gpusTask > 0 {
		tasks = min(tasks, gpus/n.gpusTask)
	}
	if n.gpusJob > 0 && n.tasksGPU > 0 {
		tasks = min(tasks, gpus*n.tasksGPU)
	}
	if n.exact && tasks < n.perNode {
		return c
	}
	c.tasks = tasks
	if n.gpusJob > 0 {
		c.gpus = gpus
	}
	return c
}

// cost is how many CPUs of a node a task takes.
func (n *need) cost(f *Node) int {
	if n.single {
		return n.cpusTask * max(1, f.Threads)
	}
	return n.cpusTask
}

// byMemory is how many tasks the memory of a node holds, at so much for each CPU. Who has the node for himself has all of its CPUs; the default must
// not keep him out.
func (n *need) byMemory(f *Node) int {
	if n.exclusive && !n.whole && !n.defMem && n.memCPU*sbatch.MemMiB(f.CPUs) > f.Mem {
		return 0
	}
	if n.exclusive && n.defMem {
		return math.MaxInt32
	}
	cpus := int(f.Mem / n.memCPU)
	if n.overcommit {
		return min(cpus, 1) * math.MaxInt32
	}
	return cpus / n.cost(f)
}

// ranged reports whether the job takes more nodes than it must have, if they are there. GPUs of the whole job are not spread further.
func (n *need) ranged() bool { return n.maxNodes > n.minNodes && n.gpusJob == 0 }

// most is the number of nodes that a ranged job takes if all nodes are free.
func (n *need) most() int {
	if n.counted && !n.exact {
		return n.sizedDown(min(n.maxNodes, n.tasks))
	}
	return n.maxNodes
}

// choose picks nodes out of the candidates, in their order; nil: they do not do.
func (n *need) choose(c []candidate) []candidate {
	if len(c) < n.minNodes {
		return nil
	}
	if n.ranged() {
		for k := min(len(c), n.most()); k >= n.minNodes; k = n.sizedDown(k - 1) {
			if k = n.sizedDown(k); k < n.minNodes {
				break
			}
			if got := n.pick(c, k); got != nil {
				return got
			}
		}
		return nil
	}
	if n.sizes == "" && n.gpusJob == 0 && len(c) > n.minNodes { // pass over numbers of nodes that are too few
		if got := n.fewest(c); got != nil {
			return got
		}
	}
	for k := n.minNodes; k <= len(c) && (n.maxNodes == 0 || k <= n.maxNodes); k++ {
		if n.sized(k) != k {
			continue
		}
		if got := n.pick(c, k); got != nil {
			return got
		}
	}
	return nil
}

// fewest finds the least number of nodes by the room that the roomiest have.
func (n *need) fewest(c []candidate) []candidate {
	if n.exact {
		return n.pick(c, n.minNodes)
	}
	by := byRoom(c)
	sum := 0
	for i := range by {
		if sum += by[i].tasks; sum >= n.tasks {
			k := max(n.minNodes, i+1)
			if n.maxNodes > 0 && k > n.maxNodes {
				return nil
			}
			return n.pick(c, k)
		}
	}
	return nil
}

// pick takes k of the candidates: the first one that is enough if it is one, else the first ones, or if these do not do the roomiest. What the job
// names is among them.
func (n *need) pick(c []candidate, k int) []candidate {
	if k > len(c) {
		return nil
	}
	if k == 1 {
		return n.single1(c)
	}
	front := c
	if slices.ContainsFunc(c, func(x candidate) bool { return x.required }) {
		front = slices.Clone(c)
		slices.SortStableFunc(front, requiredFirst)
	}
	if !n.enough(front[:k]) {
		if front = byRoom(c); !n.enough(front[:k]) {
			return nil
		}
	}
	got := slices.Clone(front[:k])
	slices.SortFunc(got, func(a, b candidate) int { return a.node - b.node })
	return got
}

func (n *need) single1(c []candidate) []candidate {
	must := slices.IndexFunc(c, func(x candidate) bool { return x.required })
	for i := range c {
		if (must < 0 || i == must) && n.enough(c[i:i+1]) {
			return c[i : i+1]
		}
	}
	return nil
}

// enough reports whether nodes hold all of the job.
func (n *need) enough(c []candidate) bool {
	if n.exact && n.gpusJob == 0 {
		return true
	}
	tasks, gpus := 0, 0
	for i := range c {
		tasks += c[i].tasks
		gpus += c[i].gpus
	}
	return tasks >= n.tasks && gpus >= n.gpusJob && (n.gpusJob == 0 || len(c) <= n.gpusJob)
}

// byRoom sorts a copy: what is named first, then by GPUs of the job's total, then by tasks; among equals the first one.
func byRoom(c []candidate) []candidate {
	c = slices.Clone(c)
	slices.SortStableFunc(c, func(a, b candidate) int {
		return cmp.Or(requiredFirst(a, b), b.gpus-a.gpus, b.tasks-a.tasks)
	})
	return c
}

func requiredFirst(a, b candidate) int {
	switch {
	case a.required == b.required:
		return 0
	case a.required:
		return -1
	}
	return 1
}

// sized is the next number of nodes that the job may have, from k on; 0: there is none.
func (n *need) sized(k int) int {
	if n.sizes == "" {
		return k
	}
	for ; k <= n.maxNodes; k++ {
		if n.mayHave(k) {
			return k
		}
	}
	return 0
}

// sizedDown is the next number of nodes that the job may have, from k downwards; 0: there is none.
func (n *need) sizedDown(k int) int {
	for ; k > 0 && n.sizes != "" && !n.mayHave(k); k-- {
	}
	return k
}

// mayHave reports whether k is one of the sizes: "1,2,4", "1-9:2".
func (n *need) mayHave(k int) bool {
	for item := range strings.SplitSeq(n.sizes, ",") {
		span, step, _ := strings.Cut(item, ":")
		from, to, ranged := strings.Cut(span, "-")
		if !ranged {
			to = from
		}
		a, _ := strconv.Atoi(from)
		b, _ := strconv.Atoi(to)
		by, _ := strconv.Atoi(step)
		if k >= a && k <= b && (k-a)%max(1, by) == 0 {
			return true
		}
	}
	return false
}
