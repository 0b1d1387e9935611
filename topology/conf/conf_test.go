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

// One that cannot be used leaves the others as they are; those who would have it count as without.
func TestBadAmongGood(t *testing.T) {
	good := "- topology: good\n  tree:\n    switches:\n    - switch: l1\n      nodes: n[1-2]\n"
	for what, bad := range map[string]string{
		"a loop":            "- topology: bad\n  tree:\n    switches:\n    - switch: a\n      children: b\n    - switch: b\n      children: a\n",
		"a hostlist":        "- topology: bad\n  tree:\n    switches:\n    - switch: a\n      nodes: n[1-\n",
		"a number":          "- topology: bad\n  tree: 3\n",
		"a block of none":   "- topology: bad\n  block:\n    block_sizes: [0, 4]\n    blocks:\n    - block: b1\n      nodes: n[1-2]\n",
		"one of less":       "- topology: bad\n  block:\n    block_sizes: [2, -4]\n    blocks:\n    - block: b1\n      nodes: n[1-2]\n",
		"no number of node": "- topology: bad\n  block:\n    block_sizes: many\n",
	} {
		for _, text := range []string{good + bad, bad + good, good + bad + "  cluster_default: true\n"} {
			site, err := Parse(text)
			if err != nil || len(site.Bad) != 1 || !strings.HasPrefix(site.Bad[0].Error(), `topology.yaml: topology "bad" is not used: `) {
				t.Errorf("%s: %v, %v", what, site.Bad, err)
				continue
			}
			if got := site.Named["good"].Leaf("n1"); got != "l1" {
				t.Errorf("%s: n1 is on %q", what, got)
			}
			if none, ok := site.Named["bad"]; !ok || len(none.Switches) > 0 {
				t.Errorf("%s: the bad one is %v", what, none)
			}
			if first := strings.HasPrefix(text, good) && !strings.Contains(text, "cluster_default"); (len(site.Tree.Switches) > 0) != first {
				t.Errorf("%s: the default is %v of\n%s", what, site.Tree, text)
			}
		}
		if _, err := Parse(bad); err == nil {
			t.Errorf("%s is not refused alone", what)
		}
	}
}
