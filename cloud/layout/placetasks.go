package layout

import "strings"

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
	c := make([]int, len(chosen))
	for i, n := range chosen {
		c[i] = capacity(s, &nodes[n]) / max(s.CPUsPerTask, 1)
		if s.TasksPerNode > 0 {
			c[i] = min(c[i], s.TasksPerNode)
		}
	}
	return c
}

// turns says how many of the tasks each node runs. Whatever the distribution, nodes take turns: one task each, as long as they have CPUs. Once no
// node has, all take further tasks in turns; a block distribution notices that at the end of a round, the others at once (24.11).
func turns(s Step, caps []int, tasks int) []int {
	counts := make([]int, len(caps))
	block := strings.HasPrefix(kind(s), "block")
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
	word, _, _ := strings.Cut(s.Distribution, ",")
	word, _, _ = strings.Cut(word, ":")
	word, _, _ = strings.Cut(word, "=")
	switch {
	case word == "cyclic" || word == "plane":
		return word
	case word != "" || s.Tasks > max(s.MinNodes, 1):
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
