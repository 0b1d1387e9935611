package torus

// Wraps says of which axes the ends are joined. A slice of whole cubes is a full torus: the optical switches close every axis. Slices
// below a cube close none. A flat slice closes an axis that runs through its whole pod.
func (g *Generation) Wraps(s Shape) [3]bool {
	if g.Axes == 2 {
		return [3]bool{s.X == g.Ring, s.Y == g.Ring}
	}
	whole := s.X%cube == 0 && s.Y%cube == 0 && s.Z%cube == 0
	return [3]bool{whole, whole, whole}
}

// Twists says whether the slice is a twisted torus: the axes of length k meet the other half of those of length 2k where they close. It
// is the default for such shapes, and favours all-to-all.
func (g *Generation) Twists(s Shape) bool {
	return g.Axes == 3 && !s.Untwisted && s.doubled() && s.Sorted().X%cube == 0
}

// Bisection is how many links join the two halves of the slice, cut where fewest do. A twisted slice has at least so many.
// LinkGbits times this is the bandwidth through its middle in one direction.
func (g *Generation) Bisection(s Shape) int {
	wraps := g.Wraps(s)
	fewest := 0
	for i, n := range s.axes() {
		if n < 2 || n%2 != 0 {
			continue
		}
		links := s.Chips() / n
		if wraps[i] {
			links *= 2
		}
		if fewest == 0 || links < fewest {
			fewest = links
		}
	}
	return fewest
}

// Hops is the largest and the mean number of links between two chips of the slice, over the shortest ways.
func (g *Generation) Hops(s Shape) (largest int, mean float64) {
	if s.Chips() < 2 {
		return 0, 0
	}
	if g.Twists(s) {
		return twistedHops(s.Sorted())
	}
	wraps := g.Wraps(s)
	for i, n := range s.axes() {
		switch {
		case n < 2:
		case wraps[i]:
			largest += n / 2
			mean += float64(n/2) * float64((n+1)/2) / float64(n)
		default:
			largest += n - 1
			mean += float64(n*n-1) / float64(3*n)
		}
	}
	// The means above count each chip's way to itself.
	chips := float64(s.Chips())
	return largest, mean * chips / (chips - 1)
}

// twistedHops measures from one chip, since all see the same: closing an axis of length k goes on k further along each axis of 2k.
func twistedHops(s Shape) (largest int, mean float64) {
	size := s.axes()
	far := make([]int16, s.Chips())
	at := func(c [3]int) int { return (c[0]*size[1]+c[1])*size[2] + c[2] }
	next := func(c [3]int, axis, by int) [3]int {
		to := c
		to[axis] += by
		if to[axis] >= 0 && to[axis] < size[axis] {
			return to
		}
		to[axis] = (to[axis] + size[axis]) % size[axis]
		if size[axis] == s.X {
			for j := range to {
				if size[j] == 2*s.X {
					to[j] = (to[j] + s.X) % size[j]
				}
			}
		}
		return to
	}
	sum := 0
	for queue := [][3]int{{}}; len(queue) > 0; queue = queue[1:] {
		c := queue[0]
		d := far[at(c)]
		largest, sum = max(largest, int(d)), sum+int(d)
		for axis := range size {
			for _, by := range [2]int{-1, 1} {
				if to := next(c, axis, by); far[at(to)] == 0 && to != [3]int{} {
					far[at(to)] = d + 1
					queue = append(queue, to)
				}
			}
		}
	}
	return largest, float64(sum) / float64(s.Chips()-1)
}
