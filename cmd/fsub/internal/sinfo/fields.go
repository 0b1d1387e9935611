package sinfo

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"fsub/cmd/fsub/internal/show"
	"fsub/slurm/hostlist"
	"fsub/slurm/wire"
)

// entry is one field: its letter (0: none), name, header, and value. sum: see [show.Field].
type entry struct {
	letter byte
	name   string
	header string
	sum    bool
	value  func(*group) string
}

// fields finds fields by the letters of -o and the names of -O.
func (c *command) fields() (letters map[byte]*show.Field[group], names map[string]*show.Field[group]) {
	letters, names = map[byte]*show.Field[group]{}, map[string]*show.Field[group]{}
	for _, e := range slices.Concat(c.partitionEntries(), c.nodeEntries(), fixedEntries) {
		f := &show.Field[group]{Header: e.header, Value: e.value, Sum: e.sum}
		if e.letter != 0 {
			letters[e.letter] = f
		}
		names[strings.ToLower(e.name)] = f
	}
	return letters, names
}

func text(s string) func(*group) string { return func(*group) string { return s } }

// node makes a value of a row's first node: all its nodes have the same.
func node(of func(*wire.Node) string) func(*group) string {
	return func(g *group) string {
		if n := g.first(); n != nil {
			return of(n)
		}
		return ""
	}
}

func number(of func(*wire.Node) int64) func(*group) string {
	return node(func(n *wire.Node) string { return strconv.FormatInt(of(n), 10) })
}

func (c *command) partitionEntries() []entry {
	return []entry{
		{'P', "Partition", "PARTITION", false, func(g *group) string {
			if g.part.Flags.Has("DEFAULT") {
				return g.part.Name + "*"
			}
			return g.part.Name
		}},
		{'R', "PartitionName", "PARTITION", false, func(g *group) string { return g.part.Name }},
		{'a', "Available", "AVAIL", false, available},
		{'l', "Time", "TIMELIMIT", false, func(g *group) string { return limit(g.part.Maximums.Time, "infinite") }},
		{'L', "DefaultTime", "DEFAULTTIME", false, func(g *group) string { return limit(g.part.Defaults.Time, "n/a") }},
		{'s', "Size", "JOB_SIZE", false, jobSize},
		{'p', "PriorityTier", "PRIO_TIER", false, func(g *group) string { return strconv.FormatInt(g.part.Priority.Tier, 10) }},
		{'I', "PriorityJobFactor", "PRIO_JOB_FACTOR", false, func(g *group) string { return strconv.FormatInt(g.part.Priority.JobFactor, 10) }},
		{'g', "Groups", "GROUPS", false, func(g *group) string { return cmp.Or(g.part.Groups.Allowed, "all") }},
	}
}

func available(g *group) string {
	if len(g.part.Partition.State) == 0 {
		return "n/a"
	}
	if s := g.part.Partition.State[0]; s != "INACTIVE" {
		return strings.ToLower(s)
	}
	return "inact"
}

func limit(n wire.Number, none string) string {
	switch {
	case n.Infinite:
		return "infinite"
	case !n.Set:
		return none
	}
	return show.Elapsed(n.Number * 60)
}

func jobSize(g *group) string {
	least := strconv.FormatInt(max(g.part.Minimums.Nodes, 1), 10)
	most := g.part.Maximums.Nodes
	if !most.Set || most.Infinite {
		return least + "-infinite"
	}
	if text := strconv.FormatInt(most.Number, 10); text != least {
		return least + "-" + text
	}
	return least
}

func (c *command) nodeEntries() []entry {
	return []entry{
		{'D', "Nodes", "NODES", true, func(g *group) string { return strconv.Itoa(len(g.nodes)) }},
		{'N', "NodeList", "NODELIST", true, nodeList},
		{'F', "NodeAIOT", "NODES(A/I/O/T)", true, func(g *group) string { return slashed(g.nodeCounts()) }},
		{'A', "NodeAI", "NODES(A/I)", true, func(g *group) string { a, i, _, _ := g.nodeCounts(); return fmt.Sprintf("%d/%d", a, i) }},
		{'C', "CPUsState", "CPUS(A/I/O/T)", true, func(g *group) string { return slashed(g.cpuCounts()) }},
		{'t', "StateCompact", "STATE", false, stateOf(func(s stateName) string { return s.short })},
		{'T', "StateLong", "STATE", false, stateOf(func(s stateName) string { return s.long })},
		{0, "StateComplete", "STATECOMPLETE", false, node(func(n *wire.Node) string { return strings.ToLower(strings.Join(n.State, "+")) })},
		{'n', "NodeHost", "HOSTNAMES", false, node(func(n *wire.Node) string { return n.Hostname })},
		{'o', "NodeAddr", "NODE_ADDR", false, node(func(n *wire.Node) string { return n.Address })},
		{'G', "Gres", "GRES", false, node(func(n *wire.Node) string { return show.OrNull(n.GRES) })},
		{0, "GresUsed", "GRES_USED", false, node(func(n *wire.Node) string { return show.OrNull(n.GRESUsed) })},
		{'c', "CPUs", "CPUS", false, number(func(n *wire.Node) int64 { return n.CPUs })},
		{'m', "Memory", "MEMORY", false, number(func(n *wire.Node) int64 { return n.RealMemory })},
		{0, "AllocMem", "ALLOCMEM", false, number(func(n *wire.Node) int64 { return n.AllocMemory })},
		{'e', "FreeMem", "FREE_MEM", false, node(freeMemory)},
		{'f', "Features", "AVAIL_FEATURES", false, node(func(n *wire.Node) string { return show.OrNull(strings.Join(n.Features, ",")) })},
		{'b', "features_act", "ACTIVE_FEATURES", false, node(func(n *wire.Node) string { return show.OrNull(strings.Join(n.ActiveFeatures, ",")) })},
		{'z', "SocketCoreThread", "S:C:T", false, node(func(n *wire.Node) string { return fmt.Sprintf("%d:%d:%d", n.Sockets, n.Cores, n.Threads) })},
		{'X', "Sockets", "SOCKETS", false, number(func(n *wire.Node) int64 { return n.Sockets })},
		{'Y', "Cores", "CORES", false, number(func(n *wire.Node) int64 { return n.Cores })},
		{'Z', "Threads", "THREADS", false, number(func(n *wire.Node) int64 { return n.Threads })},
		{'O', "CPUsLoad", "CPU_LOAD", false, node(func(n *wire.Node) string { return fmt.Sprintf("%.2f", float64(n.CPULoad)/100) })},
		{'w', "Weight", "WEIGHT", false, number(func(n *wire.Node) int64 { return n.Weight })},
		{'d', "Disk", "TMP_DISK", false, number(func(n *wire.Node) int64 { return n.TemporaryDisk })},
		{'v', "Version", "VERSION", false, node(func(n *wire.Node) string { return n.Version })},
		{'i', "Reservation", "RESERVATION", false, node(func(n *wire.Node) string { return n.Reservation })},
		{'E', "Reason", "REASON", false, node(func(n *wire.Node) string { return cmp.Or(n.Reason, "none") })},
		{'u', "User", "USER", false, node(func(n *wire.Node) string { return cmp.Or(n.ReasonSetByUser, "Unknown") })},
		{'U', "UserLong", "USER", false, node(func(n *wire.Node) string { return cmp.Or(n.ReasonSetByUser, "Unknown") })},
		{'H', "TimeStamp", "TIMESTAMP", false, node(c.reasonTime)},
		{'V', "Cluster", "CLUSTER", false, node(func(n *wire.Node) string { return cmp.Or(n.ClusterName, "N/A") })},
		{0, "Port", "PORT", false, number(func(n *wire.Node) int64 { return n.Port })},
		{0, "Comment", "COMMENT", false, node(func(n *wire.Node) string { return show.OrNull(n.Comment) })},
		{0, "Extra", "EXTRA", false, node(func(n *wire.Node) string { return show.OrNull(n.Extra) })},
	}
}

// fixedEntries are fields that the federation has nothing to say about: they show what a plain partition shows.
var fixedEntries = []entry{
	{'r', "Root", "ROOT", false, text("no")}, {'h', "OverSubscribe", "OVERSUBSCRIBE", false, text("NO")}, {'B', "MaxCPUsPerNode", "MAX_CPUS_PER_NODE", false, text("UNLIMITED")},
	{'M', "PreemptMode", "PREEMPT_MODE", false, text("OFF")}, {'S', "AllocNodes", "ALLOCNODES", false, text("all")},
}

func nodeList(g *group) string {
	names := make([]string, len(g.nodes))
	for i, n := range g.nodes {
		names[i] = n.Name
	}
	return hostlist.Compress(names)
}

func slashed(a, i, o, t int) string { return fmt.Sprintf("%d/%d/%d/%d", a, i, o, t) }

func stateOf(of func(stateName) string) func(*group) string {
	return func(g *group) string {
		if n := g.first(); n != nil {
			return of(nodeState(n))
		}
		return "n/a"
	}
}

func freeMemory(n *wire.Node) string {
	if !n.FreeMem.Set {
		return "N/A"
	}
	return strconv.FormatInt(n.FreeMem.Number, 10)
}

func (c *command) reasonTime(n *wire.Node) string {
	if t := n.ReasonChangedAt.Value(); t > 0 {
		return c.times.Unix(t)
	}
	return "Unknown"
}
