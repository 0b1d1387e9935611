// Package fragment tells how whole the free GPUs of a site are: how many of them jobs can take that fill a node, a leaf
// or a block, and which share of them can be taken by jobs of the sizes that are asked for. It is pure but for [Asked],
// which remembers what has been asked for.
//
// The share is one minus the fragmentation of Weng et al. (Beware of Fragmentation, USENIX ATC 2023), with gangs of
// several nodes and their leaves added.
package fragment

import (
	"cmp"
	"maps"
	"slices"

	"fsub/federation"
	"fsub/topology"
)

// Score is how whole the free GPUs of one kind are at a site.
type Score struct {
	GPU  string // type; "gpu" if the site tells none
	Free int    // GPUs that are free on nodes that take jobs. Rented nodes that are not there count as nothing
	// Of these, the ones on nodes, leaves and blocks that are free as a whole. A block is a switch or an aggregated block right above leaves. A leaf of which fewer
	// than half of the nodes take jobs is none. 0 where the site tells of no leaves, or of nothing above them.
	Node, Leaf, Block int
	Leaves, Blocks    int // how many the site has, with any such GPU
	// Fit is the share of Free that jobs of the sizes that are asked for can take, by their weights: 0 to 1. Jobs that are larger than the site do not count. 1 if
	// nothing is free.
	Fit float64
}

// Fragmented is the share of the free GPUs that jobs as they are asked for cannot take: 0 is whole.
func (s *Score) Fragmented() float64 { return 1 - s.Fit }

// Of scores what is free at a site, by the type of GPU in order of name. shares are the weights of the sizes; see
// [Asked.Shares].
func Of(o *federation.Observation, shares Shares) []Score {
	w := wiringOf(o)
	kinds := map[string]*kind{}
	for i := range o.Nodes {
		n := &o.Nodes[i]
		total, used, gpu := 0, 0, ""
		for _, g := range n.GRES {
			if g.Name == "gpu" && g.Total > 0 {
				total, used, gpu = total+g.Total, used+g.Used, cmp.Or(gpu, g.Type)
			}
		}
		if total == 0 || n.Rented != nil && slices.Contains(n.State, "POWERED_DOWN") {
			continue
		}
		gpu = cmp.Or(gpu, "gpu")
		k := kinds[gpu]
		if k == nil {
			k = &kind{leaves: make([]leaf, len(w.blockOf))}
			kinds[gpu] = k
		}
		k.add(w.leafOf(n.Name), n.Usable(), total, max(total-used, 0))
	}
	out := make([]Score, 0, len(kinds))
	for _, gpu := range slices.Sorted(maps.Keys(kinds)) {
		s := kinds[gpu].score(w, shares)
		s.GPU = gpu
		out = append(out, s)
	}
	return out
}

// wiring is where the nodes of a site are.
type wiring struct {
	known   bool
	leaf    map[string]int
	blockOf []int // by leaf; -1: nothing is above it. The last leaf has the nodes that no switch names
	blocks  int
}

func (w *wiring) leafOf(node string) int {
	if l, ok := w.leaf[node]; ok {
		return l
	}
	return len(w.blockOf) - 1
}

// wiringOf reads the site's tree, or that of the first partition which has one.
func wiringOf(o *federation.Observation) *wiring {
	tree := o.Tree
	for i := 0; i < len(o.Partitions) && len(tree.Switches) == 0; i++ {
		if t := o.Partitions[i].Tree; t != nil {
			tree = *t
		}
	}
	w := &wiring{known: len(tree.Switches) > 0, leaf: map[string]int{}}
	number := map[string]int{}
	for _, s := range tree.Switches {
		if len(s.Nodes) == 0 {
			continue
		}
		number[s.Name] = len(w.blockOf)
		for _, n := range s.Nodes {
			w.leaf[n] = len(w.blockOf)
		}
		w.blockOf = append(w.blockOf, -1)
	}
	for _, s := range tree.Switches {
		w.join(&s, number)
	}
	w.blockOf = append(w.blockOf, -1)
	return w
}

// join puts the leaves right below a switch into one block.
func (w *wiring) join(s *topology.Switch, number map[string]int) {
	some := false
	for _, c := range s.Children {
		if l, ok := number[c]; ok && w.blockOf[l] < 0 {
			w.blockOf[l], some = w.blocks, true
		}
	}
	if some {
		w.blocks++
	}
}

// kind is what there is of one type of GPU.
type kind struct {
	leaves  []leaf
	perNode int   // the most GPUs of a node
	parts   []int // by number of GPUs: nodes with so many free and others in use
}

// leaf is what there is of it below one leaf.
type leaf struct {
	nodes, up, whole int // nodes, those that take jobs, and those of which all GPUs are free
	gpus, wholeGPUs  int // free
}

func (k *kind) add(at int, usable bool, total, free int) {
	l := &k.leaves[at]
	l.nodes++
	k.perNode = max(k.perNode, total)
	if !usable {
		return
	}
	l.up++
	l.gpus += free
	if free == total {
		l.whole++
		l.wholeGPUs += total
	}
	for len(k.parts) <= free {
		k.parts = append(k.parts, 0)
	}
	k.parts[free]++
}

func (k *kind) score(w *wiring, shares Shares) (s Score) {
	block := make([]leaf, w.blocks)
	var all leaf
	for i := range k.leaves {
		l := &k.leaves[i]
		s.Free, s.Node = s.Free+l.gpus, s.Node+l.wholeGPUs
		all.join(l)
		if !w.known || l.nodes == 0 || i == len(k.leaves)-1 {
			continue
		}
		s.Leaves++
		s.Leaf += l.ifWhole()
		if b := w.blockOf[i]; b >= 0 {
			block[b].join(l)
		}
	}
	for i := range block {
		if block[i].nodes > 0 {
			s.Blocks++
			s.Block += block[i].ifWhole()
		}
	}
	s.Fit = k.fit(shares, s.Free, block, &all)
	return s
}

// fit is the share of the free GPUs that jobs of the sizes asked for can take. Those that are larger than all nodes
// together do not count.
func (k *kind) fit(shares Shares, free int, blocks []leaf, all *leaf) float64 {
	taken, asked := 0., 0.
	for size, share := range shares {
		if share > 0 && 1<<size <= k.perNode*all.nodes {
			asked += share
			taken += share * float64(k.takes(1<<size, blocks, all))
		}
	}
	if asked == 0 || free == 0 {
		return 1
	}
	return taken / asked / float64(free)
}

func (l *leaf) join(o *leaf) {
	l.nodes, l.up, l.whole, l.gpus, l.wholeGPUs = l.nodes+o.nodes, l.up+o.up, l.whole+o.whole, l.gpus+o.gpus, l.wholeGPUs+o.wholeGPUs
}

// ifWhole is what is free, if that is all.
func (l *leaf) ifWhole() int {
	if l.up == 0 || l.whole < l.up || 2*l.up < l.nodes {
		return 0
	}
	return l.wholeGPUs
}

// takes is how many of the free GPUs jobs of one size can take: as many as fit into one node, else on whole nodes below
// one leaf, if one can have as many, or one block, or anywhere.
func (k *kind) takes(size int, blocks []leaf, all *leaf) (gpus int) {
	if size < k.perNode {
		for free, nodes := range k.parts {
			gpus += nodes * (free / size * size)
		}
		return gpus
	}
	n := (size + k.perNode - 1) / k.perNode
	fit := func(l *leaf) {
		if l.whole >= n {
			gpus += l.wholeGPUs * (l.whole / n * n) / l.whole
		}
	}
	for _, groups := range [][]leaf{k.leaves, blocks} {
		if slices.ContainsFunc(groups, func(l leaf) bool { return l.nodes >= n }) {
			for i := range groups {
				fit(&groups[i])
			}
			return gpus
		}
	}
	fit(all)
	return gpus
}
