package simsite

import (
	"strings"

	"fsub/slurm/hostlist"
	"fsub/topology"
)

func expandHosts(list string) ([]string, error) { return hostlist.Expand(list) }

// foldNodes writes the nodes of a job as a hostlist.
func foldNodes(shares []share) string {
	if len(shares) == 1 {
		return shares[0].n.name
	}
	names := make([]string, len(shares))
	for i := range shares {
		names[i] = shares[i].n.name
	}
	return hostlist.Compress(names)
}

// compareHosts orders names with the numbers at their end by value.
func compareHosts(a, b string) int {
	pa, na := splitHost(a)
	pb, nb := splitHost(b)
	if pa != pb {
		return strings.Compare(pa, pb)
	}
	if len(na) != len(nb) {
		return len(na) - len(nb)
	}
	return strings.Compare(na, nb)
}

// splitHost cuts a name into prefix and the number at its end, without leading zeros.
func splitHost(name string) (prefix, num string) {
	prefix = strings.TrimRight(name, "0123456789")
	return prefix, strings.TrimLeft(name[len(prefix):], "0")
}

// Tree is the site's switch tree, which no slurmrestd tells.
func (s *Site) Tree() topology.Tree { return s.tree }

// buildTree makes the switch tree of the configuration.
func buildTree(cfg *Config) (topology.Tree, error) {
	var t topology.Tree
	level := map[string]int{}
	for _, sw := range cfg.Switches {
		nodes, err := expandHosts(sw.Nodes)
		if err != nil {
			return t, err
		}
		children, err := expandHosts(sw.Switches)
		if err != nil {
			return t, err
		}
		for _, c := range children {
			level[sw.Name] = max(level[sw.Name], level[c]+1)
		}
		t.Switches = append(t.Switches, topology.Switch{Name: sw.Name, Level: level[sw.Name], Nodes: nodes, Children: children})
	}
	return t, nil
}
