package layout

import (
	"math"

	"fsub/sbatch"
)

// shares says what the job gets of each of the chosen nodes.
func (n *need) shares(free []Node, c []candidate) []Share {
	out := make([]Share, len(c))
	tasks, gpus := n.tasks, n.gpusJob
	if n.exact {
		tasks = n.perNode * len(c)
	}
	tasks = max(tasks, len(c))
	if n.even() {
		deal(tasks, out, func(i int) int { return c[i].tasks })
	}
	for i := range out {
		s, f := &out[i], &free[c[i].node]
		s.Node = c[i].node
		switch {
		case !n.counted:
			s.Tasks = 1
		case !n.even(): // one is kept for each of the nodes that follow
			s.Tasks = max(1, min(c[i].tasks, tasks-(len(out)-1-i)))
			tasks -= s.Tasks
		}
		switch {
		case n.gpusTask > 0:
			s.GPUs = n.gpusTask * s.Tasks
		case n.gpusNode > 0:
			s.GPUs = n.gpusNode
		case n.gpusJob > 0 && n.tasksGPU > 0:
			s.GPUs = ceil(s.Tasks, n.tasksGPU)
		case n.gpusJob > 0:
			s.GPUs = max(1, min(c[i].gpus, gpus-(len(out)-1-i)))
			gpus -= s.GPUs
		}
		n.size(s, f)
	}
	n.lay(free, out)
	return out
}

// even reports whether the tasks are spread evenly: if it was said how many a node may have.
func (n *need) even() bool { return n.counted && n.perNode > 0 }

// size gives CPUs and memory for the tasks of a share.
func (n *need) size(s *Share, f *Node) {
	s.CPUs = s.Tasks * n.cost(f)
	if n.overcommit {
		s.CPUs = n.cost(f)
	}
	if !n.counted {
		s.CPUs = max(s.CPUs, n.minCPUs)
	}
	s.CPUs = max(s.CPUs, s.GPUs*n.cpusGPU)
	if t := f.Threads; t > 1 { // whole cores
		s.CPUs = ceil(s.CPUs, t) * t
	}
	s.CPUs = min(s.CPUs, f.CPUs)
	if n.exclusive {
		s.CPUs, s.GPUs = f.CPUs, f.GPUs
	}
	switch {
	case n.whole || n.memAll:
		s.Mem = f.Mem
	case n.memNode > 0:
		s.Mem = n.memNode
	case n.memGPU > 0:
		s.Mem = min(f.Mem, n.memGPU*sbatch.MemMiB(s.GPUs))
	case n.memCPU > 0:
		s.Mem = min(f.Mem, n.memCPU*sbatch.MemMiB(s.CPUs))
	}
}

// lay sets the numbers of tasks to those that the script is told. slurmd goes round the nodes, as their CPUs allow; where nobody has said how many
// tasks there are, a node has as many as its CPUs can hold.
func (n *need) lay(free []Node, out []Share) {
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
	tasks := 0
	for i := range out {
		tasks += out[i].Tasks
		out[i].Tasks = 0
	}
	deal(tasks, out, room)
}

// deal gives tasks out one by one, round after round, to those that have room.
func deal(tasks int, out []Share, room func(int) int) {
	for tasks > 0 {
		open := 0
		for i := range out {
			if out[i].Tasks < room(i) {
				open++
			}
		}
		if open == 0 {
			return
		}
		each := max(1, tasks/open)
		for i := range out {
			k := min(each, room(i)-out[i].Tasks, tasks)
			out[i].Tasks += max(0, k)
			tasks -= max(0, k)
		}
	}
}
