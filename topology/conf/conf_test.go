package conf

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fsub/topology"
)

const several = `---
- topology: flat
  cluster_default: false
  flat: true
- topology: fabric
  cluster_default: true
  tree:
    switches:
    - switch: core
      children: l[1-2]
    - switch: l1
      nodes: n[1-3]
    - switch: l2
      nodes: n4
- topology: nvl
  block:
    block_sizes:
    - 2
    - 4
    blocks:
    - block: b1
      nodes: n[1-2]
    - block: b2
      nodes: n[3-4]
`

func TestParse(t *testing.T) {
	tree := topology.Tree{Switches: []topology.Switch{{Name: "core", Level: 1, Children: []string{"l1", "l2"}},
		{Name: "l1", Nodes: []string{"n1", "n2", "n3"}}, {Name: "l2", Nodes: []string{"n4"}}}}
	blocks := topology.Tree{BlockSizes: []int{2, 4}, Switches: []topology.Switch{{Name: "b1", Nodes: []string{"n1", "n2"}},
		{Name: "b2", Nodes: []string{"n3", "n4"}}, {Name: "block4.0", Level: 1, Children: []string{"b1", "b2"}}}}
	for name, c := range map[string]struct {
		text string
		want topology.Tree
	}{
		"the default":  {several, tree},
		"blocks":       {several[strings.Index(several, "- topology: nvl"):], blocks},
		"flat":         {"- topology: f\n  flat: true\n", topology.Tree{}},
		"conf":         {"SwitchName=core Switches=l[1-2]\nSwitchName=l1 Nodes=n[1-3]\nSwitchName=l2 Nodes=n4\n", tree},
		"conf, blocks": {"BlockName=b1 Nodes=n[1-2]\nBlockName=b2 Nodes=n[3-4]\nBlockSizes=2,4\n", blocks},
		"nothing":      {"", topology.Tree{}},
	} {
		got, err := Parse(c.text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", name, diff)
		}
	}
	for _, bad := range []string{"- topology: f\n  tree: 3\n", "- topology: f\n  tree:\n    switches:\n    - switch: a\n      children: b\n    - switch: b\n      children: a\n",
		"- topology: f\n  tree:\n    switches:\n    - switch: a\n      nodes: n[1-\n"} {
		if got, err := Parse(bad); err == nil {
			t.Errorf("%q passed as %v", bad, got)
		}
	}
}
