package torus

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// NoSlice is the error for a slice that does not exist, with the nearest that do.
type NoSlice struct {
	Generation string
	Asked      string
	Reason     string
	Nearest    []Shape // at most the next smaller and the next larger one
}

func (e *NoSlice) Error() string {
	text := fmt.Sprintf("no TPU slice %s of %s: %s", e.Asked, e.Generation, e.Reason)
	if e.Generation == "" {
		text = fmt.Sprintf("no TPU slice %s: %s", e.Asked, e.Reason)
	}
	var near []string
	for _, s := range e.Nearest {
		near = append(near, fmt.Sprintf("%s (%d chips)", s, s.Chips()))
	}
	if len(near) > 0 {
		text += "; nearest: " + strings.Join(near, ", ")
	}
	return text
}

// Check returns s as it is to be requested, or a *NoSlice that says which rule it breaks. The order of its axes does not matter.
func (g *Generation) Check(s Shape) (Shape, error) {
	sorted := s.Sorted()
	if reason := g.refuse(sorted); reason != "" {
		return Shape{}, &NoSlice{Generation: g.Name, Asked: s.String(), Reason: reason, Nearest: g.near(s.Chips())}
	}
	return sorted, nil
}

// refuse says why a slice with sorted axes does not exist, "" if it does.
func (g *Generation) refuse(s Shape) string {
	plain := s
	plain.Untwisted = false
	switch {
	case s.Flat() && g.Axes == 3:
		return "its slices have three axes"
	case !s.Flat() && g.Axes == 2:
		return "its slices have two axes"
	case s.Untwisted && !s.doubled():
		return "only slices of k x k x 2k or k x 2k x 2k are twisted, and can be untwisted"
	case slices.Contains(g.small, plain):
		return ""
	case g.Axes == 2:
		return "it comes in " + list(g.small)
	case s.Chips() < cube*cube*cube:
		return fmt.Sprintf("below a cube of 4x4x4 it comes in %s", list(g.small))
	case s.X%cube != 0 || s.Y%cube != 0 || s.Z%cube != 0:
		return "every axis of a slice of whole cubes is a multiple of 4"
	case s.Chips() > g.Largest:
		return fmt.Sprintf("the largest slice has %d chips", g.Largest)
	case s.longest() > longestAxis:
		return fmt.Sprintf("no axis is longer than %d", longestAxis)
	}
	return ""
}

// longestAxis is the longest axis in xpk's table of slices.
const longestAxis = 256

func list(shapes []Shape) string {
	words := make([]string, len(shapes))
	for i, s := range shapes {
		words[i] = s.String()
	}
	return strings.Join(words, ", ")
}

// all keeps each generation's slices, which are worked out once.
var all = sync.OnceValue(func() map[*Generation][]Shape {
	m := make(map[*Generation][]Shape, len(generations))
	for _, g := range generations {
		m[g] = g.enumerate()
	}
	return m
})

// Slices lists the slices that exist, with sorted axes, smallest first, and among those of one size the best first. Callers must not
// change it.
func (g *Generation) Slices() []Shape { return all()[g] }

func (g *Generation) enumerate() []Shape {
	shapes := slices.Clone(g.small)
	if g.Axes == 3 {
		for x := cube; x*x*x <= g.Largest; x += cube {
			for y := x; x*y*y <= g.Largest; y += cube {
				for z := y; x*y*z <= g.Largest && z <= longestAxis; z += cube {
					shapes = append(shapes, Shape{X: x, Y: y, Z: z})
				}
			}
		}
	}
	slices.SortFunc(shapes, func(a, b Shape) int {
		return cmp.Or(cmp.Compare(a.Chips(), b.Chips()), cmp.Compare(a.longest(), b.longest()), cmp.Compare(b.X, a.X))
	})
	return shapes
}

// Best is the slice of exactly so many chips whose chips are closest to each other: the one with the shortest longest axis, hence with
// the most bandwidth through its middle.
func (g *Generation) Best(chips int) (Shape, error) {
	for _, s := range g.Slices() {
		if s.Chips() == chips {
			return s, nil
		}
	}
	return Shape{}, &NoSlice{Generation: g.Name, Asked: fmt.Sprintf("of %d chips", chips), Reason: "no shape has so many",
		Nearest: g.near(chips)}
}

// AtLeast is the best of the smallest slices that have so many chips or more.
func (g *Generation) AtLeast(chips int) (Shape, bool) {
	for _, s := range g.Slices() {
		if s.Chips() >= chips {
			return s, true
		}
	}
	return Shape{}, false
}

// near gives the best slices of the sizes around so many chips: as many as that, or the next smaller and the next larger.
func (g *Generation) near(chips int) []Shape {
	var below, above Shape
	for _, s := range g.Slices() {
		if s.Chips() <= chips && s.Chips() > below.Chips() {
			below = s
		}
		if s.Chips() >= chips && above.X == 0 {
			above = s
		}
	}
	var near []Shape
	for _, s := range []Shape{below, above} {
		if s.X > 0 && !slices.Contains(near, s) {
			near = append(near, s)
		}
	}
	return near
}

// Feature names a slice as a feature of its hosts: "tpu-v5p-4x4x8". A job asks for one by it (--constraint).
func (g *Generation) Feature(s Shape) string { return "tpu-" + g.Name + "-" + s.String() }
