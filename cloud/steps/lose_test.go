package steps

import (
	"context"
	"strings"
	"testing"

	"fsub/cloud/layout"
	"fsub/cloud/steps/wire"
)

// TestLostNodesGetNoSteps: a node that the job goes on without gets no further step; a step that needs more nodes than are left is refused.
func TestLostNodesGetNoSteps(t *testing.T) {
	b := newTable(launch("a", 1, 4, 4, 4))
	nodes := b.launch.Groups[0].Nodes
	create := func(n int) (*step, error) {
		s := &step{launch: b.launch, req: wire.Request{Parts: []wire.Part{{Ask: layout.Step{MinNodes: n, MaxNodes: n, Tasks: n, NoGPUs: true, Overlap: true}}}}}
		err := b.create(context.Background(), s)
		return s, err
	}
	if _, err := create(3); err != nil {
		t.Fatal(err)
	}
	b.lose([]string{nodes[1].Name})
	s, err := create(2)
	if err != nil || len(s.shares) != 2 || s.shares[0].node != 0 || s.shares[1].node != 2 {
		t.Errorf("%v: %+v", err, s.shares)
	}
	if _, err := create(3); err == nil || !strings.Contains(err.Error(), "Only allocated 2 nodes asked for 3") {
		t.Errorf("three of two nodes: %v", err)
	}
}
