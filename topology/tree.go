package topology

import (
	"bufio"
	"fmt"
	"strconv"
	"strings"

	"fsub/slurm/hostlist"
)

// ParseScontrol reads what "scontrol show topology" prints. It understands switch trees (24.11 to 26.05) and blocks, which
// become leaves without a switch above: nodes of one block are close, two blocks are not. "No topology" gives the zero Tree.
func ParseScontrol(text string) (Tree, error) {
	return parseLines(text)
}

// ParseConf reads the text of a topology.conf: SwitchName lines with Nodes= or Switches=, or BlockName lines. Levels are
// worked out from the children.
func ParseConf(text string) (Tree, error) {
	t, err := parseLines(text)
	if err != nil {
		return Tree{}, err
	}
	return t, t.setLevels()
}

func parseLines(text string) (Tree, error) {
	var t Tree
	in := bufio.NewScanner(strings.NewReader(text))
	in.Buffer(nil, 16<<20)
	for n := 1; in.Scan(); n++ {
		line, _, _ := strings.Cut(in.Text(), "#")
		sw, ok, err := parseSwitch(line)
		if err != nil {
			return Tree{}, fmt.Errorf("topology line %d: %w", n, err)
		}
		if ok {
			t.Switches = append(t.Switches, sw)
		}
	}
	return t, in.Err()
}

// parseSwitch reads one line; ok is false for a line that declares neither a switch nor a block.
func parseSwitch(line string) (sw Switch, ok bool, err error) {
	var nodes string
	for _, word := range strings.Fields(line) {
		key, value, _ := strings.Cut(word, "=")
		switch strings.ToLower(key) {
		case "switchname", "blockname":
			sw.Name = value
		case "level":
			if sw.Level, err = strconv.Atoi(value); err != nil {
				return sw, false, fmt.Errorf("bad Level %q", value)
			}
		case "nodes":
			nodes = value
		case "switches":
			if sw.Children, err = hostlist.ExpandLoosely(value); err != nil {
				return sw, false, err
			}
		}
	}
	if sw.Name == "" {
		return sw, false, nil
	}
	// For an upper switch scontrol also lists all nodes below it; those are its children's.
	if len(sw.Children) == 0 && nodes != "" && nodes != "(null)" {
		sw.Nodes, err = hostlist.ExpandLoosely(nodes)
	}
	return sw, true, err
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

// Leaf returns the name of the leaf switch that node hangs on, "" if no leaf names it.
func (t Tree) Leaf(node string) string {
	for _, s := range t.Switches {
		for _, n := range s.Nodes {
			if n == node {
				return s.Name
			}
		}
	}
	return ""
}
