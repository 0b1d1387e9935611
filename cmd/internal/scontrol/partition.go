package scontrol

import (
	"fmt"
	"strconv"

	"fsub/cmd/internal/show"
	"fsub/slurm/wire"
)

// showPartitions is "show partitions [NAME]".
func (c *command) showPartitions(name string, given bool) int {
	var resp wire.PartitionsResponse
	if c.load("slurm_load_partitions", wire.Slurm(restVersion, wire.PathPartitions)+c.clusters.query(), &resp) != nil {
		return 1
	}
	shown := 0
	for i := range resp.Partitions {
		if p := &resp.Partitions[i]; p.Name == name || !given && (c.all || !p.Flags.Has("HIDDEN")) {
			shown++
			c.printPartition(p)
		}
	}
	switch {
	case shown > 0:
		return 0
	case given:
		fmt.Fprintf(c.stdout, "Partition %s not found\n", name)
		return 1
	}
	fmt.Fprintln(c.stdout, "No partitions in the system")
	return 0
}

func (p *printer) printPartition(part *wire.Partition) {
	sep := "\n   "
	if p.oneLine {
		sep = " "
	}
	yes := func(on bool) string {
		if on {
			return "YES"
		}
		return "NO"
	}
	text := "PartitionName=" + part.Name
	line := func(format string, args ...any) { text += sep + fmt.Sprintf(format, args...) }
	line("AllowGroups=%s %s AllowQos=%s", orAll(part.Groups.Allowed), accounts(part), orAll(part.QOS.Allowed))
	line("AllocNodes=%s Default=%s QoS=%s", orAll(part.Nodes.AllowedAllocation), yes(part.Flags.Has("DEFAULT")), orWord(part.QOS.Assigned, "N/A"))
	line("DefaultTime=%s DisableRootJobs=NO ExclusiveUser=NO ExclusiveTopo=NO GraceTime=%d Hidden=%s", limitText(part.Defaults.Time, "NONE"), part.GraceTime,
		yes(part.Flags.Has("HIDDEN")))
	line("MaxNodes=%s MaxTime=%s MinNodes=%d LLN=NO MaxCPUsPerNode=%s MaxCPUsPerSocket=%s", unlimited(part.Maximums.Nodes), limitText(part.Maximums.Time, "UNLIMITED"),
		part.Minimums.Nodes, unlimited(part.Maximums.CPUsPerNode), unlimited(part.Maximums.CPUsPerSocket))
	if part.NodeSets != "" {
		line("NodeSets=%s", part.NodeSets)
	}
	line("Nodes=%s", show.OrNull(part.Nodes.Configured))
	line("PriorityJobFactor=%d PriorityTier=%d RootOnly=%s ReqResv=NO OverSubscribe=%s", part.Priority.JobFactor, part.Priority.Tier, yes(part.Flags.Has("ROOT_ONLY")),
		shares(part))
	line("OverTimeLimit=NONE PreemptMode=OFF")
	line("State=%s TotalCPUs=%d TotalNodes=%d SelectTypeParameters=NONE", state(part), part.CPUs.Total, part.Nodes.Total)
	line("JobDefaults=(null)")
	line("%s %s", memoryLimit("Def", part.Defaults.PartitionMemoryPerCPU, part.Defaults.PartitionMemoryPerNode),
		memoryLimit("Max", part.Maximums.PartitionMemoryPerCPU, part.Maximums.PartitionMemoryPerNode))
	line("TRES=%s", part.TRES.Configured)
	text += "\n"
	if !p.oneLine {
		text += "\n"
	}
	fmt.Fprint(p.stdout, text)
}

// shares is how jobs share nodes of a partition, as its OverSubscribe= was written.
func shares(p *wire.Partition) string {
	jobs := p.Maximums.OverSubscribe.Jobs
	switch {
	case p.Maximums.Shares == 0 && jobs == 0:
		return "EXCLUSIVE"
	case p.Maximums.OverSubscribe.Flags.Has("force"):
		return fmt.Sprintf("FORCE:%d", jobs)
	case jobs > 1:
		return fmt.Sprintf("YES:%d", jobs)
	}
	return "NO"
}

func state(p *wire.Partition) string {
	if len(p.Partition.State) == 0 {
		return "UNKNOWN"
	}
	return p.Partition.State[0]
}

func accounts(p *wire.Partition) string {
	if p.Accounts.Allowed == "" && p.Accounts.Deny != "" {
		return "DenyAccounts=" + p.Accounts.Deny
	}
	return "AllowAccounts=" + orAll(p.Accounts.Allowed)
}

func orAll(s string) string { return orWord(s, "ALL") }

func orWord(s, word string) string {
	if s == "" {
		return word
	}
	return s
}

func unlimited(n wire.Number) string {
	if !n.Set || n.Infinite {
		return "UNLIMITED"
	}
	return strconv.FormatInt(n.Number, 10)
}

// memoryLimit is a limit in MiB by CPU, else by node.
func memoryLimit(which string, perCPU, perNode wire.Number) string {
	switch {
	case perCPU.Value() > 0:
		return fmt.Sprintf("%sMemPerCPU=%d", which, perCPU.Number)
	case perNode.Value() > 0:
		return fmt.Sprintf("%sMemPerNode=%d", which, perNode.Number)
	}
	return which + "MemPerNode=UNLIMITED"
}
