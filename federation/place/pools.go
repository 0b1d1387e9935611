package place

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"fsub/federation"
)

// Pools groups the nodes of each partition of a site by their shape: CPUs, memory, GRES and features, and by what would be rented.
// Pools come in the order of partitions, within a partition in the order of their first nodes, and are named for people:
// "main/h100", "main/cpu16", "main/g6.xlarge/us-east-2a/spot"; a further pool of the same look gets a number, "main/h100-2".
func Pools(site federation.SiteName, obs *federation.Observation) []federation.Pool {
	if obs == nil {
		return nil
	}
	index := make(map[string]int, len(obs.Nodes))
	shapes := make([]string, len(obs.Nodes))
	for i := range obs.Nodes {
		index[obs.Nodes[i].Name] = i
		shapes[i] = shapeText(&obs.Nodes[i])
	}
	var pools []federation.Pool
	for i := range obs.Partitions {
		part := &obs.Partitions[i]
		at := map[string]int{}    // shape -> place in pools
		names := map[string]int{} // how often a name was given
		for _, n := range partitionNodes(obs, part, index) {
			k, ok := at[shapes[n]]
			if !ok {
				k = len(pools)
				at[shapes[n]] = k
				shape := shapeOf(&obs.Nodes[n])
				name := part.Name + "/" + look(&shape)
				names[name]++
				if c := names[name]; c > 1 {
					name += "-" + strconv.Itoa(c)
				}
				pools = append(pools, federation.Pool{Site: site, Partition: part.Name, Name: name, Shape: shape})
			}
			pools[k].Nodes = append(pools[k].Nodes, n)
		}
	}
	return pools
}

// partitionNodes are the indices of a partition's nodes, in order and once each. A site that lists no names in the
// partition lists the partitions in the node.
func partitionNodes(obs *federation.Observation, part *federation.Partition, index map[string]int) []int {
	var nodes []int
	for _, name := range part.Nodes {
		if n, ok := index[name]; ok {
			nodes = append(nodes, n)
		}
	}
	if len(part.Nodes) == 0 {
		for i := range obs.Nodes {
			if slices.Contains(obs.Nodes[i].Partitions, part.Name) {
				nodes = append(nodes, i)
			}
		}
	}
	slices.Sort(nodes)
	return slices.Compact(nodes)
}

// shapeOf is the configured side of a node.
func shapeOf(n *federation.Node) federation.Node {
	shape := federation.Node{CPUs: n.CPUs, Mem: n.Mem, TmpDisk: n.TmpDisk, Features: n.Features, Sockets: n.Sockets, Cores: n.Cores, Threads: n.Threads}
	for _, g := range n.GRES {
		shape.GRES = append(shape.GRES, federation.GRES{Name: g.Name, Type: g.Type, Total: g.Total})
	}
	if n.Rented != nil {
		rented := *n.Rented
		rented.Boot, rented.Refused = 0, nil
		shape.Rented = &rented
	}
	return shape
}

// shapeText is equal for nodes of one shape.
func shapeText(n *federation.Node) string {
	var b strings.Builder
	fmt.Fprint(&b, n.CPUs, " ", n.Mem, " ", n.TmpDisk, " ", n.Sockets, " ", n.Cores, " ", n.Threads)
	for _, g := range n.GRES {
		fmt.Fprint(&b, " ", g.Name, ":", g.Type, ":", g.Total)
	}
	features := slices.Clone(n.Features)
	slices.Sort(features)
	fmt.Fprint(&b, features)
	if r := n.Rented; r != nil {
		fmt.Fprint(&b, " ", r.Offering, " ", r.PricePerHour, " ", r.Whole, " ", r.Interrupts, " ", r.Taken, " ", r.TakenIn, " ", r.Chance, " ", r.Paid, " ", r.OldPrice)
		if !r.Until.IsZero() {
			fmt.Fprint(&b, " ", r.Until.Unix())
		}
	}
	return b.String()
}

// look names a shape in a word: what is rented, its GPU type, else "gpu", else its CPUs.
func look(shape *federation.Node) string {
	if shape.Rented != nil && shape.Rented.Offering != "" {
		return shape.Rented.Offering
	}
	for _, g := range shape.GRES {
		if g.Name == "gpu" && g.Total > 0 {
			if g.Type != "" {
				return g.Type
			}
			return "gpu"
		}
	}
	return "cpu" + strconv.Itoa(shape.CPUs)
}
