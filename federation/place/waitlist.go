package place

// awaited is a node that is ready at a time, or, if that is not known, at that time at the earliest.
type awaited struct {
	nodeTime
	known bool
}

// waitlist is a heap of nodes: the first is the next one in the order of a scan.
type waitlist []awaited

func (l *waitlist) push(s *readyScan, t awaited) {
	h := append(*l, t)
	*l = h
	i := len(h) - 1
	for i > 0 {
		up := (i - 1) / 2
		if s.compare(h[up].nodeTime, t.nodeTime) <= 0 {
			break
		}
		h[i], i = h[up], up
	}
	h[i] = t
}

func (l *waitlist) pop(s *readyScan) awaited {
	h := *l
	first, last := h[0], h[len(h)-1]
	h = h[:len(h)-1]
	*l = h
	i := 0
	for {
		k := 2*i + 1
		if k >= len(h) {
			break
		}
		if k+1 < len(h) && s.compare(h[k+1].nodeTime, h[k].nodeTime) < 0 {
			k++
		}
		if s.compare(last.nodeTime, h[k].nodeTime) <= 0 {
			break
		}
		h[i], i = h[k], k
	}
	if len(h) > 0 {
		h[i] = last
	}
	return first
}
