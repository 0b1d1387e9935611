package sinfo

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"

	"fsub/cmd/internal/show"
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

// span is the least and the greatest of a number of the row's nodes; 0 for none.
func (g *group) span(of func(*wire.Node) int64) (low, high int64) {
	for i, n := range g.nodes {
		v := of(n)
		if i == 0 {
			low, high = v, v
		}
		low, high = min(low, v), max(high, v)
	}
	return low, high
}

// cells returns all nodes in all their partitions that the options select. Where rows are about
// partitions, a partition without nodes has one too.
func (c *command) cells(parts []wire.Partition, nodes []wire.Node) ([]cell, error) {
	want, err := wanted(c.nodeList)
	if err != nil {
		return nil, fmt.Errorf("sinfo: error: '%s' invalid entry for --nodes", c.nodeList)
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
		if len(c.partitions) > 0 && !slices.Contains(c.partitions, p.Name) || c.hides(p) {
			continue
		}
		for _, n := range inPart[p.Name] {
			out = append(out, cell{p, i, n})
		}
		if len(inPart[p.Name]) == 0 && !c.nodes && !c.reasons && !c.json && !c.yaml {
			out = append(out, cell{p, i, nil})
		}
	}
	return out, nil
}

// hides reports whether a partition is one that only --all, --partition, or root shows.
func (c *command) hides(p *wire.Partition) bool {
	return p.Flags.Has("HIDDEN") && !c.all && len(c.partitions) == 0 && os.Getuid() != 0
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
	}
	return len(c.states) == 0 || slices.ContainsFunc(c.states, func(t stateTerm) bool { return t.fits(n) })
}

// group puts cells together whose columns show the same; with --Node each stays alone.
func (c *command) group(cells []cell, layout show.Layout[group]) []*group {
	var out []*group
	byKey := map[string]*group{}
	partitions := c.ofPartitions(layout)
	for _, x := range cells {
		if x.node == nil && !partitions {
			continue
		}
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

// ofPartitions reports whether a layout names the partition.
func (c *command) ofPartitions(layout show.Layout[group]) bool {
	return slices.ContainsFunc(layout, func(col show.Column[group]) bool { return col.Field != nil && col.Header == "PARTITION" })
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

// order sorts by --sort, or as sinfo does: partitions as they come, then states, the busiest first;
// nodes by name.
func (c *command) order(groups []*group, layout show.Layout[group]) {
	keys := c.sort
	if keys == "" {
		switch {
		case c.nodes:
			keys = "N,#P"
		default:
			keys = "#P,-t"
		}
	}
	letters, _ := c.fields()
	var by []func(a, b *group) int
	down, given := false, false // of the next letter
	for i := range len(keys) {
		switch keys[i] {
		case '-':
			down = true
		case '#':
			given = true
		case '+', ',', '=':
		default:
			if less := comparison(keys[i], given, letters); less != nil && down {
				by = append(by, func(a, b *group) int { return less(b, a) })
			} else if less != nil {
				by = append(by, less)
			}
			down, given = false, false
		}
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

// comparison compares by one letter of --sort; nil for one that is not known, which sinfo passes
// over. given: the order in which the partitions came, not that of their names.
func comparison(key byte, given bool, letters map[byte]*show.Field[group]) func(a, b *group) int {
	switch {
	case key == 'P' && given:
		return func(a, b *group) int { return cmp.Compare(a.order, b.order) }
	case key == 't' || key == 'T':
		return func(a, b *group) int { return cmp.Compare(stateRank(a.first()), stateRank(b.first())) }
	case key == 'N' || key == 'n':
		return func(a, b *group) int { return natural(firstName(a), firstName(b)) }
	case key == 'E': // no reason comes first
		return func(a, b *group) int { return cmp.Compare(reasonOf(a), reasonOf(b)) }
	case letters[key] != nil:
		return func(a, b *group) int { return natural(letters[key].Value(a), letters[key].Value(b)) }
	}
	return nil
}

func firstName(g *group) string {
	if n := g.first(); n != nil {
		return n.Name
	}
	return ""
}

func reasonOf(g *group) string {
	if n := g.first(); n != nil {
		return n.Reason
	}
	return ""
}

// natural compares text with its numbers as numbers: n9 comes before n10.
func natural(x, y string) int {
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
