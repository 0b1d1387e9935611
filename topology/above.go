package topology

import "slices"

// Unit is a switch or a block.
type Unit struct {
	Name  string
	Nodes int // below it
}

// Above returns the switches or blocks above each node that a leaf names: its leaf first, and none that is above all of
// these nodes.
func (t Tree) Above() map[string][]Unit {
	above := map[string][]Unit{}
	parents := map[string][]int{}
	for i := range t.Switches {
		for _, c := range t.Switches[i].Children {
			parents[c] = append(parents[c], i)
		}
		for _, n := range t.Switches[i].Nodes {
			above[n] = nil
		}
	}
	below := make([]int, len(t.Switches))
	paths := make([][]int, len(t.Switches)) // of each leaf: itself, and what is above it
	for i := range t.Switches {
		if len(t.Switches[i].Nodes) == 0 {
			continue
		}
		path := []int{i}
		for k := 0; k < len(path); k++ {
			for _, p := range parents[t.Switches[path[k]].Name] {
				if !slices.Contains(path, p) {
					path = append(path, p)
				}
			}
		}
		for _, s := range path {
			below[s] += len(t.Switches[i].Nodes)
		}
		paths[i] = path
	}
	for i, path := range paths {
		var units []Unit
		for _, s := range path {
			if below[s] < len(above) {
				units = append(units, Unit{t.Switches[s].Name, below[s]})
			}
		}
		for _, n := range t.Switches[i].Nodes {
			above[n] = units
		}
	}
	return above
}
