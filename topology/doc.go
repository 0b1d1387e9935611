// Package topology knows how the nodes of a site are wired, which of them are close, and which set of them fits a gang. It is pure.
//
// A [Tree] is what a site says of its wiring, whether it is a tree of switches, blocks, or the network nodes of a cloud; [Parse] reads it
// from text. An [Index] is a Tree prepared for nodes that are known by number. A [Chooser] picks nodes for a gang as the site's own
// scheduler would, and says how far apart they are: a [Span]. What that costs a job depends on how it communicates: [Traffic].
//
// The shapes of TPU slices are in package torus, files in YAML are read by package conf.
package topology

import (
	"slices"
	"strings"
)

// Tree is the wiring of a site: every leaf with its nodes, and what joins the leaves. The zero Tree knows nothing: then all nodes count as
// being close.
//
// Leaves are leaf switches; of topology/block the base blocks, whose nodes share what is faster than the network (the NVLink of a rack), and
// what joins them are the aggregated blocks.
type Tree struct {
	Switches []Switch
	// BlockSizes are those of topology/block: how many nodes a base block has, then those of the aggregated ones. nil: switches.
	BlockSizes []int
}

// Switch is one switch of a tree, or one block. A leaf has Nodes, any other has Children.
type Switch struct {
	Name     string
	Level    int // 0: leaf
	Nodes    []string
	Children []string
}

// Blocks says whether the leaves are blocks.
func (t Tree) Blocks() bool { return t.BlockSizes != nil }

// Kind is the topology in Slurm's words: "flat", "tree" or "block".
func (t Tree) Kind() string {
	switch {
	case len(t.Switches) == 0:
		return "flat"
	case t.Blocks():
		return "block"
	}
	return "tree"
}

// Same reports whether two trees say the same.
func (t Tree) Same(u Tree) bool {
	if len(t.Switches) != len(u.Switches) || !slices.Equal(t.BlockSizes, u.BlockSizes) {
		return false
	}
	if len(t.Switches) > 0 && &t.Switches[0] == &u.Switches[0] {
		return true
	}
	return slices.EqualFunc(t.Switches, u.Switches, func(a, b Switch) bool {
		return a.Name == b.Name && a.Level == b.Level && slices.Equal(a.Nodes, b.Nodes) && slices.Equal(a.Children, b.Children)
	})
}

// Leaf returns the name of the leaf that node belongs to, "" if no leaf names it.
func (t Tree) Leaf(node string) string {
	for _, s := range t.Switches {
		if slices.Contains(s.Nodes, node) {
			return s.Name
		}
	}
	return ""
}

// FromPaths makes a tree of the place of each node, as nodes themselves tell it: the names of the switches above it, the highest first, with
// colons between ("core:rack4"). Nodes without a place are in no leaf.
func FromPaths(paths map[string]string) Tree {
	names := make([]string, 0, len(paths))
	for n := range paths {
		names = append(names, n)
	}
	slices.Sort(names)
	var t Tree
	at := map[string]int{}
	find := func(name string) *Switch {
		i, ok := at[name]
		if !ok {
			i = len(t.Switches)
			at[name], t.Switches = i, append(t.Switches, Switch{Name: name})
		}
		return &t.Switches[i]
	}
	for _, n := range names {
		if paths[n] == "" {
			continue
		}
		units := strings.Split(paths[n], ":")
		for i, u := range units[:len(units)-1] {
			if s := find(u); !slices.Contains(s.Children, units[i+1]) {
				s.Children = append(s.Children, units[i+1])
			}
		}
		leaf := find(units[len(units)-1])
		leaf.Nodes = append(leaf.Nodes, n)
	}
	t, err := OfSwitches(t.Switches)
	if err != nil {
		return Tree{}
	}
	return t
}
