package layout

import "slices"

// fillGPUs gives the parts their GPUs. What the step asks for of all nodes and of each counts both.
func fillGPUs(s Step, nodes []Free, parts []Part) error {
	if s.NoGPUs {
		return nil
	}
	have := 0
	for i := range parts {
		p := &parts[i]
		have += nodes[p.Node].GPUs
		switch {
		case sharesGPUs(s): // below
		case s.GPUsPerNode > 0:
			p.GPUs = s.GPUsPerNode
		case s.GPUsPerTask > 0:
			if p.GPUs = s.GPUsPerTask * len(p.Ranks); s.Overcommit {
				p.GPUs = min(p.GPUs, nodes[p.Node].GPUs)
			}
		default:
			p.GPUs = nodes[p.Node].GPUs
		}
	}
	if s.GPUs > have {
		return Refuse(NoGPUs)
	}
	for i := range parts {
		if nodes[parts[i].Node].GPUs < s.GPUsPerNode {
			return errNoFit
		}
	}
	if sharesGPUs(s) {
		if err := shareGPUs(s, nodes, parts); err != nil {
			return err
		}
	}
	for i := range parts {
		if len(parts[i].Ranks)*s.GPUsPerTask > parts[i].GPUs && !s.Overcommit {
			return errNoFit
		}
	}
	return nil
}

// sharesGPUs: --gpus says how many each node has. What is asked for each task says more.
func sharesGPUs(s Step) bool { return s.GPUs > 0 && (s.GPUsPerNode > 0 || s.GPUsPerTask == 0) }

// shareGPUs deals out --gpus: one to each node if there are enough for that, then as many as there are from the first node on, but not more than --gpus-per-node.
func shareGPUs(s Step, nodes []Free, parts []Part) error {
	left, busy := s.GPUs, false
	for round := 0; left > 0; round++ {
		before := left
		for i := range parts {
			p := &parts[i]
			n := &nodes[p.Node]
			most := n.GPUs
			if s.GPUsPerNode > 0 {
				most = min(most, s.GPUsPerNode)
			}
			room := most
			if !s.Overlap {
				room = min(room, n.IdleGPUs)
			}
			busy = busy || room < most
			take := min(room-p.GPUs, left)
			if round == 0 && s.GPUs >= len(parts) {
				take = min(take, 1)
			}
			p.GPUs += take
			left -= take
		}
		if left == before {
			break
		}
	}
	if left > 0 && (busy || s.GPUsPerNode == 0) {
		return errNoFit
	}
	return nil
}

// tooFewGPUs: no choice of nodes has what is asked of all.
func tooFewGPUs(s Step, nodes []Free) bool {
	var each []int
	for i := range nodes {
		each = append(each, nodes[i].GPUs)
	}
	slices.Sort(each)
	all := 0
	for k := range min(len(each), max(s.MinNodes, s.MaxNodes, 1)) {
		all += each[len(each)-1-k]
	}
	return !s.NoGPUs && s.GPUs > all
}
