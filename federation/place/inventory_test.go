package place

import (
	"slices"
	"testing"

	"fsub/federation"
)

// TestInventory: what is free is what there is less what is used, never less than nothing; and a GRES that a job holds without its type is the one that its node has.
func TestInventory(t *testing.T) {
	gpus := func(kind string, total, used int) federation.GRES {
		return federation.GRES{Name: "gpu", Type: kind, Total: total, Used: used}
	}
	v := newInventory([]federation.Node{
		{CPUs: 8, CPUsUsed: 3, Mem: 100, MemUsed: 200, GRES: []federation.GRES{gpus("a", 4, 1)}},
		{CPUs: 2, GRES: []federation.GRES{gpus("b", 2, 2)}},
	})
	if !slices.Equal(v.cpu, []int32{5, 2}) || v.mem[0] != 0 || !slices.Equal(v.gres, []int32{3, 0, 0, 0}) || !slices.Equal(v.totalGRES, []int32{4, 0, 0, 2}) {
		t.Errorf("%+v", v)
	}
	if held := v.held(1, []federation.GRES{{Name: "gpu", Used: 1}}); len(held) != 1 || held[0] != (slotCount{1, 1}) {
		t.Errorf("node 1 is said to hold %v", held)
	}
	f := &fit{cpu: 5, gres: []want{{slots: []int32{0}, count: 3}}}
	free := freeOn{v.cpu[0], v.mem[0], v.gres[:2]}
	if !v.fitsIn(0, &free, f) {
		t.Error("what is free does not fit")
	}
	if f.whole = true; v.fitsIn(0, &free, f) {
		t.Error("a whole node is free though jobs run there")
	}
}
