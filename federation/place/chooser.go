package place

import (
	"slices"
	"sort"

	"fsub/topology"
)

// chooser picks, of some nodes of a site, those that are as close to each other as a need wants them.
type chooser struct {
	m  *model
	by []*topology.Chooser // by fabric; nil: not made yet
}

// of returns what picks leaves at the site for f.
func (ch *chooser) of(f *fit) *topology.Chooser {
	if ch.by == nil {
		ch.by = make([]*topology.Chooser, len(ch.m.wiring.fabrics))
	}
	on := ch.m.wiring.on(f)
	if ch.by[on.number] == nil {
		ch.by[on.number] = on.Chooser()
	}
	return ch.by[on.number]
}

// choose picks f.nodes of some nodes, as close as f wants them; nil if they are not. The required ones are among them.
func (ch *chooser) choose(nodes []int32, f *fit) ([]int32, topology.Span) {
	on := ch.m.wiring.on(f)
	if f.alone {
		nodes = ch.wholeLeaves(nodes, f)
	}
	if len(f.include) > 0 {
		if f.leaves > 0 {
			near := nodes[:0:0]
			for _, n := range nodes {
				if slices.ContainsFunc(f.include, func(i int32) bool { return on.Leaf(i) == on.Leaf(n) }) {
					near = append(near, n)
				}
			}
			nodes = near
		}
		if len(nodes) < f.nodes || f.leaves > 0 && on.Largest(nodes[:f.nodes], f.leaves) < f.nodes {
			return nil, topology.Span{}
		}
		return nodes[:f.nodes], on.Span(nodes[:f.nodes])
	}
	chosen, span, _ := ch.of(f).Choose(nodes, f.wiringAsk(), nil)
	return chosen, span
}

// wholeLeaves are those of some nodes whose leaves have no others that are up.
func (ch *chooser) wholeLeaves(nodes []int32, f *fit) []int32 {
	on := ch.m.wiring.on(f)
	count := make([]int, on.Leaves())
	for _, n := range nodes {
		count[on.Leaf(n)]++
	}
	return slices.DeleteFunc(slices.Clone(nodes), func(n int32) bool { l := on.Leaf(n); return count[l] < ch.m.upIn(f, l) })
}

// enoughAt is when enough of the nodes, sorted by time, are ready, not before from, and close together if that is asked for.
func (ch *chooser) enoughAt(ready []nodeTime, f *fit, from int64) int64 {
	if len(ready) < f.nodes {
		return never
	}
	start := from
	for _, n := range f.include {
		i := slices.IndexFunc(ready, func(r nodeTime) bool { return r.n == n })
		if i < 0 {
			return never
		}
		start = max(start, ready[i].at)
	}
	if !ch.m.wiring.particular(f) {
		return max(start, ready[f.nodes-1].at)
	}
	on := ch.m.wiring.on(f)
	if f.leaves == 0 || f.segment > 1 || f.alone || f.row(&ch.m.wiring) || f.joined && on.Scattered() {
		return ch.closeAt(ready, f, start)
	}
	count := make([]int, on.Leaves())
	for _, r := range ready {
		if r.at == never {
			break
		}
		count[on.Leaf(r.n)]++
		if most(count, f.leaves) >= f.nodes {
			return max(start, r.at)
		}
	}
	return never
}

// closeAt is when the first of the nodes that are ready are as close as f wants them.
func (ch *chooser) closeAt(ready []nodeTime, f *fit, start int64) int64 {
	nodes := make([]int32, 0, len(ready))
	for _, r := range ready {
		if r.at != never {
			nodes = append(nodes, r.n)
		}
	}
	n := sort.Search(len(nodes)+1, func(n int) bool { found, _ := ch.choose(nodes[:n], f); return found != nil })
	if n > len(nodes) {
		return never
	}
	return max(start, ready[n-1].at)
}

// most is the sum of the k largest counts.
func most(count []int, k int) int {
	if k == 1 {
		return slices.Max(count)
	}
	sorted := slices.Clone(count)
	slices.SortFunc(sorted, func(a, b int) int { return b - a })
	sum := 0
	for _, n := range sorted[:min(k, len(sorted))] {
		sum += n
	}
	return sum
}

// nodesAt picks the nodes for a start: those that are ready last, so that the others stay free for other jobs until then.
func (ch *chooser) nodesAt(ready []nodeTime, f *fit, start int64) []int32 {
	nodes := slices.Clone(f.include)
	for i := len(ready) - 1; i >= 0; i-- {
		if ready[i].at <= start && !slices.Contains(f.include, ready[i].n) {
			nodes = append(nodes, ready[i].n)
		}
	}
	if ch.m.wiring.matters(f) {
		chosen, _ := ch.choose(nodes, f)
		return chosen
	}
	return nodes[:f.nodes]
}
