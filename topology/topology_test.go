package topology

import (
	"fmt"
	"math/bits"
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

func TestParse(t *testing.T) {
	leaves := func(name string) []Switch {
		return []Switch{
			{Name: "leaf1", Nodes: []string{name + "1", name + "2"}},
			{Name: "leaf2", Nodes: []string{name + "3", name + "4"}},
		}
	}
	spine := Switch{Name: "spine", Level: 1, Children: []string{"leaf1", "leaf2"}}
	blocks := leaves("ple")
	blocks[0].Name, blocks[1].Name = "b1", "b2"
	joined := append(slices.Clone(blocks), Switch{Name: "block4.0", Level: 1, Children: []string{"b1", "b2"}})
	for _, c := range []struct {
		name, text string
		want       []Switch
		sizes      []int
	}{
		{"24.11 tree", text2411, append(leaves("plc"), spine), nil},
		{"26.05 tree", text2605, append([]Switch{spine}, leaves("ple")...), nil},
		{"26.05 blocks", blocks2605, blocks, []int{2}},
		{"blocks out of order", "BlockName=b2 BlockIndex=1 Nodes=ple[3-4] BlockSize=2\nBlockName=b1 BlockIndex=0 Nodes=ple[1-2] BlockSize=2\n", blocks, []int{2}},
		{"blocks of topology.conf", "BlockName=b1 Nodes=ple[1-2]\nBlockName=b2 Nodes=ple[3-4]\nBlockSizes=2,4 # two levels\n", joined, []int{2, 4}},
		{"26.05 aggregated", blocks2605 + "AggregatedBlock=b[1-2] BlockIndex=2 Nodes=ple[1-4] BlockSize=4\n", joined, []int{2, 4}},
		{"none", "No topology information available\n", nil, nil},
		{"empty", "", nil, nil},
	} {
		got, err := Parse(c.text)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if diff := cmp.Diff(Tree{Switches: c.want, BlockSizes: c.sizes}, got); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", c.name, diff)
		}
	}
	for _, bad := range []string{"SwitchName=s Level=x", "SwitchName=a Switches=b\nSwitchName=b Switches=a", "BlockName=b Nodes=n1\nBlockSizes=0", "BlockName=b BlockIndex=x"} {
		if tree, err := Parse(bad); err == nil {
			t.Errorf("%q passed as %v", bad, tree)
		}
	}
}

func parse(t testing.TB, text string) Tree {
	t.Helper()
	tree, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func TestLevels(t *testing.T) {
	tree := parse(t, "# the fabric\nSwitchName=top Switches=mid[1-2]\nSwitchName=mid1 Switches=l1,l2\nSwitchName=mid2 Switches=l3\n"+
		"SwitchName=l1 Nodes=a[1-2] # rack 1\nSwitchName=l2 Nodes=a3\nSwitchName=l3 Nodes=b[1-3]\n")
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
}

func TestFromPaths(t *testing.T) {
	got := FromPaths(map[string]string{"a1": "top:left:l1", "a2": "top:left:l1", "a3": "top:right:l2", "a4": ""})
	want := parse(t, "SwitchName=top Switches=left,right\nSwitchName=left Switches=l1\nSwitchName=l1 Nodes=a[1-2]\n"+
		"SwitchName=right Switches=l2\nSwitchName=l2 Nodes=a3\n")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if !got.Same(want) || got.Same(Tree{}) || got.Kind() != "tree" {
		t.Errorf("Same and Kind of %v", got)
	}
}

func threeLeaves() *Index {
	tree, _ := Parse("SwitchName=l1 Nodes=a[0-3]\nSwitchName=l2 Nodes=a[4-6]\nSwitchName=l3 Nodes=a[7-9]\n" +
		"SwitchName=left Switches=l1,l2\nSwitchName=top Switches=left,l3")
	names := make([]string, 11) // a10 is in no leaf
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
		ask  Ask
		want []int32
		hops int
	}{
		{"the smallest leaf that has enough", all, Ask{Nodes: 3, Leaves: 1}, []int32{4, 5, 6}, 2},
		{"one node goes where least is free", []int32{0, 1, 7}, Ask{Nodes: 1}, []int32{7}, 0},
		{"only one leaf has four", all, Ask{Nodes: 4, Leaves: 1}, []int32{0, 1, 2, 3}, 2},
		{"five do not fit under one", all, Ask{Nodes: 5, Leaves: 1}, nil, 0},
		{"five under the lowest switch that holds them", all, Ask{Nodes: 5, Leaves: 2}, []int32{0, 1, 2, 3, 4}, 4},
		{"six where nothing is left over", all, Ask{Nodes: 6}, []int32{0, 1, 2, 3, 4, 5}, 4},
		{"eight need three leaves", all, Ask{Nodes: 8, Leaves: 2}, nil, 0},
		{"eight in three", all, Ask{Nodes: 8, Leaves: 3}, []int32{0, 1, 2, 3, 4, 5, 6, 7}, 6},
		{"eleven are apart", all, Ask{Nodes: 11}, all, 8},
		{"segments of three", all, Ask{Nodes: 6, Segment: 3}, []int32{0, 1, 2, 4, 5, 6}, 4},
		{"segments of two", all, Ask{Nodes: 8, Segment: 2}, []int32{0, 1, 2, 3, 4, 5, 7, 8}, 6},
		{"segments of four", all, Ask{Nodes: 8, Segment: 4}, nil, 0},
		{"not so many", all[:3], Ask{Nodes: 4}, nil, 0},
		{"none", all, Ask{}, nil, 0},
	} {
		got, span, ok := x.Chooser().Choose(c.free, c.ask, nil)
		if diff := cmp.Diff(c.want, got); diff != "" || ok != (got != nil) {
			t.Errorf("%s: %v (-want +got)\n%s", c.name, ok, diff)
		}
		if measured := x.Span(got); ok && (measured.Leaves != span.Leaves || measured.Level != span.Level || measured.Apart != span.Apart) || span.Hops() != c.hops {
			t.Errorf("%s: said %+v, measured %+v; want %d hops", c.name, span, measured, c.hops)
		}
	}
	var none Tree
	flat := none.Index([]string{"n1", "n2", "n9", "n10", "n11", "n12"})
	if got, span, _ := flat.Chooser().Choose([]int32{0, 2}, Ask{Nodes: 2, Leaves: 1}, nil); len(got) != 2 || span.Level != 0 {
		t.Errorf("without switches all nodes are under one: got %v", got)
	}
	if got, _, _ := flat.Chooser().Choose([]int32{0, 1, 5, 4, 3, 2}, Ask{Nodes: 2, Contiguous: true}, nil); !slices.Equal(got, []int32{0, 1}) {
		t.Errorf("the shortest run is n1, n2: got %v", got)
	}
	if got, _, ok := flat.Chooser().Choose([]int32{0, 1, 3, 5}, Ask{Nodes: 3, Contiguous: true}, nil); ok {
		t.Errorf("no three follow each other: got %v", got)
	}
}

// randomTree is a tree of a few leaves with a few nodes, and up to two levels above.
func randomTree(t *rapid.T) (*Index, int) {
	leaves := rapid.IntRange(1, 5).Draw(t, "leaves")
	var tree Tree
	var names []string
	mids := make([][]string, rapid.IntRange(1, 3).Draw(t, "middle switches"))
	for l := range leaves {
		s := Switch{Name: fmt.Sprintf("l%d", l)}
		for range rapid.IntRange(1, 4).Draw(t, "nodes") {
			s.Nodes = append(s.Nodes, fmt.Sprintf("n%d", len(names)))
			names = append(names, s.Nodes[len(s.Nodes)-1])
		}
		tree.Switches = append(tree.Switches, s)
		if m := rapid.IntRange(-1, len(mids)-1).Draw(t, "middle"); m >= 0 {
			mids[m] = append(mids[m], s.Name)
		}
	}
	top := Switch{Name: "top"}
	for m, below := range mids {
		if len(below) > 0 {
			name := fmt.Sprintf("m%d", m)
			tree.Switches = append(tree.Switches, Switch{Name: name, Children: below})
			top.Children = append(top.Children, name)
		}
	}
	if len(top.Children) > 0 && rapid.Bool().Draw(t, "top") {
		tree.Switches = append(tree.Switches, top)
	}
	tree, err := OfSwitches(tree.Switches)
	if err != nil {
		t.Fatal(err)
	}
	return tree.Index(names), len(names)
}

// TestBruteForce tries every set of nodes: the choice is the best by level, then number of leaves, then what is left over in them, and
// there is none only if there can be none.
func TestBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x, nodes := randomTree(t)
		if nodes > 12 {
			t.Skip("too many sets")
		}
		var free []int32
		for n := range int32(nodes) {
			if rapid.IntRange(0, 3).Draw(t, "free") > 0 {
				free = append(free, n)
			}
		}
		a := Ask{Nodes: rapid.IntRange(1, nodes).Draw(t, "n"), Leaves: rapid.IntRange(0, 3).Draw(t, "most leaves"), Segment: rapid.SampledFrom([]int{0, 0, 1, 2, 3}).Draw(t, "segment")}
		if a.Segment > 0 {
			a.Nodes = max(a.Nodes/a.Segment, 1) * a.Segment
		}
		has := make([]int, x.leaves)
		for _, n := range free {
			has[x.leafOf[n]]++
		}
		var best *Span
		for set := uint32(0); set < 1<<len(free); set++ {
			if bits.OnesCount32(set) != a.Nodes {
				continue
			}
			var on []int32
			count := make([]int, x.leaves)
			for i, n := range free {
				if set>>i&1 == 1 {
					on = append(on, n)
					count[x.leafOf[n]]++
				}
			}
			s, whole := x.Span(on), true
			for l, c := range count {
				if c > 0 {
					s.Left += (has[l] - c) / max(a.Segment, 1) * max(a.Segment, 1)
				}
				whole = whole && (a.Segment == 0 || c%a.Segment == 0)
			}
			if !whole || a.Leaves > 0 && s.Leaves > a.Leaves {
				continue
			}
			if best == nil || s.Worse(*best) < 0 || s.Worse(*best) == 0 && s.Left < best.Left {
				best = &s
			}
		}
		got, span, ok := x.Chooser().Choose(free, a, nil)
		if ok != (best != nil) {
			t.Fatalf("found %v, best %+v", got, best)
		}
		if !ok {
			return
		}
		for i, f := range got {
			if !slices.Contains(free, f) || slices.Contains(got[:i], f) {
				t.Fatalf("%v: %d is not free or there twice", got, f)
			}
		}
		if m := x.Span(got); len(got) != a.Nodes || m.Worse(span) != 0 || m.Apart != span.Apart {
			t.Fatalf("got %v, which is %+v and not %+v", got, m, span)
		}
		count := make([]int, x.leaves)
		for _, n := range got {
			count[x.leafOf[n]]++
		}
		left := 0
		for l, c := range count {
			if a.Segment > 0 && c%a.Segment != 0 {
				t.Fatalf("%v: %d nodes on leaf %d are no whole segments", got, c, l)
			}
			if c > 0 {
				left += (has[l] - c) / max(a.Segment, 1) * max(a.Segment, 1)
			}
		}
		if span.Worse(*best) != 0 || left != best.Left {
			t.Fatalf("got %v: %+v, %d left over; best is %+v", got, span, left, *best)
		}
	})
}

// Where no switch is above all nodes, topology/tree takes those below the highest switch that has enough.
func TestJoined(t *testing.T) {
	tree := parse(t, "SwitchName=l1 Nodes=n[0-1]\nSwitchName=l2 Nodes=n[2-3]\nSwitchName=l3 Nodes=n[4-7]\nSwitchName=top Switches=l[1-2]\n")
	x := tree.Index([]string{"n0", "n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8"})
	all := []int32{0, 1, 2, 3, 4, 5, 6, 7, 8}
	for _, c := range []struct {
		free []int32
		ask  Ask
		want []int32
	}{
		{all, Ask{Nodes: 2}, []int32{0, 1}},
		{all, Ask{Nodes: 4}, []int32{0, 1, 2, 3}},
		{all, Ask{Nodes: 4, Leaves: 1}, nil},
		{all[1:], Ask{Nodes: 4, Leaves: 1}, []int32{4, 5, 6, 7}},
		{all, Ask{Nodes: 5}, nil},
	} {
		c.ask.Joined = true
		got, _, _ := x.Chooser().Choose(c.free, c.ask, nil)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%+v of %v: (-want +got)\n%s", c.ask, c.free, diff)
		}
	}
	if !x.Scattered() || tree.Index([]string{"n0", "n5"}).Scattered() == false || threeLeaves().Scattered() == false {
		t.Error("no switch is above all")
	}
	if parse(t, text2411).Index([]string{"plc1", "plc2", "plc3"}).Scattered() || (Tree{}).Index([]string{"n1"}).Scattered() {
		t.Error("one switch is above all")
	}
}

// blocksOf are so many base blocks of two nodes, with aggregated ones of some sizes.
func blocksOf(blocks int, sizes ...int) *Index {
	var base []Switch
	var names []string
	for b := range blocks {
		base = append(base, Switch{Name: fmt.Sprintf("b%d", b), Nodes: []string{fmt.Sprintf("n%d", 2*b), fmt.Sprintf("n%d", 2*b+1)}})
		names = append(names, base[b].Nodes...)
	}
	return OfBlocks(base, append([]int{2}, sizes...)).Index(append(names, "apart"))
}

func TestChooseBlocks(t *testing.T) {
	four, eight := blocksOf(4, 4), blocksOf(4, 8)
	all := []int32{0, 1, 2, 3, 4, 5, 6, 7, 8}
	for _, c := range []struct {
		name string
		x    *Index
		free []int32
		ask  Ask
		want []int32
	}{
		{"the last of equal blocks", four, all, Ask{Nodes: 2}, []int32{6, 7}},
		{"two in a block", four, []int32{0, 2, 3}, Ask{Nodes: 2}, []int32{2, 3}},
		{"not in two blocks", four, []int32{0, 2, 4}, Ask{Nodes: 2}, nil},
		{"three in an aggregated block", four, []int32{0, 1, 5, 6, 7}, Ask{Nodes: 3}, []int32{5, 6, 7}},
		{"not in two", four, []int32{0, 1, 4, 6}, Ask{Nodes: 4}, nil},
		{"the fuller aggregated block", four, []int32{0, 1, 2, 3, 4, 6, 7}, Ask{Nodes: 3}, []int32{4, 6, 7}},
		{"more than any block has, in two of four", four, all, Ask{Nodes: 5}, []int32{2, 4, 5, 6, 7}},
		{"not in three of two", blocksOf(6, 4), []int32{0, 1, 2, 6, 10}, Ask{Nodes: 5}, nil},
		{"three in two of four base blocks", eight, []int32{0, 2, 4, 5}, Ask{Nodes: 3}, []int32{2, 4, 5}},
		{"not in three of four", eight, []int32{0, 2, 4, 6}, Ask{Nodes: 3}, nil},
		{"the number of leaves is not heeded", four, all, Ask{Nodes: 4, Leaves: 1}, []int32{4, 5, 6, 7}},
		{"nor that they follow each other", four, []int32{0, 1, 3}, Ask{Nodes: 3, Contiguous: true}, []int32{0, 1, 3}},
		{"segments of a block", four, []int32{0, 1, 2, 6, 7}, Ask{Nodes: 4, Segment: 2}, []int32{0, 1, 6, 7}},
		{"segments of an aggregated block", four, all, Ask{Nodes: 8, Segment: 4}, []int32{0, 1, 2, 3, 4, 5, 6, 7}},
		{"which is not whole", four, []int32{0, 1, 2, 4, 5, 6, 7}, Ask{Nodes: 8, Segment: 4}, nil},
		{"no multiple", four, all, Ask{Nodes: 6, Segment: 4}, nil},
		{"one segment that is larger", four, all, Ask{Nodes: 2, Segment: 4}, []int32{6, 7}},
		{"nodes of no block", four, []int32{8}, Ask{Nodes: 1}, nil},
	} {
		got, span, ok := c.x.Chooser().Choose(c.free, c.ask, nil)
		slices.Sort(got)
		if diff := cmp.Diff(c.want, got); diff != "" || ok != (got != nil) {
			t.Errorf("%s: %v (-want +got)\n%s", c.name, ok, diff)
		}
		if measured := c.x.Span(got); ok && (measured.Leaves != span.Leaves || measured.Level != span.Level || measured.Apart != span.Apart) {
			t.Errorf("%s: said %+v, measured %+v", c.name, span, measured)
		}
	}
}

// TestBruteForceBlocks tries every set of nodes: there is a choice only where one of them is as topology/block wants it, and it is one of these.
func TestBruteForceBlocks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SampledFrom([][]int{nil, {4}, {8}, {4, 8}}).Draw(t, "sizes")
		x := blocksOf(rapid.IntRange(1, 6).Draw(t, "blocks"), sizes...)
		var free []int32
		for n := range int32(len(x.leafOf)) {
			if rapid.IntRange(0, 3).Draw(t, "free") > 0 {
				free = append(free, n)
			}
		}
		n := rapid.IntRange(1, len(x.leafOf)).Draw(t, "n")
		sizes = append([]int{2}, sizes...)
		// right says whether nodes are in one block of the least size that will do, and in no more of the next smaller ones than it takes.
		right := func(on []int32) bool {
			in := func(size int) int {
				seen := map[int32]bool{}
				for _, m := range on {
					seen[m/int32(size)] = true
				}
				return len(seen)
			}
			if slices.Contains(on, int32(len(x.leafOf)-1)) {
				return false
			}
			lower := 0
			for _, s := range sizes {
				if s >= n {
					return in(s) == 1 && (lower == 0 || in(lower) <= (n+lower-1)/lower)
				}
				lower = s
			}
			return in(lower) <= (n+lower-1)/lower
		}
		some := false
		for set := uint32(0); set < 1<<len(free) && !some; set++ {
			if bits.OnesCount32(set) != n {
				continue
			}
			var on []int32
			for i, m := range free {
				if set>>i&1 == 1 {
					on = append(on, m)
				}
			}
			some = right(on)
		}
		got, _, ok := x.Chooser().Choose(free, Ask{Nodes: n}, nil)
		if ok != some {
			t.Fatalf("%d of %v in %v: found %v; is there one: %v", n, free, sizes, got, some)
		}
		if ok && (len(got) != n || !right(got)) {
			t.Fatalf("%d of %v in %v: found %v", n, free, sizes, got)
		}
	})
}

func TestTraffic(t *testing.T) {
	near, two, apart := Span{Nodes: 4, Leaves: 1}, Span{Nodes: 4, Leaves: 2, Level: 1}, Span{Nodes: 4, Leaves: 2, Level: 2, Apart: true}
	for i, word := range Traffics {
		traffic, ok := ParseTraffic(word)
		if !ok || traffic != Traffic(i) || traffic.String() != word {
			t.Errorf("%s is %v", word, traffic)
		}
		if s := traffic.Slower(near, 4); s != 1 {
			t.Errorf("%s under one leaf: %v", word, s)
		}
		if s := traffic.Slower(Span{Nodes: 1, Level: 3}, 1); s != 1 {
			t.Errorf("%s on one node: %v", word, s)
		}
		a, b, c := traffic.Slower(two, 4), traffic.Slower(apart, 4), traffic.Slower(two, 2)
		if traffic == NoTraffic && (a != 1 || b != 1 || c != 1) || traffic != NoTraffic && (a <= 1 || b <= a || c <= a) {
			t.Errorf("%s: two leaves %v, apart %v, split %v", word, a, b, c)
		}
	}
	if _, ok := ParseTraffic("gossip"); ok {
		t.Error("gossip passed")
	}
	if b := near.Bisection(); b != 2 {
		t.Errorf("four nodes of a leaf: %v links through the middle", b)
	}
	if b := two.Bisection(); b != 1 {
		t.Errorf("four nodes on two leaves: %v links through the middle", b)
	}
}

// BenchmarkPick is what the choice for one gang costs where 100 leaves have ten nodes each, some of them taken.
func BenchmarkPick(b *testing.B) {
	var tree Tree
	var names, children []string
	for l := range 100 {
		s := Switch{Name: fmt.Sprintf("l%d", l)}
		for n := range 10 {
			s.Nodes = append(s.Nodes, fmt.Sprintf("n%d", 10*l+n))
		}
		names, children = append(names, s.Nodes...), append(children, s.Name)
		tree.Switches = append(tree.Switches, s)
	}
	tree, _ = OfSwitches(append(tree.Switches, Switch{Name: "top", Children: children}))
	x := tree.Index(names)
	count := make([]int, x.Leaves())
	for l := range 100 {
		count[l] = l * 7 % 11
	}
	for _, n := range []int{10, 25, 200} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			c := x.Chooser()
			b.ReportAllocs()
			for b.Loop() {
				if _, _, ok := c.Pick(count, Ask{Nodes: n}); !ok {
					b.Fatal("does not fit")
				}
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add(text2411)
	f.Add(text2605)
	f.Add(blocks2605)
	f.Add("SwitchName=a Switches=a Nodes=b[1-3]\nSwitchName=b[1-2] Switches=a,b")
	f.Fuzz(func(t *testing.T, text string) {
		tree, err := Parse(text)
		if err != nil {
			return
		}
		x := tree.Index([]string{"b1", "b2", "plc1"})
		if got, _, _ := x.Chooser().Choose([]int32{0, 1, 2}, Ask{Nodes: 2}, nil); len(got) != 2 && !x.Blocks() {
			t.Fatalf("two of three free nodes: %v", got)
		}
	})
}
