package simsite

import (
	"slices"

	"fsub/federation/reasons"
	"fsub/sbatch"
)

// candidate is a node that can hold part of a job.
type candidate struct {
	n     *node
	tasks int // at most
	gpus  int // of the job's total, at most
}

// possible reports whether a need could be met if the site were empty and whole.
func (s *Site) possible(nd *need) bool {
	for _, p := range nd.parts {
		if s.choose(nd, s.candidates(nd, p, 0, false, -1)) != nil {
			return true
		}
	}
	return false
}

// place finds nodes for a job that could start now in p. Switches are given up once the job has waited long enough.
func (s *Site) place(j *job, nd *need, p *partition) []share {
	if !p.up() || s.partLimit(j, p) != "" {
		return nil
	}
	if nd.switches == 0 || len(s.leaves) == 0 || s.now-j.eligible > int64(nd.switchWait) {
		return s.shares(nd, s.choose(nd, s.candidates(nd, p, j.limit, true, -1)))
	}
	if nd.switches == 1 {
		for i := range s.leaves {
			if c := s.choose(nd, s.candidates(nd, p, j.limit, true, i)); c != nil {
				return s.shares(nd, c)
			}
		}
		return nil
	}
	return s.shares(nd, s.choose(nd, s.onLeaves(s.candidates(nd, p, j.limit, true, -1), nd.switches)))
}

// onLeaves keeps the candidates below the k leaf switches that have most room.
func (s *Site) onLeaves(c []candidate, k int) []candidate {
	room := make([]int, len(s.leaves)+1)
	for i := range c {
		room[c[i].n.leaf+1] += c[i].tasks
	}
	order := make([]int, 0, len(s.leaves))
	for i := range s.leaves {
		order = append(order, i)
	}
	slices.SortStableFunc(order, func(a, b int) int { return room[b+1] - room[a+1] })
	keep := order[:min(k, len(order))]
	return slices.DeleteFunc(c, func(x candidate) bool { return !slices.Contains(keep, x.n.leaf) })
}

// candidates lists the nodes of p, under one leaf switch if leaf >= 0, that can hold at least one task: with what is
// free now, or (free false) with all that is configured.
func (s *Site) candidates(nd *need, p *partition, limit int64, free bool, leaf int) []candidate {
	out := s.scratch[:0]
	for _, n := range p.nodes {
		if leaf >= 0 && n.leaf != leaf || free && !n.usable() {
			continue
		}
		if len(s.resvs) > 0 && !s.allowedByReservations(n, nd, limit, free) {
			continue
		}
		if c := capacity(nd, n, free); c.tasks > 0 {
			out = append(out, c)
		}
	}
	s.scratch = out
	return out
}

// capacity tells how much of a job one node can hold.
func capacity(nd *need, n *node, free bool) candidate {
	none := candidate{}
	cpus, mem := n.cpus, n.mem
	if free {
		cpus, mem = cpus-n.usedCPUs, mem-n.usedMem
		if n.exclusive > 0 || nd.exclusive && n.jobs > 0 {
			return none
		}
	}
	m := cpus / nd.cpusTask
	if nd.perNode > 0 {
		m = min(m, nd.perNode)
	}
	if m < 1 || cpus < nd.cpusNode || mem < nd.memNode || nd.memAll && mem < n.mem {
		return none
	}
	if nd.memCPU > 0 {
		m = min(m, int(mem/(nd.memCPU*sbatch.MemMiB(nd.cpusTask))))
	}
	for _, g := range nd.gresNode {
		if n.has(g, free) < g.count || nd.memGPU*sbatch.MemMiB(g.count) > mem {
			return none
		}
	}
	for _, g := range nd.gresTask {
		m = min(m, n.has(g, free)/g.count)
	}
	c := candidate{n: n, tasks: m}
	for _, g := range nd.gresJob {
		if c.gpus = n.has(g, free); c.gpus == 0 {
			return none
		}
	}
	if m < 1 || len(nd.features) > 0 && !n.features1(nd.features) || slices.Contains(nd.exclude, n) {
		return none
	}
	return c
}

// has counts a GRES of the node, any type if none is asked for.
func (n *node) has(g gresNeed, free bool) int {
	k := 0
	for _, x := range n.gres {
		if x.Name == g.name && (g.typ == "" || x.Type == g.typ) {
			k += x.Total
			if free {
				k -= x.Used
			}
		}
	}
	return k
}

func (n *node) features1(sets [][]string) bool {
	for _, set := range sets {
		if !slices.ContainsFunc(set, func(f string) bool { return !slices.Contains(n.features, f) }) {
			return true
		}
	}
	return false
}

// choose picks nodes out of the candidates, nil if they do not suffice: one node if that is enough, else the first ones in
// order, else the roomiest.
func (s *Site) choose(nd *need, c []candidate) []candidate {
	gpus := 0
	for _, g := range nd.gresJob {
		gpus = max(gpus, g.count)
	}
	if len(nd.require) > 0 {
		if c = requiredFirst(nd, c); c == nil {
			return nil
		}
	} else if nd.minNodes == 1 {
		for i := range c {
			if c[i].tasks >= nd.tasks && c[i].gpus >= gpus {
				return c[i : i+1]
			}
		}
	}
	if got := firstFit(nd, c, gpus); got != nil {
		return got
	}
	c = slices.Clone(c)
	rest := c[len(nd.require):]
	slices.SortStableFunc(rest, func(a, b candidate) int { return b.tasks + b.gpus - a.tasks - a.gpus })
	got := firstFit(nd, c, gpus)
	slices.SortFunc(got, func(a, b candidate) int { return a.n.index - b.n.index })
	return got
}

func firstFit(nd *need, c []candidate, gpus int) []candidate {
	tasks, have := 0, 0
	for i := range c {
		if nd.maxNodes > 0 && i == nd.maxNodes {
			return nil
		}
		tasks += c[i].tasks
		have += c[i].gpus
		if i+1 >= nd.minNodes && tasks >= nd.tasks && have >= gpus {
			return c[:i+1]
		}
	}
	return nil
}

// requiredFirst puts the required nodes in front; nil if one of them is no candidate.
func requiredFirst(nd *need, c []candidate) []candidate {
	out := make([]candidate, 0, len(c))
	for _, n := range nd.require {
		i := slices.IndexFunc(c, func(x candidate) bool { return x.n == n })
		if i < 0 {
			return nil
		}
		out = append(out, c[i])
	}
	for _, x := range c {
		if !slices.Contains(nd.require, x.n) {
			out = append(out, x)
		}
	}
	return out
}

// shares spreads a job's tasks over the chosen nodes: one each, then as many as fit in order.
func (s *Site) shares(nd *need, c []candidate) []share {
	if c == nil {
		return nil
	}
	out := make([]share, len(c))
	left := nd.tasks - len(c)
	for i := range c {
		extra := max(0, min(left, c[i].tasks-1))
		left -= extra
		n := c[i].n
		sh := share{n: n, tasks: 1 + extra, gres: make([]int, len(n.gres))}
		sh.cpus = max(sh.tasks*nd.cpusTask, nd.cpusNode)
		if nd.exclusive {
			sh.cpus = n.cpus
		}
		for _, g := range nd.gresNode {
			n.pick(sh.gres, g, g.count)
		}
		for _, g := range nd.gresTask {
			n.pick(sh.gres, g, g.count*sh.tasks)
		}
		out[i] = sh
	}
	for _, g := range nd.gresJob {
		spreadGRES(out, g)
	}
	for i := range out {
		out[i].mem = memoryOf(nd, &out[i])
	}
	slices.SortFunc(out, func(a, b share) int { return a.n.index - b.n.index })
	return out
}

func memoryOf(nd *need, sh *share) sbatch.MemMiB {
	switch {
	case nd.memAll:
		return sh.n.mem
	case nd.memNode > 0:
		return nd.memNode
	case nd.memGPU > 0:
		k := 0
		for i, g := range sh.n.gres {
			if g.Name == "gpu" {
				k += sh.gres[i]
			}
		}
		return nd.memGPU * sbatch.MemMiB(k)
	}
	return nd.memCPU * sbatch.MemMiB(sh.tasks*nd.cpusTask)
}

// spreadGRES shares out a GRES that was asked for in total: one on each node, then as many as fit.
func spreadGRES(out []share, g gresNeed) {
	left := max(0, g.count-len(out))
	for i := range out {
		n := out[i].n
		k := 1 + min(left, n.has(g, true)-1)
		left -= k - 1
		n.pick(out[i].gres, g, k)
	}
}

// pick books count of g into a share's counts, over the types that match.
func (n *node) pick(into []int, g gresNeed, count int) {
	for i, x := range n.gres {
		if count == 0 {
			return
		}
		if x.Name == g.name && (g.typ == "" || x.Type == g.typ) {
			k := min(count, x.Total-x.Used-into[i])
			into[i] += k
			count -= k
		}
	}
}

// partLimit says which of the partition's limits keeps a job out, "" if none does.
func (s *Site) partLimit(j *job, p *partition) reasons.Reason {
	switch {
	case p.MaxTime > 0 && (j.limit == 0 || j.limit > int64(p.MaxTime)):
		return reasons.PartitionTime
	case p.MaxNodes > 0 && j.need.minNodes > p.MaxNodes, p.MinNodes > j.need.minNodes && j.need.maxNodes > 0 && p.MinNodes > j.need.maxNodes:
		return reasons.PartitionNodes
	}
	return ""
}
