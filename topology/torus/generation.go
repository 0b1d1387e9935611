package torus

import (
	"strconv"
	"strings"
)

// Generation is one kind of TPU: what its slices may be, and how they are wired.
type Generation struct {
	Name      string   // "v5p", as in --gres=tpu:v5p:128
	Type      string   // begins its accelerator types: "v5litepod" of v5litepod-16
	Aliases   []string // other names that people write
	Axes      int      // 2 or 3
	Pod       int      // chips of a pod
	Largest   int      // chips of the largest slice that can be had
	Cores     int      // TensorCores of a chip, where the accelerator type counts those; 1 where it counts chips
	Ring      int      // the length at which an axis of a flat slice closes to a ring; cubes close theirs always
	LinkGbits int      // of one link between two chips, in one direction

	small []Shape // slices that no rule gives: all of a flat generation, those below a cube of another
}

// cube is the side of the block of chips that optical switches join to larger slices (v4, v5p and 7x).
const cube = 4

// Sources: docs.cloud.google.com/tpu/docs/{v2,v3,v4,v5e,v5p,v6e,tpu7x}, and for the rule of whole cubes Cluster Toolkit's
// pkg/config/hardware.go and xpk's table of 2026-06. Links: Jouppi et al. 2020 (v2, v3), the documents' bandwidth of a chip divided by
// its links otherwise. Of v5p the documents say that a slice has 96 cubes at most, though a pod has 140.
var generations = []*Generation{
	{Name: "v2", Type: "v2", Axes: 2, Pod: 256, Largest: 256, Cores: 2, Ring: 16, LinkGbits: 496,
		small: flat(2, 2, 4, 4, 8, 8, 8, 16, 16, 16)},
	{Name: "v3", Type: "v3", Axes: 2, Pod: 1024, Largest: 1024, Cores: 2, Ring: 32, LinkGbits: 656,
		small: flat(2, 2, 4, 4, 4, 8, 8, 8, 8, 16, 16, 16, 16, 32, 32, 32)},
	{Name: "v4", Type: "v4", Axes: 3, Pod: 4096, Largest: 4096, Cores: 2, LinkGbits: 400, small: belowCube},
	{Name: "v5e", Type: "v5litepod", Aliases: []string{"v5lite"}, Axes: 2, Pod: 256, Largest: 256, Cores: 1, Ring: 16, LinkGbits: 400,
		small: flat(1, 1, 2, 2, 2, 4, 4, 4, 4, 8, 8, 8, 8, 16, 16, 16)},
	{Name: "v5p", Type: "v5p", Axes: 3, Pod: 8960, Largest: 6144, Cores: 2, LinkGbits: 800, small: belowCube},
	{Name: "v6e", Type: "v6e", Aliases: []string{"trillium"}, Axes: 2, Pod: 256, Largest: 256, Cores: 1, Ring: 16, LinkGbits: 800,
		small: flat(1, 1, 2, 2, 2, 4, 4, 4, 4, 8, 8, 8, 8, 16, 16, 16)},
	{Name: "v7x", Type: "tpu7x", Aliases: []string{"7x", "ironwood"}, Axes: 3, Pod: 9216, Largest: 9216, Cores: 2, LinkGbits: 800,
		small: append([]Shape{{X: 1, Y: 1, Z: 1}}, belowCube...)},
}

var belowCube = []Shape{{X: 2, Y: 2, Z: 1}, {X: 2, Y: 2, Z: 2}, {X: 2, Y: 2, Z: 4}, {X: 2, Y: 4, Z: 4}}

func flat(axes ...int) []Shape {
	var all []Shape
	for i := 0; i < len(axes); i += 2 {
		all = append(all, Shape{X: axes[i], Y: axes[i+1]})
	}
	return all
}

// Lookup finds a generation by the name that users or the cloud have for it: "v5p", "tpu-v5p", "v5litepod", "TPU7x".
func Lookup(name string) (*Generation, bool) {
	name = strings.ToLower(name)
	short := strings.TrimPrefix(strings.TrimPrefix(name, "tpu-"), "tpu")
	for _, g := range generations {
		if name == g.Type || short == g.Name || short == g.Type {
			return g, true
		}
		for _, a := range g.Aliases {
			if short == a {
				return g, true
			}
		}
	}
	return nil, false
}

// Names lists the generations, oldest first.
func Names() []string {
	names := make([]string, len(generations))
	for i, g := range generations {
		names[i] = g.Name
	}
	return names
}

// AcceleratorType is what the cloud calls a slice of s: its suffix counts TensorCores for v2 to v5p and 7x, chips for v5e and v6e.
// Slices of one size share it: the shape must be requested beside it.
func (g *Generation) AcceleratorType(s Shape) string {
	return g.Type + "-" + strconv.Itoa(s.Chips()*g.Cores)
}

// OfType reads an accelerator type, as in "v5p-256", and gives the shape that is best among those of its size.
func OfType(name string) (*Generation, Shape, error) {
	i := strings.LastIndexByte(name, '-')
	if i < 0 {
		i = len(name)
	}
	g, ok := Lookup(name[:i])
	if !ok {
		return nil, Shape{}, &NoSlice{Asked: name, Reason: "no such generation; there are " + strings.Join(Names(), ", ")}
	}
	n, err := strconv.Atoi(strings.TrimPrefix(name[i:], "-"))
	if err != nil || n < 1 || n%g.Cores != 0 {
		return nil, Shape{}, &NoSlice{Generation: g.Name, Asked: name, Reason: "an accelerator type ends in the number of its " + g.counts()}
	}
	s, err := g.Best(n / g.Cores)
	return g, s, err
}

// counts is what the number in an accelerator type counts.
func (g *Generation) counts() string {
	if g.Cores > 1 {
		return "TensorCores, 2 for each chip"
	}
	return "chips"
}

// Hosts is how many machines run a slice, and how many of its chips each has: four, or all of them where the slice is one machine. An
// eight-chip slice of v5e or v6e is one machine of eight for the TPU API (Kubernetes has it also as two of four).
func (g *Generation) Hosts(s Shape) (hosts, perHost int) {
	n := s.Chips()
	if n <= 4 || g.Axes == 2 && g.Cores == 1 && n == 8 {
		return 1, n
	}
	return n / 4, 4
}
