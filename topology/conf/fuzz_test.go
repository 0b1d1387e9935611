package conf

import (
	"strings"
	"testing"

	"fsub/slurm/hostlist"
)

// FuzzParse reads files that say how a site is wired: what is taken names no more nodes than a list may, and no switch stands below one of its children.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"- topology: a\n  cluster_default: true\n  tree:\n    switches:\n      - switch: s0\n        children: s[1-2]\n      - switch: s1\n        nodes: n[1-4]\n      - switch: s2\n        nodes: n[5-8]\n",
		"- topology: b\n  block:\n    block_sizes: [2, 4]\n    blocks:\n      - block: b1\n        nodes: n[1-2]\n      - block: b2\n        nodes: n[3-4]\n",
		"- topology: c\n  flat: true\n", "topology: x\n", "SwitchName=s0 Switches=s1\nSwitchName=s1 Nodes=n[1-4]\n", "BlockName=b1 Nodes=n[1-4]\nBlockSizes=2\n",
		"- &a\n  topology: [*a]\n",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		tree, err := Parse(text)
		if err != nil {
			return
		}
		level := map[string]int{}
		for _, s := range tree.Switches {
			level[s.Name] = s.Level
		}
		all := 0
		for _, s := range tree.Switches {
			if all += len(s.Nodes); all > hostlist.MaxNames*max(1, strings.Count(text, "odes")) {
				t.Fatalf("%d nodes of %d bytes", all, len(text))
			}
			for _, c := range s.Children {
				if below, ok := level[c]; ok && below >= level[s.Name] {
					t.Errorf("%s stands at level %d, its child %s at %d", s.Name, level[s.Name], c, below)
				}
			}
		}
	})
}
