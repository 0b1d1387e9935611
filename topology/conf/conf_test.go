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

// shown is what "scontrol show topoconf" of 26.05.5 prints of them.
const shown = `%YAML 1.1
---
- topology: fabric
  cluster_default: true
  block: {}
  flat: {}
  ring: {}
  torus3d: {}
  tree:
    switches:
    - switch: core
      children: l[1-2]
      nodes:
    - switch: l1
      children:
      nodes: n[1-3]
    - switch: l2
      children:
      nodes: n4
- topology: nvl
  cluster_default: false
  block:
    block_sizes:
    - 2
    - 4
    blocks:
    - block: b1
      nodes: n[1-2]
    - block: b2
      nodes: n[3-4]
  flat: {}
  ring: {}
  torus3d: {}
  tree: {}
- topology: flat
  cluster_default: false
  block: {}
  flat: true
  ring: {}
  torus3d: {}
  tree: {}
...
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
		if diff := cmp.Diff(c.want, got.Tree); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", name, diff)
		}
	}
	site, err := Parse(shown)
	if err != nil || len(site.Named) != 3 {
		t.Fatalf("%v, %v", site, err)
	}
	for name, want := range map[string]topology.Tree{"fabric": tree, "nvl": blocks, "flat": {}} {
		if diff := cmp.Diff(want, site.Named[name]); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", name, diff)
		}
	}
	if !site.Tree.Same(tree) {
		t.Errorf("the default one is %v", site.Tree)
	}
	for _, bad := range []string{"- topology: f\n  tree: 3\n", "- topology: f\n  tree:\n    switches:\n    - switch: a\n      children: b\n    - switch: b\n      children: a\n",
		"- topology: f\n  tree:\n    switches:\n    - switch: a\n      nodes: n[1-\n"} {
		if got, err := Parse(bad); err == nil {
			t.Errorf("%q passed as %v", bad, got)
		}
	}
}
