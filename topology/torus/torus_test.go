package torus

import (
	"encoding/csv"
	"errors"
	"math"
	"math/bits"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func shape(t *testing.T, text string) Shape {
	t.Helper()
	s, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func generation(t *testing.T, name string) *Generation {
	t.Helper()
	g, ok := Lookup(name)
	if !ok {
		t.Fatalf("no generation %s", name)
	}
	return g
}

func TestParse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Shape{X: rapid.IntRange(1, 64).Draw(t, "x"), Y: rapid.IntRange(1, 64).Draw(t, "y"), Z: rapid.IntRange(0, 64).Draw(t, "z"),
			Untwisted: rapid.Bool().Draw(t, "untwisted")}
		if got, err := Parse(s.String()); err != nil || got != s {
			t.Fatalf("%s read as %v, %v", s, got, err)
		}
	})
	if got := shape(t, "4x4x8_twisted"); got != (Shape{X: 4, Y: 4, Z: 8}) {
		t.Errorf("twisted is %v", got)
	}
	for _, bad := range []string{"", "4", "4x", "x4", "4x4x4x4", "4x-4", "4x+4", "0x4", "4x4x0", "axb", "4x4x8_", "4x4x8_bent", "99999x1", "4 x4"} {
		if s, err := Parse(bad); err == nil {
			t.Errorf("%q passed as %v", bad, s)
		}
	}
}

func TestLookup(t *testing.T) {
	for name, want := range map[string]string{"v5p": "v5p", "TPU-v5p": "v5p", "v5litepod": "v5e", "v5e": "v5e", "tpu7x": "v7x", "7x": "v7x",
		"v7x": "v7x", "trillium": "v6e", "tpuv4": "v4", "h100": "", "": ""} {
		g, ok := Lookup(name)
		if ok != (want != "") || ok && g.Name != want {
			t.Errorf("%q is %v", name, g)
		}
	}
}

func TestCheck(t *testing.T) {
	for _, c := range []struct{ gen, ask, want string }{
		{"v5p", "4x4x8", "4x4x8"},
		{"v5p", "8x4x4", "4x4x8"},
		{"v5p", "2x1x2", "2x2x1"},
		{"v5p", "4x4x8_untwisted", "4x4x8_untwisted"},
		{"v5p", "16x16x24", "16x16x24"},
		{"v7x", "1x1x1", "1x1x1"},
		{"v6e", "8x4", "4x8"},
		{"v5p", "16x16x28", "no TPU slice 16x16x28 of v5p: the largest slice has 6144 chips; nearest: 16x16x24 (6144 chips)"},
		{"v5p", "4x4x6", "no TPU slice 4x4x6 of v5p: every axis of a slice of whole cubes is a multiple of 4; nearest: 4x4x4 (64 chips), 4x4x8 (128 chips)"},
		{"v5p", "2x2x3", "no TPU slice 2x2x3 of v5p: below a cube of 4x4x4 it comes in 2x2x1, 2x2x2, 2x2x4, 2x4x4; nearest: 2x2x2 (8 chips), 2x2x4 (16 chips)"},
		{"v5p", "1x1x1", "no TPU slice 1x1x1 of v5p: below a cube of 4x4x4 it comes in 2x2x1, 2x2x2, 2x2x4, 2x4x4; nearest: 2x2x1 (4 chips)"},
		{"v5p", "4x4", "no TPU slice 4x4 of v5p: its slices have three axes; nearest: 2x2x4 (16 chips)"},
		{"v5p", "4x4x4_untwisted", "no TPU slice 4x4x4_untwisted of v5p: only slices of k x k x 2k or k x 2k x 2k are twisted, and can be untwisted; nearest: 4x4x4 (64 chips)"},
		{"v6e", "4x4x4", "no TPU slice 4x4x4 of v6e: its slices have two axes; nearest: 8x8 (64 chips)"},
		{"v5e", "16x32", "no TPU slice 16x32 of v5e: it comes in 1x1, 2x2, 2x4, 4x4, 4x8, 8x8, 8x16, 16x16; nearest: 16x16 (256 chips)"},
		{"v4", "4x4x260", "no TPU slice 4x4x260 of v4: the largest slice has 4096 chips; nearest: 16x16x16 (4096 chips)"},
		{"v7x", "4x4x260", "no TPU slice 4x4x260 of v7x: no axis is longer than 256; nearest: 4x20x52 (4160 chips)"},
	} {
		got, err := generation(t, c.gen).Check(shape(t, c.ask))
		text := got.String()
		if err != nil {
			var none *NoSlice
			if text = err.Error(); !errors.As(err, &none) {
				t.Errorf("%s %s: %T", c.gen, c.ask, err)
			}
		}
		if text != c.want {
			t.Errorf("%s %s:\n got %s\nwant %s", c.gen, c.ask, text, c.want)
		}
	}
}

// TestAgainstTable compares the rules with xpk's table of slices.
func TestAgainstTable(t *testing.T) {
	dir := os.Getenv("FSUB_ORACLE")
	if dir == "" {
		t.Skip("FSUB_ORACLE is not set: no table of slices to compare with")
	}
	f, err := os.Open(filepath.Join(dir, "tpu_slices.csv"))
	if err != nil {
		t.Skipf("no table of slices: %v", err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	number := func(text string) int { n, _ := strconv.Atoi(text); return n }
	listed := map[string]map[Shape]bool{}
	for _, r := range rows[1:] {
		g, s := generation(t, r[0]), shape(t, r[1])
		if listed[g.Name] == nil {
			listed[g.Name] = map[Shape]bool{}
		}
		listed[g.Name][s.Sorted()] = true
		if s.Chips() > g.Largest { // v5p: in a pod, but in no slice
			continue
		}
		got, err := g.Check(s)
		if err != nil {
			t.Errorf("%v: %v", r, err)
			continue
		}
		if g.AcceleratorType(got) != r[6] || s.Chips() != number(r[2]) {
			t.Errorf("%v: %s of %d chips", r, g.AcceleratorType(got), s.Chips())
		}
		hosts, per := g.Hosts(got)
		if (hosts != number(r[3]) || per != number(r[4])) && r[5] != "ct5lp-hightpu-4t" && r[5] != "ct6e-standard-4t" {
			t.Errorf("%v: %d hosts of %d", r, hosts, per)
		}
		if twistable := strings.Contains(r[9], "twistable"); twistable != g.Twists(got) && slices.IsSorted([]int{s.X, s.Y, s.Z}) {
			t.Errorf("%v: twists is %v", r, g.Twists(got))
		}
		w := g.Wraps(got)
		if torus := strings.Contains(r[9], "torus"); torus != (w[0] && w[1] && (g.Axes == 2 || w[2])) {
			t.Errorf("%v: wraps %v", r, w)
		}
	}
	for _, g := range generations {
		for _, s := range g.Slices() {
			if !listed[g.Name][s] {
				t.Errorf("%s of %s is in no table", s, g.Name)
			}
		}
	}
}

// TestSlices tries every shape with axes up to 40.
func TestSlices(t *testing.T) {
	for _, g := range generations {
		found := map[Shape]bool{}
		for x := 1; x <= 40; x++ {
			for y := 1; y <= 40; y++ {
				for z := 0; z <= 40; z++ {
					if s, err := g.Check(Shape{X: x, Y: y, Z: z}); err == nil {
						found[s] = true
					}
				}
			}
		}
		last := 0
		for _, s := range g.Slices() {
			if s.longest() <= 40 && !found[s] {
				t.Errorf("%s: %s is listed and refused", g.Name, s)
			}
			delete(found, s)
			if s.Chips() < last {
				t.Errorf("%s: %s comes late", g.Name, s)
			}
			last = s.Chips()
			if _, best, err := OfType(g.AcceleratorType(s)); err != nil || best.Chips() != s.Chips() || g.Bisection(best) < g.Bisection(s) {
				t.Errorf("%s: %s is %s, %v", g.Name, g.AcceleratorType(s), best, err)
			}
		}
		for s := range found {
			t.Errorf("%s: %s passes and is not listed", g.Name, s)
		}
	}
}

func TestOfType(t *testing.T) {
	for name, want := range map[string]string{
		"v5p-256": "4x4x8", "v4-384": "4x4x12", "v5litepod-16": "4x4", "v6e-8": "2x4", "tpu7x-2": "1x1x1", "v5p-512": "4x8x8",
		"v5p-12288": "16x16x24",
		"v5p-3":     "no TPU slice v5p-3 of v5p: an accelerator type ends in the number of its TensorCores, 2 for each chip",
		"v5p":       "no TPU slice v5p of v5p: an accelerator type ends in the number of its TensorCores, 2 for each chip",
		"v5p-40":    "no TPU slice of 20 chips of v5p: no shape has so many; nearest: 2x2x4 (16 chips), 2x4x4 (32 chips)",
		"v9-8":      "no TPU slice v9-8: no such generation; there are v2, v3, v4, v5e, v5p, v6e, v7x",
	} {
		_, s, err := OfType(name)
		got := s.String()
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, want)
		}
	}
	if s, ok := generation(t, "v5p").AtLeast(20); !ok || s.String() != "2x4x4" {
		t.Errorf("20 chips or more: %s", s)
	}
	if s, ok := generation(t, "v5e").AtLeast(257); ok {
		t.Errorf("257 chips or more: %s", s)
	}
}

// neighbours of each chip of a slice, by the plain rule.
func neighbours(g *Generation, s Shape) [][]int {
	axes, wraps := s.axes(), g.Wraps(s)
	axes[2] = max(axes[2], 1)
	at := func(c [3]int) int { return (c[0]*axes[1]+c[1])*axes[2] + c[2] }
	joined := make([][]int, s.Chips())
	for x := range axes[0] {
		for y := range axes[1] {
			for z := range axes[2] {
				c := [3]int{x, y, z}
				for i := range axes {
					to := c
					if to[i]++; to[i] == axes[i] {
						if !wraps[i] {
							continue
						}
						to[i] = 0
					}
					joined[at(c)] = append(joined[at(c)], at(to))
					joined[at(to)] = append(joined[at(to)], at(c))
				}
			}
		}
	}
	return joined
}

// TestBruteForce compares hops with a search from every chip, and the bisection of small slices with every way to halve them.
func TestBruteForce(t *testing.T) {
	for _, c := range []struct{ gen, shape string }{
		{"v5e", "2x2"}, {"v5e", "2x4"}, {"v5e", "4x4"}, {"v5e", "8x16"}, {"v5e", "16x16"}, {"v4", "2x2x1"}, {"v4", "2x2x2"}, {"v4", "2x2x4"},
		{"v4", "4x4x4"}, {"v4", "4x4x8_untwisted"}, {"ring4", "4x4"}, {"ring4", "2x4"},
	} {
		s := shape(t, c.shape)
		g := &Generation{Name: "ring4", Axes: 2, Ring: 4} // small enough to be halved in every way
		if c.gen != "ring4" {
			g = generation(t, c.gen)
		}
		joined := neighbours(g, s)
		largest, sum := 0, 0
		for from := range joined {
			far := make([]int, len(joined))
			for queue := []int{from}; len(queue) > 0; queue = queue[1:] {
				for _, n := range joined[queue[0]] {
					if far[n] == 0 && n != from {
						far[n] = far[queue[0]] + 1
						largest, sum = max(largest, far[n]), sum+far[n]
						queue = append(queue, n)
					}
				}
			}
		}
		mean := float64(sum) / float64(len(joined)*(len(joined)-1))
		if l, m := g.Hops(s); l != largest || math.Abs(m-mean) > 1e-9 {
			t.Errorf("%s %s: %d and %.4f hops, want %d and %.4f", c.gen, s, l, m, largest, mean)
		}
		if len(joined) > 16 {
			continue
		}
		fewest := math.MaxInt
		for half := uint32(0); half < 1<<len(joined); half++ {
			if bits.OnesCount32(half) != len(joined)/2 {
				continue
			}
			cut := 0
			for from := range joined {
				for _, to := range joined[from] {
					if half>>from&1 == 1 && half>>to&1 == 0 {
						cut++
					}
				}
			}
			fewest = min(fewest, cut)
		}
		if got := g.Bisection(s); got != fewest {
			t.Errorf("%s %s: %d links through the middle, want %d", c.gen, s, got, fewest)
		}
	}
}

// A twisted slice is what it is for: its chips are closer to each other.
func TestTwisted(t *testing.T) {
	g := generation(t, "v5p")
	for _, text := range []string{"4x4x8", "4x8x8", "8x8x16", "12x24x24"} {
		s := shape(t, text)
		plain := s
		plain.Untwisted = true
		far, mean := g.Hops(s)
		farPlain, meanPlain := g.Hops(plain)
		if !g.Twists(s) || g.Twists(plain) || far > farPlain || mean >= meanPlain {
			t.Errorf("%s: %d, %.3f hops; untwisted %d, %.3f", s, far, mean, farPlain, meanPlain)
		}
	}
	for _, text := range []string{"4x4x4", "4x4x12", "2x2x4", "2x4x4"} {
		if g.Twists(shape(t, text)) {
			t.Errorf("%s is twisted", text)
		}
	}
}
