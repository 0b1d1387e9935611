package storetest

import (
	"fmt"
	"time"

	"fsub/federation"
	"fsub/federation/journal"
)

// testNodes: of what was said of a node the last word is kept, with every field.
func testNodes(e *env) {
	s := e.open()
	first, second, other := filled[federation.NodeRecord](1), filled[federation.NodeRecord](2), filled[federation.NodeRecord](3)
	first.Node, second.Node, other.Node = federation.NodeID{Site: "beta", Name: "n1"}, federation.NodeID{Site: "beta", Name: "n1"}, federation.NodeID{Site: "alpha", Name: "n1"}
	e.must(s.Commit(ctx, &journal.Batch{Nodes: []federation.NodeRecord{first, other}}))
	e.must(s.Commit(ctx, &journal.Batch{Nodes: []federation.NodeRecord{first, second}}))
	for range 2 {
		got, err := s.Nodes(ctx)
		e.must(err)
		e.same("nodes", got, []federation.NodeRecord{other, second})
		e.must(s.Close())
		s = e.open()
	}
	resumed := federation.NodeRecord{Node: second.Node, Wish: federation.WishResume, Owner: "olga", Since: second.Since}
	e.must(s.Commit(ctx, &journal.Batch{Nodes: []federation.NodeRecord{resumed}}))
	got, err := s.Nodes(ctx)
	e.must(err)
	e.same("after a resume", got, []federation.NodeRecord{other, resumed})
}

// testNodeEvents: a node's history is its own, in the order in which it was written, the newest lines of it; what is old can be purged.
func testNodeEvents(e *env) {
	s := e.open()
	var all []federation.NodeEvent
	for i := range 6 {
		v := filled[federation.NodeEvent](i)
		v.Node = federation.NodeID{Site: "alpha", Name: fmt.Sprint("n", i%2)}
		v.At = time.Unix(int64(1000-i), 0).UTC()
		all = append(all, v)
	}
	e.must(s.Commit(ctx, &journal.Batch{NodeEvents: all[:4]}))
	e.must(s.Commit(ctx, &journal.Batch{NodeEvents: all[4:]}))
	check := func(limit int, want ...federation.NodeEvent) {
		e.Helper()
		got, err := s.NodeEvents(ctx, federation.NodeID{Site: "alpha", Name: "n0"}, limit)
		e.must(err)
		e.same(fmt.Sprintf("history of at most %d lines", limit), got, want)
	}
	check(10, all[0], all[2], all[4])
	e.must(s.Close())
	s = e.open()
	check(2, all[2], all[4])
	shown := all[2]
	shown.Wanted = false
	e.must(s.Commit(ctx, &journal.Batch{NodeEvents: []federation.NodeEvent{shown, all[5]}}))
	last, err := s.LastNodeEvents(ctx)
	e.must(err)
	e.same("last states", last, []federation.NodeEvent{shown})
	if got, err := s.NodeEvents(ctx, federation.NodeID{Site: "beta", Name: "n0"}, 9); err != nil || len(got) != 0 {
		e.Errorf("another site's node of that name has %v, %v", got, err)
	}
	if n, err := s.PurgeHistory(ctx, all[1].At); n == 0 || err != nil {
		e.Errorf("%d lines of history are gone, %v", n, err)
	}
	check(10, all[0])

}
