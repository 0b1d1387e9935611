package layout

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestPlaceAny: a step that gets nodes gets each of them once and as many as it must have, each of its tasks has one place, and it has no more than there is.
func TestPlaceAny(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := func(name string, most int) int { return rapid.IntRange(0, most).Draw(t, name) }
		flag := func(name string) bool { return rapid.Bool().Draw(t, name) }
		nodes := make([]Free, 1+number("nodes", 3))
		for i := range nodes {
			n := &nodes[i]
			*n = Free{Name: fmt.Sprint("n", i), CPUs: 1 + number("cpus", 7), Mem: int64(number("mem", 3) * 1000), GPUs: number("gpus", 4)}
			n.IdleCPUs, n.IdleMem, n.IdleGPUs = number("idle cpus", n.CPUs), int64(number("idle mem", int(n.Mem))), number("idle gpus", n.GPUs)
			n.Steps = min(n.CPUs-n.IdleCPUs, 1)
		}
		s := Step{MinNodes: number("N", 4), Tasks: number("n", 12), CPUsPerTask: number("c", 3), TasksPerNode: number("per node", 4), Start: number("start", len(nodes)-1),
			Distribution: rapid.SampledFrom([]string{"", "block", "cyclic", "plane"}).Draw(t, "m"), Plane: 1 + number("plane", 3), Pack: flag("pack"), Exact: flag("exact"),
			Overlap: flag("overlap"), Overcommit: flag("O"), NoGPUs: flag("no gpus"), GPUs: number("gpus", 5), GPUsPerTask: number("per task", 2), MemPerCPU: int64(number("by cpu", 900))}
		s.MaxNodes = s.MinNodes + number("more", 2)
		parts, err := Place(s, nodes)
		if err != nil {
			if _, refused := errors.AsType[*Refused](err); !refused && !errors.Is(err, ErrBusy) {
				t.Fatal(err)
			}
			return
		}
		seen, ranks := map[int]bool{}, []int(nil)
		for _, p := range parts {
			n := nodes[p.Node]
			if seen[p.Node] {
				t.Fatalf("node %d twice: %+v", p.Node, parts)
			}
			seen[p.Node] = true
			ranks = append(ranks, p.Ranks...)
			cpus, gpus := n.IdleCPUs, n.IdleGPUs
			if s.Overlap {
				cpus, gpus = n.CPUs, n.GPUs
			}
			if p.CPUs > cpus || p.GPUs > gpus || n.Mem > 0 && p.Mem > n.Mem {
				t.Fatalf("%+v of %+v", p, n)
			}
		}
		slices.Sort(ranks)
		for i, r := range ranks {
			if i != r {
				t.Fatalf("ranks %v", ranks)
			}
		}
		if s.Tasks > 0 && len(ranks) != s.Tasks || len(parts) < s.MinNodes {
			t.Fatalf("%d tasks on %d nodes", len(ranks), len(parts))
		}
	})
}
