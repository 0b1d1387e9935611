package layout

import (
	"errors"
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// TestRefusedAnyStart: where a step begins to look for nodes decides which it has, and never whether it is refused for good; it is not refused for steps that run either,
// which end.
func TestRefusedAnyStart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := func(name string, most int) int { return rapid.IntRange(0, most).Draw(t, name) }
		flag := func(name string) bool { return rapid.Bool().Draw(t, name) }
		nodes := make([]Free, 1+number("nodes", 4))
		whole := make([]Free, len(nodes))
		alike := flag("alike")
		for i := range nodes {
			n := &nodes[i]
			*n = Free{Name: fmt.Sprint("n", i), CPUs: 1 + number("cpus", 7), Mem: int64(number("mem", 3) * 1000), GPUs: number("gpus", 4)}
			if alike && i > 0 {
				n.CPUs, n.Mem, n.GPUs = whole[0].CPUs, whole[0].Mem, whole[0].GPUs
			}
			whole[i] = *n
			whole[i].IdleCPUs, whole[i].IdleMem, whole[i].IdleGPUs = n.CPUs, n.Mem, n.GPUs
			n.IdleCPUs, n.IdleMem, n.IdleGPUs = number("idle cpus", n.CPUs), int64(number("idle mem", int(n.Mem))), number("idle gpus", n.GPUs)
			if n.Steps = number("steps", 1); n.Steps == 0 {
				*n = whole[i]
			}
		}
		s := Step{MinNodes: number("N", 4), Tasks: number("n", 12), CPUsPerTask: number("c", 3), TasksPerNode: number("per node", 4), Relative: number("relative", 1),
			Distribution: rapid.SampledFrom([]string{"", "block", "cyclic", "plane"}).Draw(t, "m"), Plane: 1 + number("plane", 3), Pack: flag("pack"), Exact: flag("exact"),
			Overlap: flag("overlap"), Overcommit: flag("O"), GPUs: number("all gpus", 5), GPUsPerNode: number("gpus per node", 2), GPUsPerTask: number("per task", 2),
			MemPerCPU: int64(number("by cpu", 900))}
		s.MaxNodes = s.MinNodes + number("more", 2)
		if flag("one of the nodes") {
			s.Nodes = []string{"n0"}
		}
		if flag("not one of them") {
			s.Exclude = []string{"n1"}
		}
		refused := func(start int, nodes []Free) string {
			s.Start = start
			_, err := Place(s, nodes)
			if r, ok := errors.AsType[*Refused](err); ok {
				return r.Text
			}
			return ""
		}
		want, beside := refused(0, whole), refused(0, nodes)
		if beside != "" && want == "" {
			t.Fatalf("beside others: %q", beside)
		}
		for start := range nodes {
			if got := refused(start, whole); got != want {
				t.Fatalf("from node %d on: %q, else %q", start, got, want)
			}
			if got := refused(start, nodes); got != beside {
				t.Fatalf("beside others, from node %d on: %q, else %q", start, got, beside)
			}
		}
	})
}

// TestUnevenGPUs: a step whose turn it is to start at a node with too few GPUs has them on another, or waits for them.
func TestUnevenGPUs(t *testing.T) {
	idle := []Free{{Name: "n0", CPUs: 4, IdleCPUs: 4, GPUs: 3, IdleGPUs: 3}, {Name: "n1", CPUs: 4, IdleCPUs: 4, GPUs: 1, IdleGPUs: 1}}
	busy := []Free{{Name: "n0", CPUs: 4, IdleCPUs: 2, GPUs: 3, IdleGPUs: 1, Steps: 1}, idle[1]}
	for name, s := range map[string]Step{
		"--gpus=2":              {MinNodes: 1, MaxNodes: 1, Tasks: 1, Exact: true, GPUs: 2},
		"-n3 --gpus-per-task=1": {MinNodes: 1, MaxNodes: 1, Tasks: 3, Exact: true, GPUsPerTask: 1},
		"--gpus-per-node=2":     {MinNodes: 1, MaxNodes: 1, Tasks: 1, Exact: true, GPUsPerNode: 2},
	} {
		for s.Start = range idle {
			if parts, err := Place(s, idle); err != nil || len(parts) != 1 || parts[0].Node != 0 {
				t.Errorf("%s from node %d on: %+v, %v", name, s.Start, parts, err)
			}
			if parts, err := Place(s, busy); !errors.Is(err, ErrBusy) {
				t.Errorf("%s from node %d on, beside another step: %+v, %v", name, s.Start, parts, err)
			}
		}
	}
}
