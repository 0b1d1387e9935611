package demand

import (
	"fmt"
	"slices"
	"strings"

	"fsub/sbatch/gres"
)

// Resources other than GPUs are given by the node: so many of each node that the job gets.

// others are the resources that a job asks for of each node.
type others []gres.Resource

// readOthers takes in what of them a job asks for.
func readOthers(d *Demand) (list others, err error) {
	for _, g := range d.GRES {
		switch {
		case g.Name == "gpu":
		case g.Per != PerNode:
			return nil, fmt.Errorf("rented machines give %q by the node only", g.Name)
		default:
			list = append(list, g.Resource)
		}
	}
	return list, nil
}

// lacks is why no node of a shape does, whatever is free of it: it has no such resource.
func (o others) lacks(shape *Node) error {
	for _, g := range o {
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
func (o others) holds(f *Node) bool {
	for _, g := range o {
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
func (o others) of(f *Node) (list []gres.Resource) {
	for _, g := range o {
		if i := f.index(g); i >= 0 {
			list = append(list, gres.Resource{Name: f.GRES[i].Name, Type: f.GRES[i].Type, Count: g.Count})
		}
	}
	return list
}
