package topology

import "slices"

// pickBlocks is Pick for blocks, greedy as eval_nodes_block.c of Slurm is, with its ties.
func (c *Chooser) pickBlocks(count []int, a Ask) ([]Part, Span, bool) {
	size := a.Segment
	if size <= 0 || size > a.Nodes {
		size = a.Nodes
	}
	if a.Nodes%size != 0 {
		return nil, Span{}, false
	}
	c.left = append(c.left[:0], count...)
	c.parts = c.parts[:0]
	for range a.Nodes / size {
		if !c.segment(size) {
			return nil, Span{}, false
		}
	}
	s := Span{Nodes: a.Nodes}
	c.order = c.order[:0]
	for _, p := range c.parts {
		c.order = append(c.order, p.Leaf)
		s.Left += c.left[p.Leaf]
	}
	s.over(c.x, c.order)
	return c.parts, s, true
}

// segment takes n nodes of one block, and says whether there is one.
func (c *Chooser) segment(n int) bool {
	blocks, smaller := c.blocksFor(n)
	most := len(smaller.groups) // of the smaller ones
	if most > 0 {
		most = (n + smaller.size - 1) / smaller.size
	}
	var best []int32
	least := 0
	for _, b := range blocks {
		free := c.free(b)
		// Ties go to the last.
		if best != nil && free > least {
			continue
		}
		if leaves, ok := c.usable(b, smaller.groups, most, n); ok {
			best, least = leaves, free
		}
	}
	for n > 0 && best != nil {
		l := best[0]
		for _, o := range best[1:] {
			if better(c.left[o], c.left[l], n) {
				l = o
			}
		}
		n -= c.take(l, n)
	}
	return best != nil
}

// blocksFor returns the smallest blocks that are large enough for n nodes, or all there is as one, and the next smaller ones.
func (c *Chooser) blocksFor(n int) (blocks [][]int32, smaller tier) {
	for _, t := range c.x.tiers {
		if t.size >= n {
			return t.groups, smaller
		}
		smaller = t
	}
	all := make([]int32, c.x.leaves-1)
	for i := range all {
		all[i] = int32(i)
	}
	return [][]int32{all}, smaller
}

// usable returns the leaves of a block from which n nodes may be taken: of all of it, or of the smaller blocks in it that it takes if not all may be
// used. ok is false if they do not have so many.
func (c *Chooser) usable(block []int32, smaller [][]int32, most, n int) (leaves []int32, ok bool) {
	var in [][]int32
	for _, s := range smaller {
		if len(s) > 0 && slices.Contains(block, s[0]) {
			in = append(in, s)
		}
	}
	if len(in) <= most {
		return block, len(block) > 0 && c.free(block) >= n
	}
	for ; n > 0 && most > 0 && len(in) > 0; most-- {
		b := 0
		for i := range in {
			if better(c.free(in[i]), c.free(in[b]), n) {
				b = i
			}
		}
		leaves, n = append(leaves, in[b]...), n-c.free(in[b])
		in = slices.Delete(in, b, b+1)
	}
	slices.Sort(leaves)
	return leaves, n <= 0
}

// better says of which block n nodes are rather taken: of the smallest that has them all, or else of the largest. Ties go to the last.
func better(has, than, n int) bool {
	if has >= n {
		return than < n || has <= than
	}
	return than < n && has >= than
}

func (c *Chooser) free(block []int32) (n int) {
	for _, l := range block {
		n += c.left[l]
	}
	return n
}

// take takes up to n nodes of a leaf.
func (c *Chooser) take(l int32, n int) int {
	n = min(n, c.left[l])
	c.left[l] -= n
	if i := slices.IndexFunc(c.parts, func(p Part) bool { return p.Leaf == l }); i >= 0 {
		c.parts[i].Nodes += n
	} else {
		c.parts = append(c.parts, Part{l, n})
	}
	return n
}
