package topology

import "slices"

// Ask is what a gang wants of the wiring.
type Ask struct {
	Nodes      int
	Leaves     int  // at most so many leaves; 0: any number. Blocks do not heed it
	Segment    int  // that many nodes at a time must share a leaf, or a block that is large enough for them; 0: one. Nodes is a multiple of it
	Contiguous bool // nodes that follow each other by name, however switches join them. Blocks do not heed it
	Joined     bool // a switch is above all of them, as topology/tree has it
}

// Part is what a gang gets of one leaf.
type Part struct {
	Leaf  int32
	Nodes int
}

// Chooser picks nodes for gangs. It works in room of its own: use one for each goroutine.
type Chooser struct {
	x       *Index
	count   []int // of free nodes, by leaf
	order   []int32
	now     []int32
	best    []int32
	found   []int32
	byRank  []int32
	effort  int
	optimum int // of the leaves in best: nodes that they have beyond what is needed
	parts   []Part
	left    []int // by leaf, of blocks: what is free still
}

// Chooser returns a Chooser.
func (x *Index) Chooser() *Chooser {
	return &Chooser{x: x, count: make([]int, x.leaves)}
}

// Choose picks nodes of those that are free and appends them to into, which is returned unchanged if they do not fit. Which, and in which
// order of wishes: under one leaf; under the lowest switch; on few leaves; so that what stays free of those leaves is least, which leaves the
// largest holes elsewhere. Nodes are taken from each leaf in the order given. For blocks see [Chooser.Pick].
//
// That is what Slurm's topology/tree and topology/block do, but for ties and for the last wish, where they are greedy.
func (c *Chooser) Choose(free []int32, a Ask, into []int32) ([]int32, Span, bool) {
	if a.Nodes <= 0 || len(free) < a.Nodes {
		return into, Span{}, false
	}
	if a.Contiguous && !c.x.Blocks() {
		return c.run(free, a.Nodes, into)
	}
	clear(c.count)
	for _, f := range free {
		c.count[c.x.leafOf[f]]++
	}
	parts, span, ok := c.Pick(c.count, a)
	if !ok {
		return into, span, false
	}
	for _, p := range parts {
		for _, f := range free {
			if p.Nodes > 0 && c.x.leafOf[f] == p.Leaf {
				into = append(into, f)
				p.Nodes--
			}
		}
	}
	return into, span, true
}

// Pick is Choose where only the number of free nodes under each leaf is known, and nodes need not follow each other. What it returns is valid until the
// next call.
//
// Of blocks a gang, or a segment of one, gets nodes of one of the smallest blocks that are large enough for it, the one with the fewest free nodes; and of
// the next smaller blocks in there no more than its size needs. So topology/block refuses a gang of two the last free nodes of two base blocks.
func (c *Chooser) Pick(count []int, a Ask) ([]Part, Span, bool) {
	if c.x.Blocks() {
		return c.pickBlocks(count, a)
	}
	return c.pick(count, a)
}

func (c *Chooser) pick(count []int, a Ask) ([]Part, Span, bool) {
	if a.Joined && c.x.scattered {
		if count = c.joined(count, a.Nodes); count == nil {
			return nil, Span{}, false
		}
	}
	leaves, s, ok := c.pickLeaves(count, a)
	c.parts = c.parts[:0]
	left := a.Nodes
	for _, l := range leaves {
		n := min(left, count[l])
		if a.Segment > 1 {
			n = min(left, count[l]/a.Segment*a.Segment)
		}
		c.parts = append(c.parts, Part{l, n})
		left -= n
	}
	return c.parts, s, ok
}

// joined is count without the leaves below other switches than the highest that has n free nodes below it, which is what topology/tree does to nodes
// that no switch joins; nil if there is no such switch.
func (c *Chooser) joined(count []int, n int) []int {
	var best []int32
	level := 0
	consider := func(leaves []int32, at int) {
		free := 0
		for _, l := range leaves {
			free += count[l]
		}
		if free >= n && (best == nil || at >= level) {
			best, level = leaves, at
		}
	}
	for l := range int32(c.x.leaves - 1) {
		consider([]int32{l}, 0)
	}
	for i := range c.x.upper {
		consider(c.x.upper[i].leaves, c.x.upper[i].level)
	}
	if best == nil {
		return nil
	}
	c.left = append(c.left[:0], make([]int, len(count))...)
	for _, l := range best {
		c.left[l] = count[l]
	}
	return c.left
}

// pickLeaves returns the leaves to take nodes from, in order: all that is free of each but the last.
func (c *Chooser) pickLeaves(count []int, a Ask) (leaves []int32, s Span, ok bool) {
	segment := max(a.Segment, 1)
	n := (a.Nodes + segment - 1) / segment
	room := func(l int32) int { return count[l] / segment }
	one := int32(-1)
	for l := range int32(c.x.leaves) {
		if room(l) >= n && (one < 0 || count[l] < count[one]) {
			one = l
		}
	}
	if one >= 0 {
		c.found = append(c.found[:0], one)
		return c.found, Span{Nodes: a.Nodes, Leaves: 1, Left: count[one] - a.Nodes}, true
	}
	most := a.Leaves
	if most == 0 {
		most = c.x.leaves
	}
	c.found = c.found[:0]
	bestLeft, level := 0, 0
	consider := func(group []int32, at int) {
		if !c.fewest(group, count, segment, n) || len(c.best) > most {
			return
		}
		if len(c.found) == 0 || len(c.best) < len(c.found) || len(c.best) == len(c.found) && c.optimum < bestLeft {
			c.found, bestLeft, level = append(c.found[:0], c.best...), c.optimum, at
		}
	}
	for i := 0; i < len(c.x.upper); {
		at := c.x.upper[i].level
		for ; i < len(c.x.upper) && c.x.upper[i].level == at; i++ {
			consider(c.x.upper[i].leaves, at)
		}
		if len(c.found) > 0 {
			return c.found, Span{Nodes: a.Nodes, Leaves: len(c.found), Level: level, Left: bestLeft}, true
		}
	}
	c.order = c.order[:0]
	for l := range int32(c.x.leaves) {
		c.order = append(c.order, l)
	}
	consider(slices.Clone(c.order), c.x.top)
	if len(c.found) > 0 {
		return c.found, Span{Nodes: a.Nodes, Leaves: len(c.found), Level: level, Left: bestLeft, Apart: true}, true
	}
	return nil, Span{}, false
}

// effortOf bounds the search for the leaves with least to spare; beyond it the best so far is taken.
const effortOf = 4096

// fewest leaves in c.best the fewest leaves of a group that hold n units, and among such those with least to spare, fullest first; false
// if all of them do not hold so many.
func (c *Chooser) fewest(group []int32, count []int, unit, n int) bool {
	c.order = c.order[:0]
	for _, l := range group {
		if count[l] >= unit {
			c.order = append(c.order, l)
		}
	}
	slices.SortStableFunc(c.order, func(a, b int32) int { return count[b]/unit - count[a]/unit })
	k, sum := 0, 0
	for ; k < len(c.order) && sum < n; k++ {
		sum += count[c.order[k]] / unit
	}
	if sum < n {
		return false
	}
	c.best = append(c.best[:0], c.order[:k]...)
	c.optimum, c.effort, c.now = sum-n, 0, c.now[:0]
	if c.optimum > 0 {
		c.tighten(count, unit, 0, k, n)
	}
	return true
}

// tighten looks for k of the leaves from the i-th on that hold n units with less to spare than the best so far.
func (c *Chooser) tighten(count []int, unit, i, k, n int) {
	if k == 0 {
		if n <= 0 && -n < c.optimum {
			c.optimum, c.best = -n, append(c.best[:0], c.now...)
		}
		return
	}
	last := -1
	for ; i+k <= len(c.order) && c.optimum > 0; i++ {
		has := count[c.order[i]] / unit
		if has*k < n {
			return // the rest is not enough: the leaves are in order
		}
		if has == last {
			continue // as the one before, which was tried in this place
		}
		least := has // of this leaf and the smallest of those behind it
		for j := 1; j < k; j++ {
			least += count[c.order[len(c.order)-j]] / unit
		}
		if c.effort++; c.effort > effortOf {
			return
		}
		if last = has; least-n >= c.optimum {
			continue
		}
		c.now = append(c.now, c.order[i])
		c.tighten(count, unit, i+1, k-1, n-has)
		c.now = c.now[:len(c.now)-1]
	}
}

// run picks n nodes that follow each other, from the shortest run of free ones that is long enough.
func (c *Chooser) run(free []int32, n int, into []int32) ([]int32, Span, bool) {
	c.byRank = append(c.byRank[:0], free...)
	rank := c.x.rank
	slices.SortFunc(c.byRank, func(a, b int32) int { return int(rank[a]) - int(rank[b]) })
	best, long := -1, 0
	for i, j := 0, 1; i < len(c.byRank); i, j = j, j+1 {
		for j < len(c.byRank) && rank[c.byRank[j]] == rank[c.byRank[j-1]]+1 {
			j++
		}
		if j-i >= n && (best < 0 || j-i < long) {
			best, long = i, j-i
		}
	}
	if best < 0 {
		return into, Span{}, false
	}
	s := c.x.Span(c.byRank[best : best+n])
	s.Left = long - n
	return append(into, c.byRank[best:best+n]...), s, true
}
