package controller

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"fsub/federation"
	"fsub/federation/audit"
	"fsub/federation/driver"
	"fsub/federation/health"
)

// What may be lifted at most: slurmctld may have had its reasons.
const (
	liftsOfNode = 2  // in a day
	liftsOfSite = 10 // in an hour
)

// lifting finds the nodes of a site whose drain by slurmctld has outlived its cause.
type lifting struct {
	kinds []health.Lift        // that may be lifted here
	since map[string]sightedAt // nodes of which there is a proof, and since when
	done  map[string][]time.Time
	shown map[string]bool // lifted, and the site does not show it yet
}

// sightedAt is since when a proof holds.
type sightedAt struct {
	reason string
	kind   health.Lift
	at     time.Time
}

// lift is a drain that is to be ended, with what proves that its cause is gone.
type lift struct{ reason, proof string }

func newLifting(kinds []health.Lift) lifting {
	return lifting{kinds: kinds, since: map[string]sightedAt{}, done: map[string][]time.Time{}, shown: map[string]bool{}}
}

// look takes in a node as a new look shows it, and reports whether its drain is to be ended now.
func (l *lifting) look(n *federation.Node, slurmUser string, now time.Time) (lift, bool) {
	p, ok := health.Stale(n, slurmUser)
	if !ok || !slices.Contains(l.kinds, p.Kind) {
		delete(l.since, n.Name)
		return lift{}, false
	}
	s, known := l.since[n.Name]
	if !known || s.reason != n.Reason || s.kind != p.Kind {
		s = sightedAt{n.Reason, p.Kind, now}
		l.since[n.Name] = s
	}
	if now.Sub(s.at) < p.Hold || !l.allowed(n.Name, now) {
		return lift{}, false
	}
	return lift{n.Reason, p.Text}, true
}

// allowed reports whether the bounds let a node's drain be lifted now.
func (l *lifting) allowed(node string, now time.Time) bool {
	recent := 0
	for name, at := range l.done {
		at = slices.DeleteFunc(at, func(t time.Time) bool { return now.Sub(t) >= 24*time.Hour })
		if l.done[name] = at; len(at) == 0 {
			delete(l.done, name)
		}
		for _, t := range at {
			if now.Sub(t) < time.Hour {
				recent++
			}
		}
	}
	return len(l.done[node]) < liftsOfNode && recent < liftsOfSite
}

// loadLifts reads what earlier daemons have lifted, so that the bounds hold for all of them.
func (ns *nodes) loadLifts(ctx context.Context) error {
	acts, err := ns.store.Audit(ctx, audit.Query{Verb: "lift", Kind: audit.Node, Since: ns.now().Add(-24 * time.Hour)})
	if err != nil {
		return fmt.Errorf("read which drains were lifted: %w", err)
	}
	for _, a := range acts {
		site, node, _ := strings.Cut(a.Object, "/")
		if n := ns.of(federation.SiteName(site)); a.Result == "" && n.done != nil {
			n.done[node] = append(n.done[node], a.At)
		}
	}
	return nil
}

// lift has the drains of one reason ended that slurmctld has left behind. The order ends a drain of that very reason only.
func (ns *nodes) lift(s *site, n *siteNodes, found map[string]lift) {
	if len(found) == 0 {
		return
	}
	names := slices.Sorted(maps.Keys(found))
	reason := found[names[0]].reason
	o := driver.NodeOrder{Wish: federation.WishResume, Text: reason, Mark: ns.federation}
	now := ns.now()
	for _, name := range names {
		f := found[name]
		if f.reason != reason || !n.lifting.allowed(name, now) {
			continue
		}
		o.Nodes = append(o.Nodes, name)
		n.lifting.done[name] = append(n.lifting.done[name], now)
		n.lifting.shown[name] = true
		id := federation.NodeID{Site: s.Name, Name: name}
		why := fmt.Sprintf("%s: %s", reason, f.proof)
		ns.batch.nodeEvent(federation.NodeEvent{Node: id, At: now.UTC(), Who: audit.Daemon.User, To: "LIFT", Wanted: true, Why: why})
		ns.batch.audit(audit.Entry{At: now.UTC(), Who: audit.Daemon, Verb: "lift", Kind: audit.Node, Object: id.String(),
			Before: n.last[name].word, After: string(federation.WishResume), Why: why})
	}
	if len(o.Nodes) > 0 {
		ns.log.Info("lift a drain of slurmctld whose cause is gone", "site", s.Name, "nodes", len(o.Nodes), "reason", reason, "proof", found[names[0]].proof)
		ns.tell(s, n, o)
	}
}

// notLifted writes down that a site has not lifted what it was told to.
func (ns *nodes) notLifted(s *site, n *siteNodes, r nodesSet) {
	for _, name := range r.order.Nodes {
		err := r.left[name]
		if r.err != nil {
			err = r.err
		}
		if err == nil {
			continue
		}
		delete(n.lifting.shown, name)
		ns.batch.audit(audit.Entry{At: ns.now().UTC(), Who: audit.Daemon, Verb: "lift", Kind: audit.Node,
			Object: federation.NodeID{Site: s.Name, Name: name}.String(), Why: r.order.Text, Result: err.Error()})
	}
}
