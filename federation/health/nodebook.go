package health

import (
	"slices"
	"time"

	"fsub/federation"
)

// nodeBook holds what is remembered of nodes: of a million, those on which something has failed. What is asked at each failure and each submission it answers
// from the few that matter then.
type nodeBook struct {
	all   map[federation.NodeID]*NodeState
	sites map[federation.SiteName]*siteBook
}

// siteBook holds those of a site that matter now, and some that have ceased to.
type siteBook struct {
	failing  map[string]*NodeState // a job has failed there within stormSpan
	suspects map[string]*NodeState
	down     map[string]*NodeState // some of its ports are down
}

// stormSpan is how far back failures of many nodes count as one of their site.
const stormSpan = 10 * time.Minute

func newNodeBook() nodeBook {
	return nodeBook{all: map[federation.NodeID]*NodeState{}, sites: map[federation.SiteName]*siteBook{}}
}

func (b *nodeBook) site(name federation.SiteName) *siteBook {
	s := b.sites[name]
	if s == nil {
		s = &siteBook{failing: map[string]*NodeState{}, suspects: map[string]*NodeState{}, down: map[string]*NodeState{}}
		b.sites[name] = s
	}
	return s
}

// put takes in a node as it was stored.
func (b *nodeBook) put(n *NodeState) {
	b.all[n.Node] = n
	s := b.site(n.Node.Site)
	if s.suspects[n.Node.Name] = n; len(n.Fails) > 0 {
		s.failing[n.Node.Name] = n
	}
	if len(n.Down) > 0 {
		s.down[n.Node.Name] = n
	}
}

// of is what is remembered of a node, from now on if it was nothing.
func (b *nodeBook) of(id federation.NodeID) *NodeState {
	n := b.all[id]
	if n == nil {
		n = &NodeState{Node: id}
		b.all[id] = n
	}
	return n
}

func (b *nodeBook) drop(id federation.NodeID) {
	delete(b.all, id)
	if s := b.sites[id.Site]; s != nil {
		delete(s.failing, id.Name)
		delete(s.suspects, id.Name)
		delete(s.down, id.Name)
	}
}

// failed notes that something has just failed on a node.
func (b *nodeBook) failed(n *NodeState) { b.site(n.Node.Site).failing[n.Node.Name] = n }

// suspect notes that a node is suspected.
func (b *nodeBook) suspect(n *NodeState, until time.Time) {
	n.Until = until
	b.site(n.Node.Site).suspects[n.Node.Name] = n
}

// failing are the nodes of a site on which something has failed after a time, which is not before that of the last call.
func (b *nodeBook) failing(site federation.SiteName, since time.Time) func(func(*NodeState) bool) {
	return func(yield func(*NodeState) bool) {
		s := b.site(site)
		for name, n := range s.failing {
			if k := len(n.Fails); k == 0 || !n.Fails[k-1].At.After(since) {
				delete(s.failing, name)
			} else if !yield(n) {
				return
			}
		}
	}
}

// suspectsAt are the nodes of a site that are suspected now, in no order.
func (b *nodeBook) suspectsAt(site federation.SiteName, now time.Time) func(func(*NodeState) bool) {
	return func(yield func(*NodeState) bool) {
		s := b.sites[site]
		if s == nil {
			return
		}
		for _, n := range s.suspects {
			if now.Before(n.Until) && !yield(n) {
				return
			}
		}
	}
}

// SuspicionsOver reports whether suspicions of a site's nodes have ended since it was called last, and when the next one ends; zero: there is none.
func (e *Engine) SuspicionsOver(site federation.SiteName, now time.Time) (some bool, next time.Time) {
	s := e.nodes.sites[site]
	if s == nil {
		return false, next
	}
	for name, n := range s.suspects {
		if !now.Before(n.Until) {
			delete(s.suspects, name)
			some = true
		} else if next.IsZero() || n.Until.Before(next) {
			next = n.Until
		}
	}
	return some, next
}

// Suspects are the nodes to be avoided now, in order. They share what they remember with the engine.
func (e *Engine) Suspects(now time.Time) (out []NodeState) {
	for site := range e.nodes.sites {
		for n := range e.nodes.suspectsAt(site, now) {
			out = append(out, *n)
		}
	}
	slices.SortFunc(out, compareNodes)
	return out
}

// SuspectsAt are the names of the nodes of one site that are to be avoided now, in no order.
func (e *Engine) SuspectsAt(site federation.SiteName, now time.Time) (names []string) {
	for n := range e.nodes.suspectsAt(site, now) {
		names = append(names, n.Node.Name)
	}
	return names
}
