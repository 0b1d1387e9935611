package layout

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestPlaceNever: whatever is asked of whatever nodes, a step that is laid out has all its tasks once, and takes no more than there is.
func TestPlaceNever(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes := make([]Free, rapid.IntRange(1, 6).Draw(t, "nodes"))
		for i := range nodes {
			n := &nodes[i]
			n.Name = fmt.Sprint("n", i)
			n.CPUs = rapid.IntRange(1, 8).Draw(t, "cpus")
			n.IdleCPUs = rapid.IntRange(0, n.CPUs).Draw(t, "idle")
			n.GPUs = rapid.IntRange(0, 4).Draw(t, "gpus")
			n.IdleGPUs = rapid.IntRange(0, n.GPUs).Draw(t, "idle gpus")
			n.Mem = rapid.Int64Range(0, 100).Draw(t, "mem")
			n.IdleMem = rapid.Int64Range(0, n.Mem).Draw(t, "idle mem")
			n.Steps = rapid.IntRange(0, 1).Draw(t, "steps")
		}
		s := Step{
			MinNodes: rapid.IntRange(0, 7).Draw(t, "N"), Tasks: rapid.IntRange(0, 30).Draw(t, "n"), CPUsPerTask: rapid.IntRange(0, 3).Draw(t, "c"),
			Distribution: rapid.SampledFrom([]string{"", "block", "cyclic", "plane", "block:cyclic"}).Draw(t, "m"), Plane: rapid.IntRange(0, 3).Draw(t, "plane"),
			Exact: rapid.Bool().Draw(t, "exact"), Overlap: rapid.Bool().Draw(t, "overlap"), Overcommit: rapid.Bool().Draw(t, "O"),
			GPUs: rapid.IntRange(0, 5).Draw(t, "G"), MemPerNode: rapid.Int64Range(-1, 50).Draw(t, "mem"), TasksPerNode: rapid.IntRange(0, 3).Draw(t, "per node"),
		}
		if rapid.Bool().Draw(t, "more of GPUs") {
			s.GPUsPerNode, s.GPUsPerTask = rapid.IntRange(0, 4).Draw(t, "gpus per node"), rapid.IntRange(0, 2).Draw(t, "gpus per task")
			s.CPUsPerGPU, s.NoGPUs = rapid.IntRange(0, 2).Draw(t, "cpus per gpu"), rapid.Bool().Draw(t, "no gpus")
		}
		if s.MemPerNode == 0 {
			s.MemPerCPU = rapid.Int64Range(0, 30).Draw(t, "mem per cpu")
		}
		parts, err := Place(s, nodes)
		if err != nil {
			if _, refused := errors.AsType[*Refused](err); !refused && !errors.Is(err, ErrBusy) {
				t.Fatalf("error %v", err)
			}
			return
		}
		var ranks []int
		gpus := 0
		for _, p := range parts {
			n := nodes[p.Node]
			if s.Overlap {
				n.IdleCPUs, n.IdleMem, n.IdleGPUs = n.CPUs, n.Mem, n.GPUs
			}
			if p.CPUs > n.IdleCPUs || n.Mem > 0 && p.Mem > n.IdleMem || p.GPUs > n.IdleGPUs {
				t.Fatalf("%+v of %+v", p, n)
			}
			if !slices.IsSorted(p.Ranks) {
				t.Fatalf("ranks %v", p.Ranks)
			}
			ranks = append(ranks, p.Ranks...)
			gpus += p.GPUs
		}
		slices.Sort(ranks)
		for i, r := range ranks {
			if i != r {
				t.Fatalf("ranks %v", ranks)
			}
		}
		if s.Tasks > 0 && len(ranks) != s.Tasks || sharesGPUs(s) && !s.NoGPUs && s.GPUsPerNode == 0 && gpus != s.GPUs || s.NoGPUs && gpus > 0 || len(parts) < s.MinNodes {
			t.Fatalf("%+v for %+v", parts, s)
		}
	})
}
