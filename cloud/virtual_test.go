package cloud

import (
	"testing"
	"time"

	"fsub/cloud/provider"
	"fsub/federation"
)

// TestVirtualNodes: each offering shows as many nodes as it may have in all, whatever the others have; how many of them may still be started the partition
// says.
func TestVirtualNodes(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	b := &base{cfg: Config{Site: "sky", Now: func() time.Time { return now }}}
	ps := new(pools)
	d := newFleet(b, ps, newCooldowns(b, ps), nil, nil, nil)
	p := newPool(d, PoolConfig{Name: "main", Max: 4})
	ps.all = []*pool{p}
	p.offer([]provider.Offering{{ID: "a/z/spot", Type: "a", CPUs: 2}, {ID: "b/z/spot", Type: "b", CPUs: 2, Max: 2, Price: 1}})
	count := func() (nodes map[string]int, starts int) {
		o := &federation.Observation{}
		d.observePool(o, p)
		nodes = map[string]int{}
		for _, n := range o.Nodes {
			nodes[n.Rented.Offering]++
		}
		if len(o.Partitions[0].Nodes) != len(o.Nodes) {
			t.Errorf("%d nodes, %d in the partition", len(o.Nodes), len(o.Partitions[0].Nodes))
		}
		return nodes, *o.Partitions[0].MaxStarts
	}
	is := func(a, b, starts int) {
		t.Helper()
		if nodes, s := count(); nodes["a/z/spot"] != a || nodes["b/z/spot"] != b || s != starts {
			t.Errorf("%v, %d may be started; want %d, %d and %d", nodes, s, a, b, starts)
		}
	}
	is(4, 2, 4)
	for i, ng := range []*nodeGroup{p.groups[1], p.groups[1], p.groups[0], p.groups[0]} {
		name := ng.newNames(1)[0]
		m := &machine{machineRecord: machineRecord{Name: name, State: machineUp}, pool: p, group: ng, gang: &gang{}}
		ng.machines = append(ng.machines, m)
		d.names[name] = m
		p.machines++
		is(4, 2, 4-i) // idle, it may make room
		switch i {
		case 0, 1:
			m.runs = map[string]*run{"1": nil}
		case 2:
			m.State = machineEnding
		case 3:
			m.drain = "its disk is full"
		}
		is(4, 2, 3-i)
	}
	p.offer([]provider.Offering{{ID: "a/z/spot", Type: "a", CPUs: 2}})
	is(4, 2, 0) // two machines of what is offered no more
}
