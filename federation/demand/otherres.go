package demand

import (
	"fmt"
	"slices"
	"strings"

	"fsub/sbatch/gres"
)

// Resources other than GPUs are given by the node: so many of each node that the job gets.

// readOthers takes in what of them a job asks for.
func (n *Ask) readOthers(d *Demand) error {
	for _, g := range d.GRES {
		switch {
		case g.Name == "gpu":
		case g.Per != PerNode:
			return fmt.Errorf("rented machines give %q by the node only", g.Name)
		default:
			n.others = append(n.others, g.Resource)
		}
	}
	return nil
}

// lacks is why no node of a shape does, whatever is free of it: it has no such resource.
func (n *Ask) lacks(shape *Node) error {
	for _, g := range n.others {
		if !slices.ContainsFunc(shape.GRES, func(has gres.Resource) bool { return has.Name == g.Name }) {
			return fmt.Errorf("rented machines have no %q%s", g.Name, listed(shape))
		}
	}
	return nil
}

// listed is what resources a node has, for people.
func listed(shape *Node) string {
	names := []string{"gpu"}
	for _, has := range shape.GRES {
		names = append(names, has.Name)
	}
	return ", only " + strings.Join(names, ",")
}

// holds reports whether a node has what the job asks for of it.
func (n *Ask) holds(f *Node) bool {
	for _, g := range n.others {
		if i := f.index(g); i < 0 || f.GRES[i].Count < g.Count {
			return false
		}
	}
	return true
}

// index is where the node has a resource; -1: nowhere.
func (f *Node) index(g gres.Resource) int {
	return slices.IndexFunc(f.GRES, func(has gres.Resource) bool {
		return has.Name == g.Name && (g.Type == "" || strings.EqualFold(has.Type, g.Type))
	})
}

// of is what the job gets of a node's resources, by the types that the node has.
func (n *Ask) of(f *Node) (list []gres.Resource) {
	if n.exclusive {
		return f.GRES
	}
	for _, g := range n.others {
		if i := f.index(g); i >= 0 {
			list = append(list, gres.Resource{Name: f.GRES[i].Name, Type: f.GRES[i].Type, Count: g.Count})
		}
	}
	return list
}
