package sinfo

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"fsub/cmd/fsub/internal/show"
	"fsub/slurm/hostlist"
	"fsub/slurm/wire"
)

// cell is one node in one partition; node is nil for a partition without nodes.
type cell struct {
	part  *wire.Partition
	order int // of the partition
	node  *wire.Node
}

// group is one row: nodes that are alike in every column, in the first partition in which they were met.
type group struct {
	part  *wire.Partition
	order int
	nodes []*wire.Node
	seen  map[*wire.Node]bool
}

func (g *group) first() *wire.Node {
	if len(g.nodes) == 0 {
		return nil
	}
	return g.nodes[0]
}

// cells are all nodes in all their partitions, as far as the options select them.
func (c *command) cells(parts []wire.Partition, nodes []wire.Node) ([]cell, error) {
	want, err := wanted(c.nodeList)
	if err != nil {
		return nil, fmt.Errorf("sinfo: error: Invalid node list: %s", c.nodeList)
	}
	inPart := map[string][]*wire.Node{}
	for i := range nodes {
		n := &nodes[i]
		if c.selects(n, want) {
			for _, p := range n.Partitions {
				inPart[p] = append(inPart[p], n)
			}
		}
	}
	var out []cell
	for i := range parts {
		p := &parts[i]
		if len(c.partitions) > 0 && !slices.Contains(c.partitions, p.Name) {
			continue
		}
		for _, n := range inPart[p.Name] {
			out = append(out, cell{p, i, n})
		}
		if p.Nodes.Total == 0 && want == nil && len(c.states) == 0 && !c.reasons && !c.nodes {
			out = append(out, cell{p, i, nil})
		}
	}
	return out, nil
}

func wanted(list string) (map[string]bool, error) {
	if list == "" {
		return nil, nil
	}
	names, err := hostlist.Expand(list)
	want := map[string]bool{}
	for _, n := range names {
		want[n] = true
	}
	return want, err
}

// selects makes the selections by node.
func (c *command) selects(n *wire.Node, want map[string]bool) bool {
	switch {
	case want != nil && !want[n.Name]:
		return false
	case c.reasons && n.Reason == "":
		return false
	case c.responding && n.State.Has("NOT_RESPONDING"), c.dead && !n.State.Has("NOT_RESPONDING"):
		return false
	case c.clusters != "" && c.clusters != "all" && len(c.sites) > 0 && !slices.Contains(c.sites, n.ClusterName):
		return false
	}
	return len(c.states) == 0 || slices.ContainsFunc(c.states, func(s string) bool { return inState(n, s) })
}

// group puts cells together whose columns show the same; with --Node each stays alone.
func (c *command) group(cells []cell, layout show.Layout[group]) []*group {
	var out []*group
	byKey := map[string]*group{}
	for _, x := range cells {
		one := &group{part: x.part, order: x.order}
		if x.node != nil {
			one.nodes = []*wire.Node{x.node}
		}
		key := c.key(one, layout, len(out))
		g := byKey[key]
		if g == nil {
			one.seen = map[*wire.Node]bool{x.node: true}
			byKey[key] = one
			out = append(out, one)
		} else if x.node != nil && !g.seen[x.node] {
			g.nodes, g.seen[x.node] = append(g.nodes, x.node), true
		}
	}
	c.order(out, layout)
	return out
}

// key is what two groups have in common if they are one row.
func (c *command) key(g *group, layout show.Layout[group], n int) string {
	if c.nodes {
		return fmt.Sprint(n)
	}
	var b strings.Builder
	for _, col := range layout {
		if col.Field != nil && !col.Sum {
			b.WriteString(col.Value(g))
			b.WriteByte(0)
		}
	}
	return b.String()
}

// order sorts by --sort, or as sinfo does: partitions as they come, then states, the busiest first; nodes by name.
func (c *command) order(groups []*group, layout show.Layout[group]) {
	keys := c.sort
	if keys == "" {
		switch {
		case c.nodes:
			keys = "N,#P"
		case c.reasons:
			keys = "E,N"
		default:
			keys = "#P,-t"
		}
	}
	letters, _ := c.fields()
	var by []func(a, b *group) int
	for key := range strings.SplitSeq(keys, ",") {
		down := strings.HasPrefix(key, "-")
		key = strings.TrimLeft(key, "+-")
		var less func(a, b *group) int
		switch {
		case key == "#P":
			less = func(a, b *group) int { return cmp.Compare(a.order, b.order) }
		case key == "t" || key == "T":
			less = func(a, b *group) int { return cmp.Compare(stateRank(a.first()), stateRank(b.first())) }
		case key == "N" || key == "n":
			less = func(a, b *group) int { return compareNames(a.first(), b.first()) }
		case key != "" && letters[key[len(key)-1]] != nil:
			f := letters[key[len(key)-1]]
			less = func(a, b *group) int { return cmp.Compare(f.Value(a), f.Value(b)) }
		default:
			continue
		}
		if down {
			up := less
			less = func(a, b *group) int { return up(b, a) }
		}
		by = append(by, less)
	}
	slices.SortStableFunc(groups, func(a, b *group) int {
		for _, less := range by {
			if n := less(a, b); n != 0 {
				return n
			}
		}
		return 0
	})
}

// compareNames compares names with their numbers as numbers: n9 comes before n10.
func compareNames(a, b *wire.Node) int {
	if a == nil || b == nil {
		return 0
	}
	x, y := a.Name, b.Name
	for x != "" && y != "" {
		if n, m := digits(x), digits(y); n > 0 && m > 0 {
			p, q := strings.TrimLeft(x[:n], "0"), strings.TrimLeft(y[:m], "0")
			if c := cmp.Or(cmp.Compare(len(p), len(q)), cmp.Compare(p, q)); c != 0 {
				return c
			}
			x, y = x[n:], y[m:]
			continue
		}
		if x[0] != y[0] {
			return cmp.Compare(x[0], y[0])
		}
		x, y = x[1:], y[1:]
	}
	return cmp.Compare(len(x), len(y))
}

func digits(s string) int {
	return len(s) - len(strings.TrimLeft(s, "0123456789"))
}

// nodeCounts are a row's nodes that are allocated, idle, neither, and all.
func (g *group) nodeCounts() (alloc, idle, other, total int) {
	for _, n := range g.nodes {
		switch {
		case unusable(n) && n.AllocCPUs == 0:
			other++
		case n.AllocCPUs > 0 || n.State.Has("ALLOCATED") || n.State.Has("MIXED"):
			alloc++
		default:
			idle++
		}
	}
	return alloc, idle, other, len(g.nodes)
}

// cpuCounts are a row's CPUs, likewise.
func (g *group) cpuCounts() (alloc, idle, other, total int) {
	for _, n := range g.nodes {
		alloc += int(n.AllocCPUs)
		total += int(n.CPUs)
		if unusable(n) {
			other += int(n.CPUs - n.AllocCPUs)
		} else {
			idle += int(n.CPUs - n.AllocCPUs)
		}
	}
	return alloc, idle, other, total
}
