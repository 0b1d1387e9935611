package topology

import (
	"bufio"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"fsub/slurm/hostlist"
)

// Parse reads the text of a topology.conf, or what "scontrol show topology" prints (22.05 to 26.05): switches or blocks. A text without
// either gives the zero Tree.
func Parse(text string) (Tree, error) {
	var t Tree
	var blocks []block
	in := bufio.NewScanner(strings.NewReader(text))
	in.Buffer(nil, 16<<20)
	for n := 1; in.Scan(); n++ {
		text, _, _ := strings.Cut(in.Text(), "#")
		l, err := parseLine(text)
		if err != nil {
			return Tree{}, fmt.Errorf("topology line %d: %w", n, err)
		}
		if l.sizes != nil && (t.BlockSizes == nil || len(l.sizes) > 1) {
			t.BlockSizes = l.sizes
		}
		switch {
		case l.name == "":
		case l.isBlock:
			blocks = append(blocks, block{l.index, len(blocks), l.name, l.nodes})
		default:
			t.Switches = append(t.Switches, Switch{Name: l.name, Level: l.level, Nodes: l.nodes, Children: l.children})
		}
	}
	if err := in.Err(); err != nil {
		return Tree{}, fmt.Errorf("topology: %w", err)
	}
	if len(blocks) > 0 {
		sizes := append(t.BlockSizes, aggregates(text)...)
		slices.Sort(sizes)
		return OfBlocks(sortBlocks(blocks), slices.Compact(sizes)), nil
	}
	return OfSwitches(t.Switches)
}

// line is one line of a topology.conf, or of what scontrol prints.
type line struct {
	name, aggregated string
	isBlock          bool
	index, level     int // -1, 0: not said
	nodes, children  []string
	sizes            []int
}

func parseLine(text string) (l line, err error) {
	l.index = -1
	nodes := ""
	for _, word := range strings.Fields(text) {
		key, value, _ := strings.Cut(word, "=")
		switch strings.ToLower(key) {
		case "switchname":
			l.name = value
		case "blockname":
			l.name, l.isBlock = value, true
		case "aggregatedblock":
			l.aggregated = value
		case "blockindex":
			l.index, err = strconv.Atoi(value)
		case "blocksize", "blocksizes":
			l.sizes, err = numbers(value)
		case "level":
			l.level, err = strconv.Atoi(value)
		case "nodes":
			nodes = value
		case "switches":
			l.children, err = hostlist.ExpandLoosely(value)
		}
		if err != nil {
			return l, fmt.Errorf("invalid %s %q", key, value)
		}
	}
	// For an upper switch scontrol also lists all nodes below it; those are its children's.
	if len(l.children) == 0 && nodes != "" && nodes != "(null)" {
		if l.nodes, err = hostlist.ExpandLoosely(nodes); err != nil {
			return l, fmt.Errorf("invalid Nodes: %w", err)
		}
	}
	if l.aggregated != "" {
		l.sizes = nil
	}
	return l, nil
}

// aggregates are the sizes of the aggregated blocks that scontrol lists.
func aggregates(text string) []int {
	var sizes []int
	for l := range strings.Lines(text) {
		if !strings.HasPrefix(l, "AggregatedBlock=") {
			continue
		}
		for _, word := range strings.Fields(l) {
			if value, ok := strings.CutPrefix(word, "BlockSize="); ok {
				if more, err := numbers(value); err == nil {
					sizes = append(sizes, more...)
				}
			}
		}
	}
	return sizes
}

func numbers(list string) ([]int, error) {
	var all []int
	for text := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("invalid number %q", text)
		}
		all = append(all, n)
	}
	return all, nil
}

// block is a base block; place is where it stands in the text.
type block struct {
	index, place int
	name         string
	nodes        []string
}

func sortBlocks(blocks []block) []Switch {
	slices.SortFunc(blocks, func(a, b block) int { return cmp.Or(cmp.Compare(a.index, b.index), cmp.Compare(a.place, b.place)) })
	all := make([]Switch, len(blocks))
	for i, b := range blocks {
		all[i] = Switch{Name: b.name, Nodes: b.nodes}
	}
	return all
}

// OfBlocks is the tree of base blocks, in the order of their indices. sizes are BlockSizes; nil: that of the smallest block. An aggregated
// block is as many base blocks, one after the other, as its size has the base block's.
func OfBlocks(blocks []Switch, sizes []int) Tree {
	if len(sizes) == 0 {
		least := 0
		for _, b := range blocks {
			if least == 0 || len(b.Nodes) < least {
				least = len(b.Nodes)
			}
		}
		sizes = []int{max(least, 1)}
	}
	t := Tree{Switches: blocks, BlockSizes: sizes}
	below, each := blocks, 1
	for level, size := range sizes[1:] {
		join := max(size/sizes[0]/each, 1)
		if join == 1 {
			continue
		}
		var above []Switch
		for i := 0; i < len(below); i += join {
			s := Switch{Name: fmt.Sprintf("block%d.%d", size, i/join), Level: level + 1}
			for _, b := range below[i:min(i+join, len(below))] {
				s.Children = append(s.Children, b.Name)
			}
			above = append(above, s)
		}
		t.Switches = append(t.Switches, above...)
		below, each = above, each*join
	}
	return t
}

// OfSwitches is the tree of switches whose levels are not known yet.
func OfSwitches(all []Switch) (Tree, error) {
	t := Tree{Switches: all}
	return t, t.setLevels()
}

// setLevels gives every switch one more than the highest of its children, leaves 0.
func (t *Tree) setLevels() error {
	at := make(map[string]int, len(t.Switches))
	for i, s := range t.Switches {
		at[s.Name] = i
		t.Switches[i].Level = 0
	}
	for round := 0; ; round++ {
		changed := false
		for i := range t.Switches {
			for _, c := range t.Switches[i].Children {
				j, ok := at[c]
				if ok && t.Switches[i].Level <= t.Switches[j].Level {
					t.Switches[i].Level = t.Switches[j].Level + 1
					changed = true
				}
			}
		}
		if !changed {
			return nil
		}
		if round > len(t.Switches) {
			return fmt.Errorf("topology: switches form a loop")
		}
	}
}
