package topology

import (
	"cmp"
	"slices"
	"strconv"
)

// Index is a Tree prepared for questions about nodes that are known by number. It does not change.
type Index struct {
	leafOf []int32   // by node; the last leaf is for nodes that no switch names
	leaves int       // how many leaves there are, that last one included
	nodes  [][]int32 // by leaf
	upper  []upper   // switches that have children, lowest first
	top    int       // level of what joins leaves that no switch joins
	rank   []int32   // by node: where it stands in the order of names
	// scattered: there are switches, and none is above all nodes.
	scattered bool
	tiers     []tier // of topology/block: base blocks first, then the aggregated ones; nil: switches
}

// tier is all blocks of one of the BlockSizes, each as its leaves.
type tier struct {
	size   int // nodes of one
	groups [][]int32
}

// upper is a switch above leaves.
type upper struct {
	name   string
	level  int
	leaves []int32 // below it, in order
}

// Index numbers the nodes as they stand in names. A node that no leaf names is only near its like, unless the tree is
// empty: then all nodes are under one leaf.
func (t Tree) Index(names []string) *Index {
	x := &Index{leafOf: make([]int32, len(names)), rank: ranks(names)}
	number := make(map[string]int32, len(names))
	leaf := make(map[string]int32)
	leaves := int32(0)
	for _, s := range t.Switches {
		x.top = max(x.top, s.Level+1)
		if len(s.Nodes) == 0 {
			continue
		}
		leaf[s.Name] = leaves
		for _, n := range s.Nodes {
			number[n] = leaves
		}
		leaves++
	}
	x.leaves = int(leaves) + 1
	x.nodes = make([][]int32, x.leaves)
	for i, n := range names {
		l, ok := number[n]
		if !ok {
			l = int32(x.leaves - 1)
		}
		x.leafOf[i] = l
		x.nodes[l] = append(x.nodes[l], int32(i))
	}
	x.upper = t.upper(leaf)
	x.scattered = leaves > 0 && (len(x.nodes[leaves]) > 0 || leaves > 1 && !slices.ContainsFunc(x.upper, func(u upper) bool { return len(u.leaves) == int(leaves) }))
	if t.Blocks() {
		x.readTiers(t.BlockSizes)
	}
	return x
}

func (x *Index) readTiers(sizes []int) {
	x.tiers = []tier{{size: sizes[0]}}
	for l := range int32(x.leaves - 1) {
		x.tiers[0].groups = append(x.tiers[0].groups, []int32{l})
	}
	for i, last := 0, 0; i < len(x.upper); i++ {
		if u := x.upper[i]; u.level != last {
			x.tiers, last = append(x.tiers, tier{size: sizes[u.level]}), u.level
		}
		at := &x.tiers[len(x.tiers)-1]
		at.groups = append(at.groups, x.upper[i].leaves)
	}
}

// upper returns the leaves below every upper switch, lower levels first.
func (t Tree) upper(leaf map[string]int32) []upper {
	at := make(map[string]*Switch, len(t.Switches))
	var all []*Switch
	for i := range t.Switches {
		at[t.Switches[i].Name] = &t.Switches[i]
		if len(t.Switches[i].Children) > 0 {
			all = append(all, &t.Switches[i])
		}
	}
	slices.SortStableFunc(all, func(a, b *Switch) int { return cmp.Compare(a.Level, b.Level) })
	var found []upper
	for _, s := range all {
		seen := map[string]bool{s.Name: true}
		var below []int32
		for todo := slices.Clone(s.Children); len(todo) > 0; todo = todo[1:] {
			c := todo[0]
			if seen[c] || at[c] == nil {
				continue
			}
			seen[c] = true
			if l, ok := leaf[c]; ok {
				below = append(below, l)
			}
			todo = append(todo, at[c].Children...)
		}
		slices.Sort(below)
		found = append(found, upper{s.Name, s.Level, below})
	}
	return found
}

// Leaf is the number of node i's leaf; Leaves is how many there are.
func (x *Index) Leaf(i int32) int32 { return x.leafOf[i] }

// Leaves is the number of leaves, counting one for the nodes that no switch names.
func (x *Index) Leaves() int { return x.leaves }

// Nodes are the nodes of a leaf.
func (x *Index) Nodes(leaf int32) []int32 { return x.nodes[leaf] }

// Blocks says whether the leaves are blocks.
func (x *Index) Blocks() bool { return x.tiers != nil }

// Scattered says whether there are switches or blocks, and none is above all nodes.
func (x *Index) Scattered() bool { return x.scattered }

// BaseBlock is how many nodes a base block has; 0: there are no blocks.
func (x *Index) BaseBlock() int {
	if x.tiers == nil {
		return 0
	}
	return x.tiers[0].size
}

// ranks orders the nodes by name as people count: node9 before node10.
func ranks(names []string) []int32 {
	type key struct {
		stem   string
		number int
	}
	keys := make([]key, len(names))
	order := make([]int32, len(names))
	for i, n := range names {
		end := len(n)
		for end > 0 && '0' <= n[end-1] && n[end-1] <= '9' {
			end--
		}
		keys[i].stem = n[:end]
		keys[i].number, _ = strconv.Atoi(n[end:])
		order[i] = int32(i)
	}
	slices.SortStableFunc(order, func(a, b int32) int {
		return cmp.Or(cmp.Compare(keys[a].stem, keys[b].stem), cmp.Compare(keys[a].number, keys[b].number))
	})
	rank := make([]int32, len(names))
	for i, n := range order {
		rank[n] = int32(i)
	}
	return rank
}
