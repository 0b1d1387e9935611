package cloud

import (
	"slices"
	"strings"

	"fsub/cloud/agentapi"
	"fsub/sbatch/gres"
)

// tpu reports whether the machines of a node group are hosts of TPU slices, whose chips are of use together only.
func (ng *nodeGroup) tpu() bool {
	return slices.ContainsFunc(ng.offering.GRES, func(g gres.Resource) bool { return g.Name == "tpu" })
}

// sliceOf names the slice that a machine is of.
type sliceOf struct {
	gang  string
	index int
}

// slicesOf says of each of a run's machines that have TPUs which host of which slice it is. Slices count in the order of the run's nodes, component by component.
func slicesOf(r *run) map[*machine]*agentapi.TPU {
	found := map[*machine]*agentapi.TPU{}
	numbers := map[int]map[sliceOf]int{}
	for n, m := range r.machines {
		if !m.group.tpu() {
			continue
		}
		group, hosts := r.Members[n].Group, m.group.hosts()
		if numbers[group] == nil {
			numbers[group] = map[sliceOf]int{}
		}
		key := sliceOf{m.Gang, m.Index / hosts}
		if _, known := numbers[group][key]; !known {
			numbers[group][key] = len(numbers[group])
		}
		found[m] = &agentapi.TPU{Type: m.gang.Offering.Type, Topology: topologyOf(m.gang.Offering.Features), Slice: numbers[group][key], Worker: m.Index % hosts}
	}
	return found
}

// topologyOf is the shape in the slice's feature: "4x4x8" of tpu-v5p-4x4x8.
func topologyOf(features []string) string {
	for _, f := range features {
		if rest, ok := strings.CutPrefix(f, "tpu-"); ok {
			_, shape, _ := strings.Cut(rest, "-")
			return shape
		}
	}
	return ""
}

// whole reports whether all machines of a slice can be had, where half of one is of no use.
func (m *machine) whole(user string) bool {
	return !m.group.tpu() || !slices.ContainsFunc(m.slice(), func(m *machine) bool { return !m.usable(user) || len(m.runs) > 0 && !m.pool.Shared })
}
