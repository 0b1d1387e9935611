package simsite

import (
	"fmt"
	"time"

	"fsub/federation"
	"fsub/sbatch"
	"fsub/testbed/bed"
)

// Twin is the configuration of a simulated site like one of the bed's: the same nodes, switches, partitions, users and
// limits, so that a test may run against either.
func Twin(b bed.Site) Config {
	c := Config{Name: b.Name, Version: "24.11.5", EnforceAssociations: true, Switches: leaves(b)}
	if b.Suite == "forky" {
		c.Version = "26.05.5"
	}
	c.Nodes = []NodeConfig{{Names: fmt.Sprintf("%s[1-%d]", b.Name, b.Nodes), CPUs: b.CPUs, Mem: sbatch.MemMiB(b.MemMiB),
		GRES: []federation.GRES{{Name: "gpu", Type: b.GPUType, Total: b.GPUs}}, Features: []string{b.GPUType, "ib"}}}
	c.Partitions = []PartitionConfig{
		{Name: "main", Default: true, DefaultTime: time.Hour, MaxTime: 7 * 24 * time.Hour, DefMemPerCPU: 1000},
		{Name: "short", DefaultTime: 10 * time.Minute, MaxTime: time.Hour, DefMemPerCPU: 1000, PriorityTier: 10},
	}
	for _, u := range b.Users() {
		c.Users = append(c.Users, UserConfig{Name: u.Name, UID: uint32(u.UID), GID: uint32(u.UID), Accounts: u.Accounts})
	}
	return c
}

func leaves(b bed.Site) []SwitchConfig {
	var out []SwitchConfig
	for first := 1; first <= b.Nodes; first += b.LeafNodes {
		out = append(out, SwitchConfig{Name: fmt.Sprintf("leaf%d", len(out)+1),
			Nodes: fmt.Sprintf("%s[%d-%d]", b.Name, first, min(first+b.LeafNodes-1, b.Nodes))})
	}
	return append(out, SwitchConfig{Name: "spine", Switches: fmt.Sprintf("leaf[1-%d]", len(out))})
}
