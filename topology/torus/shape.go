package torus

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Shape is the size of a slice in chips along each axis. A flat one has no Z.
type Shape struct {
	X, Y, Z int
	// Untwisted asks for a plain torus where the wiring would be twisted otherwise; written as "4x4x8_untwisted".
	Untwisted bool
}

// Parse reads a shape as Google writes it: "4x8", "4x4x8", "4x4x8_untwisted", "4x4x8_twisted".
func Parse(text string) (Shape, error) {
	size, twist, _ := strings.Cut(strings.ToLower(text), "_")
	words := strings.Split(size, "x")
	axes := make([]int, 3)
	bad := len(words) != 2 && len(words) != 3 || twist != "" && twist != "twisted" && twist != "untwisted" || strings.HasSuffix(text, "_")
	for i := 0; i < len(words) && !bad; i++ {
		n, err := strconv.Atoi(words[i])
		bad = err != nil || n < 1 || n > 1<<12 || words[i][0] == '+'
		axes[i] = n
	}
	if bad {
		return Shape{}, fmt.Errorf("invalid TPU topology %q: want the chips along each axis, as in 4x8, 4x4x8 or 4x4x8_untwisted", text)
	}
	return Shape{X: axes[0], Y: axes[1], Z: axes[2], Untwisted: twist == "untwisted"}, nil
}

// String is the shape as Parse reads it.
func (s Shape) String() string {
	text := strconv.Itoa(s.X) + "x" + strconv.Itoa(s.Y)
	if s.Z > 0 {
		text += "x" + strconv.Itoa(s.Z)
	}
	if s.Untwisted {
		text += "_untwisted"
	}
	return text
}

// Chips is how many chips the slice has.
func (s Shape) Chips() int { return s.X * s.Y * max(s.Z, 1) }

// Flat says whether the slice has two axes only.
func (s Shape) Flat() bool { return s.Z == 0 }

// Sorted is the shape with its axes in ascending order, as slices are requested: an order of axes is no other wiring. Slices below a
// cube are named 2x2x1 and stay so.
func (s Shape) Sorted() Shape {
	axes := s.axes()
	used := axes[:2+min(s.Z, 1)]
	slices.Sort(used)
	if !s.Flat() && used[0] == 1 && used[2] > 1 {
		used[0], used[1], used[2] = used[1], used[2], 1
	}
	s.X, s.Y, s.Z = axes[0], axes[1], axes[2]
	return s
}

func (s Shape) axes() [3]int { return [3]int{s.X, s.Y, s.Z} }

// longest is the length of the longest axis.
func (s Shape) longest() int { return max(s.X, s.Y, s.Z) }

// doubled says whether the axes are k, k, 2k or k, 2k, 2k: the shapes that can be twisted.
func (s Shape) doubled() bool {
	a := s.Sorted()
	return !a.Flat() && a.Z == 2*a.X && (a.Y == a.X || a.Y == a.Z)
}
