package submission

import (
	"strconv"
	"strings"
	"testing"

	"fsub/sbatch"
)

// TestOnSlices: chips become hosts of slices, once and for all; what does not exist is refused with the nearest that does.
func TestOnSlices(t *testing.T) {
	for _, c := range []struct {
		gres, topology, constraint string
		nodes                      int
		want                       string // gres, nodes, constraint; or words of the refusal
	}{
		{"tpu:v5p:128", "4x4x8", "", 0, "tpu:v5p:4 32 tpu-v5p-4x4x8"},
		{"tpu:v5p:128", "", "", 0, "tpu:v5p:4 32 tpu-v5p-4x4x8"},
		{"tpu:v5p", "4x4x8", "", 0, "tpu:v5p:4 32 tpu-v5p-4x4x8"},
		{"tpu:v5p:4", "4x4x8", "", 32, "tpu:v5p:4 32 tpu-v5p-4x4x8"},
		{"tpu:v5e:32", "4x4", "", 0, "tpu:v5e:4 8 tpu-v5e-4x4"}, // two slices
		{"tpu:v5litepod:4", "", "", 0, "tpu:v5e:4 1 tpu-v5e-2x2"},
		{"tpu:v6e:8", "", "", 0, "tpu:v6e:8 1 tpu-v6e-2x4"},
		{"tpu:v5p:256", "4x4x16", "spot|flex", 0, "tpu:v5p:4 64 (spot|flex)&tpu-v5p-4x4x16"},
		{"tpu:v5e:4,fpga:2", "", "spot", 0, "tpu:v5e:4,fpga:2 1 spot&tpu-v5e-2x2"},
		{"tpu:own:3", "", "", 2, "tpu:own:3 2 "},
		{"gpu:4", "", "", 2, "gpu:4 2 "},
		{"tpu:v5p:128", "4x4x6", "", 0, "nearest: 4x4x4 (64 chips), 4x4x8 (128 chips)"},
		{"tpu:v5p:100", "", "", 0, "nearest: 4x4x4 (64 chips), 4x4x8 (128 chips)"},
		{"tpu:v5e:24", "4x4", "", 0, "not a whole number of v5e slices of 4x4"},
		{"tpu:v5e:4", "", "", 2, "ask for --gres=tpu:v5e:8 without -N"},
		{"tpu:8", "4x4", "", 0, "wants the generation"},
		{"gpu:8", "4x4", "", 0, "for jobs that ask for TPUs"},
	} {
		sp := &sbatch.Spec{GRES: c.gres, MinNodes: c.nodes, MaxNodes: c.nodes, Constraint: c.constraint}
		if c.topology != "" {
			sp.Fed = &sbatch.Fed{TPUTopology: c.topology}
		}
		for again := range 2 {
			err := onSlices(sp)
			got := sp.GRES + " " + strconv.Itoa(sp.MinNodes) + " " + sp.Constraint
			if err != nil {
				got = err.Error()
			}
			if got != c.want && (err == nil || !strings.Contains(got, c.want)) {
				t.Errorf("%s %s -N %d, time %d: %s, want %s", c.gres, c.topology, c.nodes, again+1, got, c.want)
			}
			if sp.MinNodes != sp.MaxNodes {
				t.Errorf("%s: %d to %d nodes", c.gres, sp.MinNodes, sp.MaxNodes)
			}
		}
	}
}
