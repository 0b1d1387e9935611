package layout

// tasksOf is the number of tasks of a step that asks for none: one per node, or what the CPUs of the nodes allow.
func tasksOf(s Step, nodes []Free, chosen []int) int {
	n := 0
	for _, i := range chosen {
		switch {
		case s.TasksPerNode > 0:
			n += s.TasksPerNode
		case s.CPUsPerTask > 0:
			n += capacity(s, &nodes[i]) / s.CPUsPerTask
		default:
			n++
		}
	}
	return max(n, 1)
}

// caps is how many tasks each node has CPUs for, but not more than the step asks for per node.
func caps(s Step, nodes []Free, chosen []int) []int {
	c, all := make([]int, len(chosen)), 0
	for i, n := range chosen {
		c[i] = capacity(s, &nodes[n]) / max(s.CPUsPerTask, 1)
		if s.GPUsPerTask > 0 && !s.NoGPUs {
			c[i] = min(c[i], nodes[n].GPUs/s.GPUsPerTask)
		}
		if s.TasksPerNode > 0 {
			c[i] = min(c[i], s.TasksPerNode)
		}
		all += c[i]
	}
	if s.TasksPerNode > 0 && s.Exact && all < s.Tasks { // then as many as there are CPUs for
		s.TasksPerNode = 0
		return caps(s, nodes, chosen)
	}
	return c
}

// turns says how many of the tasks each node runs. Whatever the distribution, nodes take turns: one task each, as long as they have CPUs. Once no
// node has, all take further tasks in turns; a block distribution notices that at the end of a round, the others at once (24.11).
func turns(s Step, caps []int, tasks int) []int {
	counts := make([]int, len(caps))
	switch {
	case kind(s) == "plane":
		return planes(max(s.Plane, 1), caps, tasks)
	case s.Pack:
		tasks -= pack(counts, caps, tasks)
	}
	block := kind(s) == "block"
	for over := false; tasks > 0; {
		for i := range counts {
			if tasks > 0 && (over || counts[i] < caps[i]) {
				counts[i]++
				tasks--
			}
			if !block && full(counts, caps) {
				over = true
			}
		}
		over = over || full(counts, caps)
	}
	return counts
}

// pack fills one node after the other, but for a task for each of those that follow. It returns how many tasks it has dealt out.
func pack(counts, caps []int, tasks int) (dealt int) {
	for i := range counts {
		counts[i] = max(min(caps[i], tasks-dealt-(len(counts)-1-i)), 0)
		dealt += counts[i]
	}
	return dealt
}

// planes: nodes take turns by the planeful, but each leaves one task for every node after it that has none.
func planes(size int, caps []int, tasks int) []int {
	counts := make([]int, len(caps))
	for over := false; tasks > 0; over = over || full(counts, caps) {
		for i := range counts {
			take := min(size, tasks)
			if !over {
				take = min(take, caps[i]-counts[i])
			}
			later := 0
			for k := i + 1; k < len(counts); k++ {
				if counts[k] == 0 && caps[k] > 0 {
					later++
				}
			}
			take = max(min(take, tasks-later), 0)
			counts[i] += take
			tasks -= take
		}
	}
	return counts
}

func full(counts, caps []int) bool {
	for i := range counts {
		if counts[i] < caps[i] {
			return false
		}
	}
	return true
}

// kind is the step's distribution over nodes: "block", "cyclic", "plane".
func kind(s Step) string {
	switch s.Distribution {
	case "block", "cyclic", "plane":
		return s.Distribution
	}
	return Default(s, s.Tasks)
}

// Default is the distribution of a step that asks for none: cyclic where there is not more than a task for each node. A step that asks for
// CPUs and not for tasks is block (24.11).
func Default(s Step, tasks int) string {
	if tasks > max(s.MinNodes, 1) || s.Tasks == 0 && s.CPUsPerTask > 0 {
		return "block"
	}
	return "cyclic"
}

// number gives each node its ranks.
func number(s Step, parts []Part, counts []int) {
	size := 1
	switch kind(s) {
	case "block":
		for _, n := range counts {
			size = max(size, n)
		}
	case "plane":
		size = max(s.Plane, 1)
	}
	total := 0
	for i, n := range counts {
		total += n
		parts[i].Ranks = make([]int, 0, n)
	}
	for rank := 0; rank < total; {
		for i := range parts {
			for k := 0; k < size && len(parts[i].Ranks) < counts[i]; k++ {
				parts[i].Ranks = append(parts[i].Ranks, rank)
				rank++
			}
		}
	}
}
