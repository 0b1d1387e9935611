package demand

import "slices"

// deal shares tasks and GPUs out among nodes, in the order in which they were taken, of which the first few are enough.
func (n *Ask) deal(c []candidate, few int) {
	tasks := n.tasks
	if n.final > 0 {
		tasks = n.final
	}
	switch {
	case n.byGPU():
		n.dealGPUs(c)
		for i := range c {
			c[i].take = c[i].give * n.tasksGPU
		}
		return
	case !n.counted:
		for i := range c {
			c[i].take = 1
		}
	case n.exact:
		for i := range c {
			c[i].take = n.perNode
		}
	case n.even():
		slices.SortFunc(c, func(a, b candidate) int { return a.node - b.node })
		dealEven(max(tasks, len(c)), c)
	default:
		n.fill(tasks, c[:few])
		for i := few; i < len(c); i++ {
			c[i].take = 1
			takeOne(c[:i])
		}
	}
	n.dealGPUs(c)
}

// byGPU reports whether the GPUs of the whole job say how many tasks a node has.
func (t *target) byGPU() bool { return t.gpusJob > 0 && t.tasksGPU > 0 }

// dealGPUs shares out the GPUs of the whole job. One is kept for each of the nodes that follow.
func (n *Ask) dealGPUs(c []candidate) {
	gpus := n.gpusJob
	for i := range c {
		most := c[i].gpus
		if n.byGPU() {
			most = min(most, c[i].tasks/n.tasksGPU)
		}
		c[i].give = max(1, min(most, gpus-(len(c)-1-i)))
		if !n.byGPU() && n.bundle > 0 && c[i].take >= n.bundle {
			c[i].give = ceil(c[i].take, n.bundle)
		}
		gpus -= c[i].give
	}
}

// even reports whether the tasks are spread evenly: if it was said how many a node may have.
func (n *Ask) even() bool { return n.perNode > 0 && n.final == 0 && n.gpusJob == 0 && n.gpusTask == 0 }

// fill gives each node as many tasks as it can hold, but for what is kept for each of the nodes that follow.
func (n *Ask) fill(tasks int, c []candidate) {
	keep := ceil(n.minCPUs, n.cpusTask)
	if keep == 0 || keep*len(c) > tasks {
		keep = 1
	}
	kept := 0
	for i := range c {
		kept += min(keep, c[i].tasks)
	}
	for i := range c {
		kept -= min(keep, c[i].tasks)
		c[i].take = max(1, min(c[i].tasks, tasks-kept))
		tasks -= c[i].take
	}
}

// takeOne takes one task away from the last of those nodes that have most.
func takeOne(c []candidate) {
	most := 0
	for i := range c {
		if c[i].take >= c[most].take {
			most = i
		}
	}
	c[most].take--
}

// dealEven gives tasks out one by one, round after round, to those that have room.
func dealEven(tasks int, c []candidate) {
	counts := make([]int, len(c))
	dealRounds(tasks, counts, func(i int) int { return c[i].tasks })
	for i := range c {
		c[i].take = counts[i]
	}
}

// dealRounds gives tasks out round after round to those that have room.
func dealRounds(tasks int, counts []int, room func(int) int) {
	for tasks > 0 {
		open := 0
		for i := range counts {
			if counts[i] < room(i) {
				open++
			}
		}
		if open == 0 {
			return
		}
		each := max(1, tasks/open)
		for i := range counts {
			k := max(0, min(each, room(i)-counts[i], tasks))
			counts[i] += k
			tasks -= k
		}
	}
}
