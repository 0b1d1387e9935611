package topology

import (
	"fmt"
	"testing"
)

// TestAbove: what is above all nodes is above none in particular, and blocks are told as switches are.
func TestAbove(t *testing.T) {
	tree, err := Parse("SwitchName=l1 Nodes=n[1-2]\nSwitchName=l2 Nodes=n[3-4]\nSwitchName=l3 Nodes=n5\nSwitchName=s1 Switches=l1,l2\nSwitchName=s2 Switches=l3\nSwitchName=core Switches=s1,s2\n")
	if err != nil {
		t.Fatal(err)
	}
	blocks, err := Parse("BlockName=b1 Nodes=n[1-2]\nBlockName=b2 Nodes=n[3-4]\nBlockName=b3 Nodes=n[5-6]\nBlockName=b4 Nodes=n[7-8]\nBlockSizes=2,4\n")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		tree Tree
		node string
		want string
	}{{tree, "n1", "[{l1 2} {s1 4}]"}, {tree, "n4", "[{l2 2} {s1 4}]"}, {tree, "n5", "[{l3 1} {s2 1}]"}, {tree, "n9", "[]"}, {Tree{}, "n1", "[]"}, {blocks, "n3", "[{b2 2} {block4.0 4}]"}} {
		if got := fmt.Sprint(c.tree.Above()[c.node]); got != c.want {
			t.Errorf("above %s is %s, want %s", c.node, got, c.want)
		}
	}
}
