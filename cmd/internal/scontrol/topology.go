package scontrol

import (
	"fmt"

	v1 "fsub/federation/api/v1"
	"fsub/slurm/hostlist"
)

// showTopology is "show topology [NAME]": the switches of all sites, or those above a node or of a name.
func (c *command) showTopology(name string, given bool) int {
	var switches []v1.Switch
	if c.load("slurm_load_topo", "/fed/v1/topology", &switches) != nil {
		return 1
	}
	shown := 0
	for _, s := range switches {
		if !c.clusters.has(string(s.Site)) || given && s.Name != name && !within(s.Nodes, name) {
			continue
		}
		shown++
		fmt.Fprintf(c.stdout, "SwitchName=%s Level=%d LinkSpeed=1 Nodes=%s", s.Name, s.Level, s.Nodes)
		if s.Switches != "" {
			fmt.Fprintf(c.stdout, " Switches=%s", s.Switches)
		}
		fmt.Fprintln(c.stdout)
	}
	switch {
	case shown > 0:
	case given:
		c.fail("scontrol: error: Topology information contains no switch or node named %s", name)
	default:
		fmt.Fprintln(c.stdout, "No topology information available")
	}
	return 0
}

func within(list, name string) bool {
	names, _ := hostlist.Expand(list)
	for _, n := range names {
		if n == name {
			return true
		}
	}
	return false
}
