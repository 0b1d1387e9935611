package topology

import (
	"cmp"
	"slices"
)

// Index is a Tree prepared for questions about nodes that are known by number. It does not change.
type Index struct {
	leafOf []int32   // by node; the last leaf is for nodes that no switch names
	leaves int       // how many leaves there are, that last one included
	groups [][]int32 // leaves below each switch that has children, lowest switches first
}

// Index numbers the nodes as they stand in names. A node that no leaf names is only near its like, unless the tree is
// empty: then all nodes are under one leaf.
func (t Tree) Index(names []string) *Index {
	x := &Index{leafOf: make([]int32, len(names))}
	number := make(map[string]int32, len(names))
	leaf := make(map[string]int32)
	leaves := int32(0)
	for _, s := range t.Switches {
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
	for i, n := range names {
		l, ok := number[n]
		if !ok {
			l = int32(x.leaves - 1)
		}
		x.leafOf[i] = l
	}
	x.groups = t.groups(leaf)
	return x
}

// groups returns the leaves below every upper switch, lower levels first.
func (t Tree) groups(leaf map[string]int32) [][]int32 {
	at := make(map[string]*Switch, len(t.Switches))
	var upper []*Switch
	for i := range t.Switches {
		at[t.Switches[i].Name] = &t.Switches[i]
		if len(t.Switches[i].Children) > 0 {
			upper = append(upper, &t.Switches[i])
		}
	}
	slices.SortStableFunc(upper, func(a, b *Switch) int { return cmp.Compare(a.Level, b.Level) })
	var groups [][]int32
	for _, s := range upper {
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
		groups = append(groups, below)
	}
	return groups
}

// Leaf is the number of node i's leaf; Leaves is how many there are.
func (x *Index) Leaf(i int32) int32 { return x.leafOf[i] }

// Leaves is the number of leaves, counting one for the nodes that no switch names.
func (x *Index) Leaves() int { return x.leaves }

// Largest returns how many of the nodes hang on the k leaves that have most of them.
func (x *Index) Largest(nodes []int32, k int) int {
	count := make([]int, x.leaves)
	for _, n := range nodes {
		count[x.leafOf[n]]++
	}
	slices.SortFunc(count, func(a, b int) int { return b - a })
	sum := 0
	for _, c := range count[:min(k, len(count))] {
		sum += c
	}
	return sum
}

// Choose picks n of the free nodes under at most maxLeaves leaves (0: any number), the best fit: the smallest leaf that has
// enough; else the lowest switch under which they fit, and there the fewest leaves. It returns nil if they do not fit.
// Nodes are taken from each leaf in the order given.
func (x *Index) Choose(free []int32, n, maxLeaves int) []int32 {
	if n <= 0 || len(free) < n {
		return nil
	}
	count := make([]int, x.leaves)
	for _, f := range free {
		count[x.leafOf[f]]++
	}
	best := -1
	for l, c := range count {
		if c >= n && (best < 0 || c < count[best]) {
			best = l
		}
	}
	if best >= 0 {
		return x.take(free, n, []int32{int32(best)})
	}
	if maxLeaves == 0 {
		maxLeaves = x.leaves
	}
	for _, g := range x.groups {
		if leaves := fewest(g, count, n); leaves != nil && len(leaves) <= maxLeaves {
			return x.take(free, n, leaves)
		}
	}
	all := make([]int32, x.leaves)
	for i := range all {
		all[i] = int32(i)
	}
	if leaves := fewest(all, count, n); len(leaves) <= maxLeaves {
		return x.take(free, n, leaves)
	}
	return nil
}

// fewest picks the fullest leaves of a group until they hold n nodes, the last one as small as will do; nil if all of
// them do not.
func fewest(group []int32, count []int, n int) []int32 {
	order := slices.Clone(group)
	slices.SortStableFunc(order, func(a, b int32) int { return count[b] - count[a] })
	for i, l := range order {
		if count[l] < n {
			n -= count[l]
			continue
		}
		for j := i; j < len(order) && count[order[j]] >= n; j++ {
			order[i] = order[j]
		}
		return order[:i+1]
	}
	return nil
}

func (x *Index) take(free []int32, n int, leaves []int32) []int32 {
	chosen := make([]int32, 0, n)
	for _, l := range leaves {
		for _, f := range free {
			if x.leafOf[f] == l && len(chosen) < n {
				chosen = append(chosen, f)
			}
		}
	}
	return chosen
}
