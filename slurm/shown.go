package slurm

import (
	"fmt"
	"time"

	"fsub/federation"
	"fsub/sbatch"
	"fsub/slurm/wire"
)

// nodeInfo is what people look at of a node, beside what placement needs.
func nodeInfo(n *wire.Node) *federation.NodeInfo {
	return &federation.NodeInfo{
		Place:    place(n),
		Hostname: n.Hostname, Address: n.Address, Port: int(n.Port), Version: n.Version, Architecture: n.Architecture, System: n.OperatingSystem,
		CPULoad: int(n.CPULoad), FreeMem: sbatch.MemMiB(n.FreeMem.Value()), Weight: int(n.Weight), Features: n.Features,
		GRES: n.GRES, GRESUsed: n.GRESUsed, Comment: n.Comment, Extra: n.Extra, Reservation: n.Reservation,
		ReasonUser: n.ReasonSetByUser, ReasonAt: unix(n.ReasonChangedAt.Value()),
		Booted: unix(n.BootTime.Value()), Started: unix(n.SlurmdStartTime.Value()), LastBusy: unix(n.LastBusy.Value()),
	}
}

// partitionInfo: flags of a partition are reported from v0.0.43 on.
func partitionInfo(p *wire.Partition) *federation.PartitionInfo {
	return &federation.PartitionInfo{
		Hidden: p.Flags.Has("HIDDEN"), AllowGroups: p.Groups.Allowed, AllocNodes: p.Nodes.AllowedAllocation,
		OverSubscribe: overSubscribe(p), MaxCPUsPerNode: int(p.Maximums.CPUsPerNode.Value()), JobFactor: int(p.Priority.JobFactor),
		GraceTime: time.Duration(p.GraceTime) * time.Second,
	}
}

func overSubscribe(p *wire.Partition) string {
	switch o := p.Maximums.OverSubscribe; {
	case o.Flags.Has("force"), o.Flags.Has("FORCE"):
		return fmt.Sprintf("FORCE:%d", o.Jobs)
	case o.Jobs > 1:
		return fmt.Sprintf("YES:%d", o.Jobs)
	case o.Jobs == 0 && p.Maximums.Shares == 0:
		return "EXCLUSIVE"
	}
	return "NO"
}
