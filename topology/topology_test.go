package topology

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// What real controllers print.
const (
	text2411 = `SwitchName=leaf1 Level=0 LinkSpeed=1 Nodes=plc[1-2]
SwitchName=leaf2 Level=0 LinkSpeed=1 Nodes=plc[3-4]
SwitchName=spine Level=1 LinkSpeed=1 Nodes=plc[1-4] Switches=leaf[1-2]
`
	text2605 = `SwitchName=spine Level=1 LinkSpeed=0 Nodes=ple[1-4] Switches=leaf[1-2]
SwitchName=leaf1 Level=0 LinkSpeed=0 Nodes=ple[1-2]
SwitchName=leaf2 Level=0 LinkSpeed=0 Nodes=ple[3-4]
`
	blocks2605 = `BlockName=b1 BlockIndex=0 Nodes=ple[1-2] BlockSize=2
BlockName=b2 BlockIndex=1 Nodes=ple[3-4] BlockSize=2
`
)

func TestParseScontrol(t *testing.T) {
	leaves := func(name string) []Switch {
		return []Switch{
			{Name: "leaf1", Nodes: []string{name + "1", name + "2"}},
			{Name: "leaf2", Nodes: []string{name + "3", name + "4"}},
		}
	}
	spine := Switch{Name: "spine", Level: 1, Children: []string{"leaf1", "leaf2"}}
	blocks := leaves("ple")
	blocks[0].Name, blocks[1].Name = "b1", "b2"
	for _, c := range []struct {
		name, text string
		want       []Switch
	}{
		{"24.11 tree", text2411, append(leaves("plc"), spine)},
		{"26.05 tree", text2605, append([]Switch{spine}, leaves("ple")...)},
		{"26.05 blocks", blocks2605, blocks},
		{"none", "No topology information available\n", nil},
		{"empty", "", nil},
	} {
		got, err := ParseScontrol(c.text)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if diff := cmp.Diff(c.want, got.Switches); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", c.name, diff)
		}
	}
	if _, err := ParseScontrol("SwitchName=s Level=x"); err == nil {
		t.Error("a level that is no number passed")
	}
}

func TestParseConf(t *testing.T) {
	tree, err := ParseConf("# the fabric\nSwitchName=top Switches=mid[1-2]\nSwitchName=mid1 Switches=l1,l2\nSwitchName=mid2 Switches=l3\n" +
		"SwitchName=l1 Nodes=a[1-2] # rack 1\nSwitchName=l2 Nodes=a3\nSwitchName=l3 Nodes=b[1-3]\n")
	if err != nil {
		t.Fatal(err)
	}
	levels := map[string]int{"top": 2, "mid1": 1, "mid2": 1, "l1": 0, "l2": 0, "l3": 0}
	for _, s := range tree.Switches {
		if s.Level != levels[s.Name] {
			t.Errorf("%s is at level %d, want %d", s.Name, s.Level, levels[s.Name])
		}
	}
	if leaf := tree.Leaf("a3"); leaf != "l2" {
		t.Errorf("a3 is under %q", leaf)
	}
	if leaf := tree.Leaf("zz"); leaf != "" {
		t.Errorf("zz is under %q", leaf)
	}
	if _, err := ParseConf("SwitchName=a Switches=b\nSwitchName=b Switches=a"); err == nil {
		t.Error("a loop of switches passed")
	}
}

func threeLeaves() *Index {
	tree, _ := ParseConf("SwitchName=l1 Nodes=a[0-3]\nSwitchName=l2 Nodes=a[4-6]\nSwitchName=l3 Nodes=a[7-9]\n" +
		"SwitchName=left Switches=l1,l2\nSwitchName=top Switches=left,l3")
	names := make([]string, 11) // a10 hangs nowhere
	for i := range names {
		names[i] = fmt.Sprintf("a%d", i)
	}
	return tree.Index(names)
}

func TestChoose(t *testing.T) {
	x := threeLeaves()
	all := []int32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
	for _, c := range []struct {
		name string
		free []int32
		n, k int
		want []int32
	}{
		{"the smallest leaf that has enough", all, 3, 1, []int32{4, 5, 6}},
		{"one node goes where least is free", []int32{0, 1, 7}, 1, 0, []int32{7}},
		{"only one leaf has four", all, 4, 1, []int32{0, 1, 2, 3}},
		{"five do not fit under one", all, 5, 1, nil},
		{"five under the lowest switch that holds them", all, 5, 2, []int32{0, 1, 2, 3, 4}},
		{"eight need three leaves", all, 8, 2, nil},
		{"eight in three", all, 8, 3, []int32{0, 1, 2, 3, 4, 5, 6, 7}},
		{"not so many", all[:3], 4, 0, nil},
		{"none", all, 0, 0, nil},
	} {
		if diff := cmp.Diff(c.want, x.Choose(c.free, c.n, c.k)); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", c.name, diff)
		}
	}
	var none Tree
	if got := none.Index([]string{"a", "b", "c"}).Choose([]int32{0, 2}, 2, 1); len(got) != 2 {
		t.Errorf("without switches all nodes are under one: got %v", got)
	}
}

// What Choose promises: n different free nodes under no more leaves than asked, and nil only if there is no such choice.
func TestChooseProperties(t *testing.T) {
	x := threeLeaves()
	rapid.Check(t, func(t *rapid.T) {
		free := rapid.SliceOfNDistinct(rapid.Int32Range(0, 10), 0, 11, rapid.ID[int32]).Draw(t, "free")
		n, k := rapid.IntRange(1, 11).Draw(t, "n"), rapid.IntRange(0, 4).Draw(t, "k")
		got := x.Choose(free, n, k)
		most := k
		if k == 0 {
			most = x.Leaves()
		}
		if possible := x.Largest(free, most) >= n; possible != (got != nil) {
			t.Fatalf("possible %v, got %v", possible, got)
		}
		if got == nil {
			return
		}
		leaves := map[int32]bool{}
		for i, f := range got {
			leaves[x.Leaf(f)] = true
			if !slices.Contains(free, f) || slices.Contains(got[:i], f) {
				t.Fatalf("%v: %d is not free or there twice", got, f)
			}
		}
		if len(got) != n || len(leaves) > most {
			t.Fatalf("%v: wanted %d under %d", got, n, most)
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add(text2411)
	f.Add(text2605)
	f.Add(blocks2605)
	f.Add("SwitchName=a Switches=a Nodes=b[1-3]\nSwitchName=b[1-2] Switches=a,b")
	f.Fuzz(func(t *testing.T, text string) {
		tree, err := ParseConf(text)
		if err != nil {
			return
		}
		x := tree.Index([]string{"b1", "b2", "plc1"})
		if got := x.Choose([]int32{0, 1, 2}, 2, 0); len(got) != 2 {
			t.Fatalf("two of three free nodes: %v", got)
		}
	})
}
