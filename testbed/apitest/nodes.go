package apitest

import (
	"cmp"
	"context"
	"slices"

	"fsub/federation"
	"fsub/federation/journal"
)

// nodes is what a Store keeps of nodes.
type nodes struct {
	records []federation.NodeRecord
	events  []federation.NodeEvent
}

func (n *nodes) commit(b *journal.Batch, note func(journal.Change)) {
	for _, r := range b.Nodes {
		n.records = slices.DeleteFunc(n.records, func(old federation.NodeRecord) bool { return old.Node == r.Node })
		n.records = append(n.records, r)
		note(journal.Change{Kind: journal.ChangeNode, Site: r.Node.Site, State: string(r.Wish)})
	}
	for _, e := range b.NodeEvents {
		n.events = append(n.events, e)
		note(journal.Change{Kind: journal.ChangeNodeEvent, Node: &e})
	}
}

// Nodes implements federation.NodeStore.
func (s *Store) Nodes(context.Context) ([]federation.NodeRecord, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := slices.Clone(s.nodes.records)
	slices.SortFunc(all, func(a, b federation.NodeRecord) int {
		return cmp.Or(cmp.Compare(a.Node.Site, b.Node.Site), cmp.Compare(a.Node.Name, b.Node.Name))
	})
	return all, s.fail
}

// NodeEvents implements federation.NodeStore.
func (s *Store) NodeEvents(_ context.Context, id federation.NodeID, limit int) (out []federation.NodeEvent, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.nodes.events {
		if e.Node == id {
			out = append(out, e)
		}
	}
	return out[max(len(out)-limit, 0):], s.fail
}

// LastNodeEvents implements federation.NodeStore.
func (s *Store) LastNodeEvents(context.Context) (out []federation.NodeEvent, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, e := range s.nodes.events {
		later := func(f federation.NodeEvent) bool { return f.Node == e.Node && !f.Wanted }
		if !e.Wanted && !slices.ContainsFunc(s.nodes.events[i+1:], later) {
			out = append(out, e)
		}
	}
	return out, s.fail
}
