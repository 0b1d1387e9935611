package layout

import (
	"cmp"
	"fmt"
	"slices"
)

// candidates are the indexes of the nodes that a step may have.
func candidates(s Step, nodes []Free) ([]int, error) {
	var usable []int
	for i := range nodes {
		if i >= s.Relative && !slices.Contains(s.Exclude, nodes[i].Name) {
			usable = append(usable, i)
		}
	}
	there := make(map[string]bool, len(usable))
	for _, i := range usable {
		there[nodes[i].Name] = true
	}
	if slices.ContainsFunc(s.Nodes, func(name string) bool { return !there[name] }) {
		return nil, Refuse(NoNodes)
	}
	if len(usable) == 0 && len(s.Exclude) > 0 {
		return nil, &Refused{Text: "Hostlist is empty!  Can't run job."}
	}
	if want := max(s.MinNodes, 1); len(usable) < want {
		text := fmt.Sprintf("Only allocated %d nodes asked for %d", len(usable), want)
		if len(s.Exclude) > 0 {
			text += "\nAre required nodes explicitly excluded?"
		}
		return nil, &Refused{Text: text}
	}
	return usable, nil
}

// choose picks the nodes, from the one on where the step starts to look: those that must be among them, then those without a step, then others, as many as the
// step may have. If these have too few CPUs for its tasks, the nodes with the most.
func choose(s Step, nodes []Free, usable []int) ([]int, error) {
	if len(s.Exclude) > 0 {
		s.Start = 0
	}
	order := make([]int, 0, len(usable))
	for _, later := range [...]bool{true, false} {
		for _, i := range usable {
			if later == (i >= s.Start) {
				order = append(order, i)
			}
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(min(nodes[a].Steps, 1), min(nodes[b].Steps, 1)) })
	chosen, err := take(s, nodes, order)
	if err != nil {
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(capacity(s, &nodes[b]), capacity(s, &nodes[a])) })
		if chosen, err = take(s, nodes, order); err != nil {
			return nil, errNoChoice
		}
	}
	slices.Sort(chosen)
	return chosen, nil
}

// take picks nodes in the order in which they are given.
func take(s Step, nodes []Free, order []int) ([]int, error) {
	least := max(s.MinNodes, 1)
	most := max(s.MaxNodes, least, len(s.Nodes))
	if s.Tasks > 0 {
		most = max(min(most, s.Tasks), least, len(s.Nodes))
	}
	if sharesGPUs(s) { // each has one of them
		most = max(min(most, s.GPUs), least, len(s.Nodes))
	}
	each := max(s.CPUsPerTask, 1)
	var chosen []int
	room := 0
	few := s.Pack && !s.Overcommit && alike(nodes)
	short := func() bool { // without a number of nodes, as few as do
		return len(chosen) < most && !(few && len(chosen) >= least && room >= s.Tasks) || s.MaxNodes == 0 && room < s.Tasks && !s.Overcommit
	}
	asked := make(map[string]bool, len(s.Nodes))
	for _, name := range s.Nodes {
		asked[name] = true
	}
	for _, required := range [...]bool{true, false} {
		for _, i := range order {
			here := capacity(s, &nodes[i])
			if asked[nodes[i].Name] == required && (required || short() && here >= each) {
				chosen = append(chosen, i)
				room += here / each
			}
		}
	}
	if len(chosen) < least || s.Tasks > 0 && !s.Overcommit && room < s.Tasks {
		return nil, errNoFit
	}
	return chosen, nil
}

// alike: 24.11 packs only where all nodes of the job have as many CPUs.
func alike(nodes []Free) bool {
	return !slices.ContainsFunc(nodes, func(n Free) bool { return n.CPUs != nodes[0].CPUs })
}

// capacity is how many CPUs of a node the step can have.
func capacity(s Step, n *Free) int {
	switch {
	case s.Overlap:
		return n.CPUs
	case !s.Exact && n.IdleCPUs < n.CPUs:
		return 0 // such a step has the whole of its nodes
	case !roomBeside(s, n):
		return 0
	case s.MemPerCPU > 0 && n.Mem > 0 && !s.Overcommit:
		return min(n.IdleCPUs, int(n.IdleMem/s.MemPerCPU))
	}
	return n.IdleCPUs
}

// roomBeside: memory and GPUs for one task at least.
func roomBeside(s Step, n *Free) bool {
	mem, gpus := memOf(s, n, max(s.CPUsPerTask, 1)), n.GPUs
	switch {
	case s.NoGPUs || s.GPUs > 0:
		gpus = 0
	case s.GPUsPerNode > 0:
		gpus = s.GPUsPerNode
	case s.GPUsPerTask > 0:
		gpus = s.GPUsPerTask
	}
	return (n.Mem == 0 || mem <= n.IdleMem) && gpus <= n.IdleGPUs
}

// placeArbitrary runs one task on each node of the list, as often as it stands there.
func placeArbitrary(s Step, nodes []Free) ([]Part, error) {
	var parts []Part
	for rank, name := range s.Nodes {
		if s.Tasks > 0 && rank >= s.Tasks {
			break
		}
		node := slices.IndexFunc(nodes, func(n Free) bool { return n.Name == name })
		if node < 0 {
			return nil, Refuse(NoNodes)
		}
		i := slices.IndexFunc(parts, func(p Part) bool { return p.Node == node })
		if i < 0 {
			i, parts = len(parts), append(parts, Part{Node: node})
		}
		parts[i].Ranks = append(parts[i].Ranks, rank)
	}
	all, tasks := 0, 0
	for i := range nodes {
		all += nodes[i].CPUs
	}
	for i := range parts {
		tasks += len(parts[i].Ranks)
	}
	if !s.Overcommit && tasks*max(s.CPUsPerTask, 1) > all { // one of the nodes may have too few (24.11)
		return nil, Refuse(TooMany)
	}
	return parts, fill(s, nodes, parts)
}
