package topology

import "slices"

// Span is how far apart the nodes of a gang are.
type Span struct {
	Nodes  int
	Leaves int  // leaf switches or blocks that they are on
	Level  int  // of the lowest switch above all of them; 0: they share a leaf
	Apart  bool // no switch is above all of them; Level is one more than the highest then
	Left   int  // nodes that stay free of the leaves that were taken: with fewer left, larger holes are left elsewhere
}

// Hops is how many links are between the two nodes that are farthest apart.
func (s Span) Hops() int {
	if s.Nodes < 2 {
		return 0
	}
	return 2 * (s.Level + 1)
}

// Oversubscribed is how many times fewer links go up from a switch than come from below, where nobody says so: 2:1 is the usual
// design of a fabric that is not built for full bisection.
const Oversubscribed = 2

// Bisection is the bandwidth between the two halves of the gang, in links of one node: half of its nodes where they share a leaf, less by
// [Oversubscribed] for each level above. It is an estimate: sites do not tell how thick their trees are.
func (s Span) Bisection() float64 {
	b := float64(s.Nodes / 2)
	for range s.Level {
		b /= Oversubscribed
	}
	return b
}

// Worse compares how far apart two gangs are: negative if s is closer together.
func (s Span) Worse(o Span) int {
	if s.Level != o.Level {
		return s.Level - o.Level
	}
	return s.Leaves - o.Leaves
}

// Span tells how far apart nodes are.
func (x *Index) Span(nodes []int32) Span {
	s := Span{Nodes: len(nodes)}
	var leaves []int32
	for _, n := range nodes {
		if l := x.leafOf[n]; !slices.Contains(leaves, l) {
			leaves = append(leaves, l)
		}
	}
	s.over(x, leaves)
	return s
}

// over sets how far apart some leaves are.
func (s *Span) over(x *Index, leaves []int32) {
	s.Leaves = len(leaves)
	if len(leaves) < 2 {
		return
	}
	for _, u := range x.upper {
		if !slices.ContainsFunc(leaves, func(l int32) bool { _, ok := slices.BinarySearch(u.leaves, l); return !ok }) {
			s.Level = u.level
			return
		}
	}
	s.Level, s.Apart = x.top, true
}

// Largest returns how many of the nodes are on the k leaves that have most of them.
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
