package fragment

import (
	"fmt"
	"math"
	"testing"
	"time"

	"fsub/federation"
	"fsub/topology"
)

// site is one of leaves with four nodes of eight GPUs each, two leaves to a block. used is how many GPUs are in use of each node; -1: it is drained.
func site(used ...int) *federation.Observation {
	o := &federation.Observation{}
	for i, n := range used {
		node := federation.Node{Name: fmt.Sprintf("n%02d", i), State: []string{"IDLE"}, GRES: []federation.GRES{{Name: "gpu", Type: "h100", Total: 8, Used: max(n, 0)}}}
		if n < 0 {
			node.State = []string{"IDLE", "DRAIN"}
		}
		o.Nodes = append(o.Nodes, node)
		if i%4 == 0 {
			o.Tree.Switches = append(o.Tree.Switches, topology.Switch{Name: fmt.Sprintf("leaf%d", i/4)})
		}
		leaf := &o.Tree.Switches[i/4]
		leaf.Nodes = append(leaf.Nodes, node.Name)
	}
	leaves := len(o.Tree.Switches)
	for l := 0; l < leaves; l += 2 {
		s := topology.Switch{Name: fmt.Sprintf("block%d", l/2), Level: 1}
		for k := l; k < min(l+2, leaves); k++ {
			s.Children = append(s.Children, o.Tree.Switches[k].Name)
		}
		o.Tree.Switches = append(o.Tree.Switches, s)
	}
	return o
}

// of is what jobs of one size alone want.
func of(gpus int) Shares {
	a := &Asked{}
	a.Add(time.Unix(1e9, 0), gpus, 1)
	return a.Shares()
}

func TestWhole(t *testing.T) {
	for _, c := range []struct {
		name                    string
		site                    *federation.Observation
		free, node, leaf, block int
	}{
		{"all free", site(make([]int, 16)...), 128, 128, 128, 128},
		{"one GPU of each leaf", site(1, 0, 0, 0, 1, 0, 0, 0), 62, 48, 0, 0},
		{"one GPU of one leaf", site(1, 0, 0, 0, 0, 0, 0, 0), 63, 56, 32, 0},
		{"a drained node makes no leaf smaller", site(-1, 0, 0, 0, 0, 0, 0, 0), 56, 56, 56, 56},
		{"a leaf of which most is drained", site(-1, -1, -1, 0, 0, 0, 0, 0), 40, 40, 32, 40},
		{"full", site(8, 8, 8, 8), 0, 0, 0, 0},
	} {
		s := Of(c.site, Even())
		if len(s) != 1 || s[0].Free != c.free || s[0].Node != c.node || s[0].Leaf != c.leaf || s[0].Block != c.block {
			t.Errorf("%s: %+v, want %d free: %d %d %d", c.name, s, c.free, c.node, c.leaf, c.block)
		}
	}
	flat := site(0, 1)
	flat.Tree = topology.Tree{}
	if s := Of(flat, Even())[0]; s.Leaves != 0 || s.Blocks != 0 || s.Node != 8 || s.Free != 15 {
		t.Errorf("without a topology: %+v", s)
	}
}

func TestFit(t *testing.T) {
	cut := site(1, 0, 0, 0, 1, 0, 0, 0)
	for gpus, want := range map[int]float64{
		1: 1, 2: 60. / 62, 4: (2*4 + 48) / 62., 8: 48. / 62,
		16:  32. / 62, // of three free nodes of a leaf two
		32:  0,        // a leaf
		64:  0,        // a block
		128: 1,        // larger than the site: that is no fragmentation
	} {
		if s := Of(cut, of(gpus))[0]; math.Abs(s.Fit-want) > 1e-9 {
			t.Errorf("jobs of %d GPUs can take %.3f, want %.3f", gpus, s.Fit, want)
		}
	}
	full := site(8, 8)
	if s := Of(full, Even())[0]; s.Fragmented() != 0 {
		t.Errorf("what is full is not fragmented: %+v", s)
	}
}

// TestAskedLately: what was asked for yesterday counts half, in whatever order it is told.
func TestAskedLately(t *testing.T) {
	now := time.Unix(1e9, 0)
	for _, order := range [][]int{{0, 1}, {1, 0}} {
		var a Asked
		for _, i := range order {
			if i == 0 {
				a.Add(now.Add(-24*time.Hour), 8, 10)
			} else {
				a.Add(now, 64, 5)
			}
		}
		s := a.Shares()
		if math.Abs(s[3]-40./360) > 1e-9 || math.Abs(s[6]-320./360) > 1e-9 {
			t.Errorf("order %v: %v", order, s)
		}
	}
	var none Asked
	none.Add(now, 0, 3)
	if none.Shares() != Even() {
		t.Error("jobs without GPUs count")
	}
}
