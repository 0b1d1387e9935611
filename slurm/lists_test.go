package slurm

import (
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"fsub/federation"
	"fsub/slurm/wire"
)

// TestListRemembers: whatever a site answers, one after another, is read as it would be by a driver that has never asked before; and what is written as it was
// the last time is not read again.
func TestListRemembers(t *testing.T) {
	f := newFake(t, "v0.0.42")
	d := f.driver(t, nil)
	rapid.Check(t, func(rt *rapid.T) {
		reads := 0
		var fresh list[wire.Node, string]
		fresh.op, fresh.path, fresh.key = "nodes", wire.PathNodes, "nodes"
		var before []string
		for range rapid.IntRange(1, 6).Draw(rt, "looks") {
			var nodes wire.List[wire.Node]
			var want []string
			for i := range rapid.IntRange(0, 5).Draw(rt, "nodes") {
				n := wire.Node{Name: fmt.Sprint("n", i), CPUs: rapid.Int64Range(0, 2).Draw(rt, "processors"), Comment: `]}"\`}
				nodes, want = append(nodes, n), append(want, fmt.Sprint(n.Name, n.CPUs))
			}
			if rapid.IntRange(0, 4).Draw(rt, "fails") == 0 {
				f.on("GET /slurm/nodes/", 500, wire.NodesResponse{Reply: failed(wire.ErrAccess), Nodes: nodes})
			} else {
				f.on("GET /slurm/nodes/", 200, wire.NodesResponse{Nodes: nodes, LastUpdate: wire.Num(int64(reads))})
			}
			var a wire.NodesResponse
			reads = 0
			got, err := fresh.get(t.Context(), d.site, asked[wire.Node, string]{into: &a, found: func() []wire.Node { return a.Nodes }, read: func(n *wire.Node) (string, error) {
				reads++
				return fmt.Sprint(n.Name, n.CPUs), nil
			}})
			if err != nil {
				if !errors.Is(err, federation.ErrUnavailable) {
					rt.Fatal(err)
				}
				continue
			}
			changed := 0
			for i := range want {
				if i >= len(before) || before[i] != want[i] {
					changed++
				}
			}
			if len(got)+len(want) > 0 && !reflect.DeepEqual(got, want) || reads != changed {
				rt.Fatalf("%d read of %d changed: %v, want %v", reads, changed, got, want)
			}
			before = want
		}
	})
}

// TestQuietSiteKeepsItsNodes: a look that shows nothing new gives the very same nodes, one that is broken is an error, and the one after that is whole again.
func TestQuietSiteKeepsItsNodes(t *testing.T) {
	f := newFake(t, "v0.0.42")
	d := f.driver(t, nil)
	get := func() ([]federation.Node, error) {
		var a wire.NodesResponse
		return d.nodes.nodesNow(t.Context(), &a)
	}
	must := func() []federation.Node {
		t.Helper()
		nodes, err := get()
		if err != nil || len(nodes) != 2 || nodes[0].Name != "a" {
			t.Fatal(nodes, err)
		}
		return nodes
	}
	two := wire.List[wire.Node]{{Name: "b", CPUs: 4}, {Name: "a", CPUs: 2}}
	f.on("GET /slurm/nodes/", 200, wire.NodesResponse{Nodes: two})
	first := must()
	f.on("GET /slurm/nodes/", 200, wire.NodesResponse{Nodes: two, LastUpdate: wire.Num(7)})
	if second := must(); &first[0] != &second[0] {
		t.Error("nodes that have not changed are others")
	}
	f.do("GET /slurm/nodes/", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"nodes":[{"name":"a","cpus":"many"}],"meta":{"slurm":{"release":"24.11.5"}}}`))
	})
	if nodes, err := get(); err == nil {
		t.Error("broken nodes:", nodes)
	}
	two[0].CPUs = 8
	f.on("GET /slurm/nodes/", 200, wire.NodesResponse{Nodes: two})
	if third := must(); third[1].CPUs != 8 || first[1].CPUs != 4 {
		t.Errorf("%+v, before: %+v", third, first)
	}
}
