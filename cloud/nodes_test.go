package cloud_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"fsub/cloud"
	"fsub/federation"
	"fsub/federation/driver"
)

// TestDrainedMachine: its job goes on, it gets no other and is ended when it is idle, by a later daemon too; nobody else has its name and its place
// in the pool until it is resumed.
func TestDrainedMachine(t *testing.T) {
	w := newWorld(t)
	w.cloud.Boot, w.cloud.Lag = 100*time.Millisecond, 0
	w.cfg.Pools[0].Max = 2
	w.cfg.Timing = cloud.Timing{Keep: 2 * time.Second, Tick: 100 * time.Millisecond, ListSoon: 500 * time.Millisecond, Lease: 10 * time.Minute}
	w.ready()
	const text = "fed:olga: fan"
	set := func(wish federation.NodeWish, name string) {
		t.Helper()
		left, err := w.driver.SetNodes(context.Background(), driver.NodeOrder{Wish: wish, Nodes: []string{name}, Text: text, Mark: "fed"})
		if err != nil || len(left) > 0 {
			t.Fatalf("%s: %v, %v", wish, left, err)
		}
	}
	node := func(name string) (n federation.Node, all int) {
		t.Helper()
		o, err := w.driver.Observe(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(o.Nodes, func(n federation.Node) bool { return n.Name == name })
		if i < 0 {
			t.Fatalf("no node %s: %+v", name, o.Nodes)
		}
		return o.Nodes[i], len(o.Nodes)
	}
	first := w.submit("sleep 1000", nil)
	name := w.wants(first, federation.Running, time.Minute).Nodes
	set(federation.WishDrain, name)
	if n, all := node(name); n.Usable() || n.Reason != text || !slices.Contains(n.State, "ALLOCATED") || all != 2 {
		t.Errorf("%+v, %d nodes", n, all)
	}
	second := w.submit("sleep 1000", nil)
	if other := w.wants(second, federation.Running, time.Minute).Nodes; other == name {
		t.Errorf("a new job is on %s", other)
	}
	w.stop()
	w.ready()
	if j := w.lookup(first); j.State != federation.Running {
		t.Errorf("its job is %s", j.State)
	}
	if err := w.driver.Cancel(context.Background(), federation.JobRef{ID: first}, nil); err != nil {
		t.Fatal(err)
	}
	w.until("the machine is ended", time.Minute, func() bool {
		n, _ := node(name)
		return slices.Contains(n.State, "POWERED_DOWN") && slices.Contains(n.State, "DRAIN") && n.Reason == text
	})
	third := w.submit("sleep 1000", nil)
	time.Sleep(time.Second)
	if j := w.lookup(third); j.State != federation.Pending {
		t.Errorf("a job is %s on %s, though the pool has no room", j.State, j.Nodes)
	}
	set(federation.WishResume, name)
	if on := w.wants(third, federation.Running, time.Minute).Nodes; on != name {
		t.Errorf("the job runs on %s", on)
	}
	if n, all := node(name); all != 2 || slices.Contains(n.State, "DRAIN") {
		t.Errorf("%+v, %d nodes", n, all)
	}
}
