package jobenv

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"fsub/cloud/agentapi"
)

// TestTPU: each host of a job of two slices knows which it is of which, and where they meet.
func TestTPU(t *testing.T) {
	l := &agentapi.Launch{Groups: []agentapi.Group{{}}}
	for i := range 8 {
		l.Groups[0].Nodes = append(l.Groups[0].Nodes, agentapi.Node{Name: fmt.Sprint("t", i+1), TPU: &agentapi.TPU{Type: "v5litepod-16", Topology: "4x4", Slice: i / 4, Worker: 3 - i%4}})
	}
	l.Node = 5
	want := []string{"TPU_WORKER_ID=2", "TPU_WORKER_HOSTNAMES=t8,t7,t6,t5", "TPU_ACCELERATOR_TYPE=v5litepod-16", "TPU_TOPOLOGY=4x4",
		"MEGASCALE_COORDINATOR_ADDRESS=t4", "MEGASCALE_PORT=8080", "MEGASCALE_NUM_SLICES=2", "MEGASCALE_SLICE_ID=1"}
	if got := TPU(l); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	l.Groups[0].Nodes = l.Groups[0].Nodes[:4]
	l.Node = 0
	if got := strings.Join(Batch(l, Own{}), " "); !strings.Contains(got, "TPU_WORKER_HOSTNAMES=t4,t3,t2,t1") || strings.Contains(got, "MEGASCALE") {
		t.Errorf("one slice: %s", got)
	}
	l.Groups[0].Nodes[0].TPU = nil
	if got := TPU(l); got != nil {
		t.Errorf("no TPU: %q", got)
	}
}
