package sinfo

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"fsub/cmd/internal/option"
	"fsub/cmd/internal/show"
	"fsub/slurm/hostlist"
	"fsub/slurm/wire"
)

// entry is one field: its letter (0: none), name, header, and value.
type entry struct {
	letter byte
	name   string
	header string
	kind   kind
	value  func(*group) string
}

// kind says whether nodes that differ in a field have a row each.
type kind uint8

const (
	apart kind = iota // always
	sum               // never: the value is made of all nodes of the row
	size              // only with --exact: else the value is the least, marked with a +, or the range
)

// fields finds fields by the letters of -o and the names of -O.
func (c *command) fields() (letters map[byte]*show.Field[group], names map[string]*show.Field[group]) {
	letters, names = map[byte]*show.Field[group]{}, map[string]*show.Field[group]{}
	for _, e := range c.entries() {
		f := &show.Field[group]{Header: e.header, Value: e.value, Sum: e.kind == sum || e.kind == size && !c.exact}
		if e.letter != 0 {
			letters[e.letter] = f
		}
		names[strings.ToLower(e.name)] = f
	}
	return letters, names
}

func (c *command) entries() []entry {
	return slices.Concat(c.partitionEntries(), c.nodeEntries())
}

// node makes a value of a row's first node: all its nodes have the same. Without a node it is what
// an empty one has.
func node(of func(*wire.Node) string) func(*group) string {
	return func(g *group) string {
		if n := g.first(); n != nil {
			return of(n)
		}
		return of(&noNode)
	}
}

var noNode = wire.Node{Version: "N/A"}

// least is a number of the row's nodes: the least one, with a + if others have more.
func least(of func(*wire.Node) int64) func(*group) string {
	return func(g *group) string { return leastText(g, of) }
}

func leastText(g *group, of func(*wire.Node) int64) string {
	low, high := g.span(of)
	if low != high {
		return strconv.FormatInt(low, 10) + "+"
	}
	return strconv.FormatInt(low, 10)
}

func (c *command) partitionEntries() []entry {
	return []entry{
		{'P', "Partition", "PARTITION", apart, func(g *group) string {
			if g.part.Flags.Has("DEFAULT") {
				return g.part.Name + "*"
			}
			return g.part.Name
		}},
		{'R', "PartitionName", "PARTITION", apart, func(g *group) string { return g.part.Name }},
		{'a', "Available", "AVAIL", apart, available},
		{'l', "Time", "TIMELIMIT", apart, func(g *group) string { return limit(g.part.Maximums.Time, "infinite") }},
		{'L', "DefaultTime", "DEFAULTTIME", apart, func(g *group) string { return limit(g.part.Defaults.Time, "n/a") }},
		{'s', "Size", "JOB_SIZE", apart, jobSize},
		{'p', "PriorityTier", "PRIO_TIER", apart, func(g *group) string { return strconv.FormatInt(g.part.Priority.Tier, 10) }},
		{'I', "PriorityJobFactor", "PRIO_JOB_FACTOR", apart, func(g *group) string { return strconv.FormatInt(g.part.Priority.JobFactor, 10) }},
		{'g', "Groups", "GROUPS", apart, func(g *group) string { return cmp.Or(g.part.Groups.Allowed, "all") }},
		{'r', "Root", "ROOT", apart, func(g *group) string { return yesNo(g.part.Flags.Has("ROOT_ONLY")) }},
		{'h', "OverSubscribe", "OVERSUBSCRIBE", apart, overSubscribe},
		{'B', "MaxCPUsPerNode", "MAX_CPUS_PER_NODE", apart, maxCPUs},
		{'M', "PreemptMode", "PREEMPT_MODE", apart, func(*group) string { return "OFF" }}, // no version of slurmrestd tells it
		{'S', "AllocNodes", "ALLOCNODES", apart, func(g *group) string { return cmp.Or(g.part.Nodes.AllowedAllocation, "all") }},
	}
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func overSubscribe(g *group) string {
	switch m := &g.part.Maximums; {
	case m.OverSubscribe.Flags.Has("force"):
		return "FORCE:" + strconv.FormatInt(m.OverSubscribe.Jobs, 10)
	case m.OverSubscribe.Jobs > 1:
		return "YES:" + strconv.FormatInt(m.OverSubscribe.Jobs, 10)
	case m.OverSubscribe.Jobs == 0 && m.Shares == 0:
		return "EXCLUSIVE"
	}
	return "NO"
}

func maxCPUs(g *group) string {
	if n := g.part.Maximums.CPUsPerNode; n.Set && !n.Infinite {
		return strconv.FormatInt(n.Number, 10)
	}
	return "UNLIMITED"
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
		{'D', "Nodes", "NODES", sum, func(g *group) string { return strconv.Itoa(len(g.nodes)) }},
		{'N', "NodeList", "NODELIST", sum, nodeList},
		{'F', "NodeAIOT", "NODES(A/I/O/T)", sum, func(g *group) string { return slashed(g.nodeCounts()) }},
		{'A', "NodeAI", "NODES(A/I)", sum, func(g *group) string { a, i, _, _ := g.nodeCounts(); return fmt.Sprintf("%d/%d", a, i) }},
		{'C', "CPUsState", "CPUS(A/I/O/T)", sum, func(g *group) string { return slashed(g.cpuCounts()) }},
		{'t', "StateCompact", "STATE", apart, stateOf(func(s stateName) string { return s.short })},
		{'T', "StateLong", "STATE", apart, stateOf(func(s stateName) string { return s.long })},
		{0, "StateComplete", "STATECOMPLETE", apart, node(func(n *wire.Node) string { return strings.ToLower(strings.Join(n.State, "+")) })},
		{'n', "NodeHost", "HOSTNAMES", apart, node(func(n *wire.Node) string { return n.Hostname })},
		{'o', "NodeAddr", "NODE_ADDR", apart, node(func(n *wire.Node) string { return n.Address })},
		{'G', "Gres", "GRES", apart, node(func(n *wire.Node) string { return show.OrNull(n.GRES) })},
		{0, "GresUsed", "GRES_USED", apart, node(func(n *wire.Node) string { return show.OrNull(n.GRESUsed) })},
		{'c', "CPUs", "CPUS", size, least(func(n *wire.Node) int64 { return n.CPUs })},
		{'m', "Memory", "MEMORY", size, least(func(n *wire.Node) int64 { return n.RealMemory })},
		{0, "AllocMem", "ALLOCMEM", apart, least(func(n *wire.Node) int64 { return n.AllocMemory })},
		{'e', "FreeMem", "FREE_MEM", size, freeMemory},
		{'f', "Features", "AVAIL_FEATURES", apart, node(func(n *wire.Node) string { return show.OrNull(strings.Join(n.Features, ",")) })},
		{'b', "features_act", "ACTIVE_FEATURES", apart, node(func(n *wire.Node) string { return show.OrNull(strings.Join(n.ActiveFeatures, ",")) })},
		{'z', "SocketCoreThread", "S:C:T", size, shapeText},
		{'X', "Sockets", "SOCKETS", size, least(func(n *wire.Node) int64 { return n.Sockets })},
		{'Y', "Cores", "CORES", size, least(func(n *wire.Node) int64 { return n.Cores })},
		{'Z', "Threads", "THREADS", size, least(func(n *wire.Node) int64 { return n.Threads })},
		{'O', "CPUsLoad", "CPU_LOAD", size, load},
		{'w', "Weight", "WEIGHT", size, least(func(n *wire.Node) int64 { return n.Weight })},
		{'d', "Disk", "TMP_DISK", size, least(func(n *wire.Node) int64 { return n.TemporaryDisk })},
		{'v', "Version", "VERSION", apart, node(func(n *wire.Node) string { return n.Version })},
		{'i', "Reservation", "RESERVATION", apart, node(func(n *wire.Node) string { return n.Reservation })},
		{'E', "Reason", "REASON", apart, node(func(n *wire.Node) string { return cmp.Or(n.Reason, "none") })},
		{'u', "User", "USER", apart, node(func(n *wire.Node) string { return cmp.Or(n.ReasonSetByUser, "Unknown") })},
		{'U', "UserLong", "USER", apart, node(longUser)},
		{'H', "TimeStamp", "TIMESTAMP", apart, node(c.reasonTime)},
		{'V', "Cluster", "CLUSTER", apart, node(func(n *wire.Node) string { return cmp.Or(n.ClusterName, "N/A") })},
		{0, "Port", "PORT", size, least(func(n *wire.Node) int64 { return n.Port })},
		{0, "Comment", "COMMENT", apart, node(func(n *wire.Node) string { return show.OrNull(n.Comment) })},
		{0, "Extra", "EXTRA", apart, node(func(n *wire.Node) string { return show.OrNull(n.Extra) })},
	}
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

// shapeText is the nodes' S:C:T.
func shapeText(g *group) string {
	return leastText(g, func(n *wire.Node) int64 { return n.Sockets }) + ":" + leastText(g, func(n *wire.Node) int64 { return n.Cores }) + ":" +
		leastText(g, func(n *wire.Node) int64 { return n.Threads })
}

// load and freeMemory are ranges where the row's nodes differ.
func load(g *group) string {
	low, high := g.span(func(n *wire.Node) int64 { return int64(n.CPULoad) })
	text := func(n int64) string { return fmt.Sprintf("%.2f", float64(n)/100) }
	if low != high {
		return text(low) + "-" + text(high)
	}
	return text(low)
}

func freeMemory(g *group) string {
	if n := g.first(); n != nil && !n.FreeMem.Set {
		return "N/A"
	}
	low, high := g.span(func(n *wire.Node) int64 { return n.FreeMem.Number })
	if low != high {
		return fmt.Sprintf("%d-%d", low, high)
	}
	return strconv.FormatInt(low, 10)
}

// longUser is who set the reason, with the number that the name has on this machine.
func longUser(n *wire.Node) string {
	if n.ReasonSetByUser == "" {
		return "Unknown"
	}
	if uid, ok := show.UserID(n.ReasonSetByUser); ok {
		return n.ReasonSetByUser + "(" + uid + ")"
	}
	return n.ReasonSetByUser
}

func (c *command) reasonTime(n *wire.Node) string {
	if t := n.ReasonChangedAt.Value(); t > 0 {
		return c.times.Unix(t)
	}
	return "Unknown"
}

// printLetters is --helpformat: the letters of --format, eight in a line.
func printLetters(_ *options, _ option.Value, w io.Writer) bool {
	n := 0
	for _, e := range byName() {
		letter := e.letter
		if e.name == "GresUsed" { // sinfo lists it under the letter of Gres
			letter = 'G'
		}
		if letter == 0 {
			continue
		}
		n++
		fmt.Fprintf(w, "%%%c    %s", letter, map[bool]string{true: "\n"}[n%8 == 0])
	}
	fmt.Fprintln(w)
	return true
}

// printNames is --helpFormat: the names of --Format, four in a line.
func printNames(_ *options, _ option.Value, w io.Writer) bool {
	for i, e := range byName() {
		fmt.Fprintf(w, "%-20s%s", e.name, map[bool]string{true: "\n"}[i%4 == 3])
	}
	fmt.Fprintln(w)
	return true
}

func byName() []entry {
	list := new(command).entries()
	key := func(e entry) string { return strings.Replace(strings.ToLower(e.name), "socketcore", "sockets core", 1) } // where sinfo has it
	slices.SortFunc(list, func(a, b entry) int { return strings.Compare(key(a), key(b)) })
	return list
}
