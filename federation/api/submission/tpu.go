package submission

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"fsub/sbatch"
	"fsub/sbatch/gres"
	"fsub/topology/torus"
)

// onSlices makes a component that asks for TPU chips one of the hosts of slices: --gres=tpu:v5p:128 becomes 32 nodes of four chips each, with the slice's feature
// as a constraint. Chips are of the whole job, or, with -N, of each node. With --tpu-topology the job has as many slices of that shape as it has chips for. It
// refuses shapes that do not exist, and names the nearest that do. Asked again it changes nothing.
func onSlices(sp *sbatch.Spec) error {
	topology := ""
	if sp.Fed != nil {
		topology = sp.Fed.TPUTopology
	}
	list, err := gres.Parse(sp.GRES)
	at := slices.IndexFunc(list, func(r gres.Resource) bool { return r.Name == "tpu" })
	if err != nil || at < 0 {
		if topology != "" {
			return refuseAlone("--tpu-topology is for jobs that ask for TPUs, as with --gres=tpu:v5p:128")
		}
		return nil // what is wrong with the list is said elsewhere
	}
	g, ok := torus.Lookup(list[at].Type)
	if !ok {
		if topology != "" {
			return refuseAlone(fmt.Sprintf("--tpu-topology wants the generation in --gres=tpu:GENERATION:CHIPS, one of %s", strings.Join(torus.Names(), ", ")))
		}
		return nil // a site's own
	}
	chips := list[at].Count
	nodes := max(sp.MinNodes, 0)
	if nodes > 1 {
		chips *= nodes
	}
	var shape torus.Shape
	if topology == "" {
		shape, err = g.Best(chips)
	} else if shape, err = torus.Parse(topology); err == nil {
		shape, err = g.Check(shape)
	}
	if err != nil {
		return refuseAlone(err.Error())
	}
	if chips == 1 { // --gres=tpu:v5p, with a topology
		chips = shape.Chips()
	}
	if chips%shape.Chips() != 0 {
		return refuseAlone(fmt.Sprintf("%d chips are not a whole number of %s slices of %s, which have %d", chips, g.Name, shape, shape.Chips()))
	}
	hosts, perHost := g.Hosts(shape)
	if hosts *= chips / shape.Chips(); nodes > 1 && nodes != hosts {
		return refuseAlone(fmt.Sprintf("%d nodes with %d chips each are not a slice of %s: its %d chips in the shape %s are on %d nodes of %d; ask for --gres=tpu:%s:%d without -N",
			nodes, list[at].Count, g.Name, chips, shape, hosts, perHost, g.Name, chips))
	}
	sp.MinNodes, sp.MaxNodes = hosts, hosts
	list[at].Type, list[at].Count = g.Name, perHost
	words := make([]string, len(list))
	for i, r := range list {
		words[i] = r.Name + ":" + r.Type + ":" + strconv.Itoa(r.Count)
		if r.Type == "" {
			words[i] = r.Name + ":" + strconv.Itoa(r.Count)
		}
	}
	sp.GRES = strings.Join(words, ",")
	sp.Constraint = with(sp.Constraint, g.Feature(shape))
	return nil
}

// with is a constraint that a feature is added to.
func with(constraint, feature string) string {
	switch {
	case constraint == "":
		return feature
	case strings.Contains(constraint, feature):
		return constraint
	case strings.Contains(constraint, "|"):
		return "(" + constraint + ")&" + feature
	}
	return constraint + "&" + feature
}
