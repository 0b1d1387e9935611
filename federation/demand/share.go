package demand

import (
	"math"
)

// shares says what the job gets of each of the chosen nodes.
func (n *Ask) shares(free []Node, c []candidate) []Share {
	out := make([]Share, len(c))
	for i := range out {
		s := &out[i]
		s.Node, s.Tasks = c[i].node, c[i].take
		switch {
		case n.gpusTask > 0:
			s.GPUs = n.gpusTask * s.Tasks
		case n.gpusNode > 0:
			s.GPUs = n.gpusNode
		case n.gpusJob > 0:
			s.GPUs = c[i].give
		}
		n.size(s, &free[c[i].node], &c[i])
		if s.GRES = n.others.of(&free[c[i].node]); n.exclusive {
			s.GRES = free[c[i].node].GRES
		}
	}
	n.lay(free, out)
	return out
}

// size gives CPUs and memory for the tasks of a share.
func (n *Ask) size(s *Share, f *Node, c *candidate) {
	s.CPUs = s.Tasks * n.cost(f)
	if n.overcommit {
		s.CPUs = n.cost(f)
	}
	if !n.overcommit {
		s.CPUs = max(s.CPUs, n.allTasks*n.cost(f))
	}
	if !n.counted && !n.overcommit {
		s.CPUs = max(s.CPUs, n.minCPUs/n.cost(f)*n.cost(f))
	}
	s.CPUs = max(s.CPUs, s.GPUs*n.cpusGPU)
	if n.gpusJob > 0 || n.gpusTask > 0 {
		s.CPUs = max(s.CPUs, n.gpusHere(c.gpus)*n.cpusGPU)
	}
	if t := f.Threads; t > 1 { // whole cores
		s.CPUs = ceil(s.CPUs, t) * t
	}
	s.CPUs = min(s.CPUs, f.CPUs)
	if n.exclusive {
		s.CPUs, s.GPUs = f.CPUs, f.GPUs
	}
	if s.Mem = min(f.Mem, n.memory.of(s)); n.whole || n.memory.all {
		s.Mem = f.Mem
	}
}

// lay sets the numbers of tasks to those that the script is told. slurmd goes round the nodes, as their CPUs allow; where nobody has said how many
// tasks there are, a node has as many as its CPUs can hold.
func (n *Ask) lay(free []Node, out []Share) {
	room := func(i int) int {
		if n.overcommit {
			return math.MaxInt32
		}
		return max(1, out[i].CPUs/n.cost(&free[out[i].Node]))
	}
	if !n.counted {
		for i := range out {
			out[i].Tasks = max(1, out[i].CPUs/n.cpusTask)
		}
		return
	}
	tasks, counts := 0, make([]int, len(out))
	for i := range out {
		tasks += out[i].Tasks
	}
	dealRounds(tasks, counts, room)
	for i := range out {
		out[i].Tasks = counts[i]
	}
}
