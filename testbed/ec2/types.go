package ec2

import (
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

//go:embed types.tsv
var typesTable string

// Type is an instance type.
type Type struct {
	Name           string
	CPUs           int
	MemMiB         int
	Arch           string
	Maker          string // of the accelerators: "NVIDIA", "AWS"; "" without any
	Accelerator    string
	Accelerators   int
	AcceleratorMiB int // memory of each
	EFA, Cards     int // the most EFA interfaces; network cards
	Network        string
	Strategies     []string // placement: cluster, partition, spread
	Usage          []string // on-demand, spot, capacity-block
	Zones          string   // letters of the zones that offer it; "" is all
	Price          float64  // dollars an hour on demand; 0: has no list price
	SpotFraction   float64  // of Price; 0 is 0.4
}

// gpus are the accelerators that answer to nvidia-smi.
func (t *Type) gpus() int {
	if t.Maker == "NVIDIA" || t.Maker == "AMD" {
		return t.Accelerators
	}
	return 0
}

// Types returns the stand-in's own table: the accelerator types and a few others. The values are the caller's.
func Types() []*Type {
	var out []*Type
	for _, line := range strings.Split(strings.TrimSpace(typesTable), "\n") {
		if !strings.HasPrefix(line, "#") {
			out = append(out, parseType(strings.Split(line, "\t")))
		}
	}
	return out
}

// TypesNamed returns the types of the table with these names. It panics at a name that is not there.
func TypesNamed(names ...string) []*Type {
	out, err := FindTypes(names...)
	if err != nil {
		panic(err)
	}
	return out
}

// FindTypes returns the types of the table with these names.
func FindTypes(names ...string) ([]*Type, error) {
	all, out := Types(), []*Type{}
	for _, name := range names {
		i := slices.IndexFunc(all, func(t *Type) bool { return t.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("the stand-in has no instance type %q: types.tsv lists those that it has", name)
		}
		out = append(out, all[i])
	}
	return out, nil
}

func parseType(f []string) *Type {
	number := func(s string) int {
		n, err := strconv.Atoi(s)
		if err != nil {
			panic(fmt.Sprintf("types.tsv, %s: %v", f[0], err))
		}
		return n
	}
	t := &Type{
		Name: f[0], CPUs: number(f[1]), MemMiB: number(f[2]), Arch: f[3], Accelerators: number(f[6]), AcceleratorMiB: number(f[7]),
		EFA: number(f[8]), Cards: number(f[9]), Network: f[10], Strategies: list(f[11]), Usage: list(f[12]), Zones: f[13],
	}
	if f[4] != "-" {
		t.Maker, t.Accelerator = f[4], f[5]
	}
	if f[14] != "-" {
		t.Price, _ = strconv.ParseFloat(f[14], 64)
	}
	return t
}

func list(s string) []string {
	if s == "-" || s == "" {
		return nil
	}
	return strings.Split(s, ",")
}

// offered reports whether zone has the type.
func (t *Type) offered(zone string) bool {
	return t.Zones == "" || strings.Contains(t.Zones, zone[len(zone)-1:])
}

// spotPrice is the price an hour on the spot market of a zone: a fraction that differs a little by zone, since real ones do.
func (t *Type) spotPrice(zone string) float64 {
	fraction := t.SpotFraction
	if fraction == 0 {
		fraction = 0.4
	}
	return t.Price * fraction * (1 + 0.02*float64(zone[len(zone)-1]-'a'))
}
