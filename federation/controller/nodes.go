package controller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"fsub/federation"
	"fsub/federation/action"
	"fsub/federation/audit"
	"fsub/federation/driver"
	"fsub/federation/health"
	"fsub/federation/place"
)

// nodes brings the nodes of the sites to what operators want of them. What is wanted is in the store before it gets here; it is shown to
// placement at once, and told to the site again and again until the site shows it, or somebody else's word stands there.
type nodes struct {
	federation string
	now        func() time.Time
	t          Timing
	log        *slog.Logger
	store      Store
	sites      *roster
	batch      *pendingBatch
	agenda     *agenda
	calls      *calls
	upkeep     *upkeep
	engine     *health.Engine // of the rules
	report     *ruleReport
	bySite     map[federation.SiteName]*siteNodes
}

// siteNodes is what is known and wanted of one site's nodes.
type siteNodes struct {
	wanted map[string]*federation.NodeRecord
	jobs   map[string]bool         // what its drains do with jobs
	raw    *federation.Observation // the last good look, without what is only wanted
	last   map[string]nodeState    // what the history has of each node
	mended bool                    // nothing is to be done by this look
	lifting

	calling  bool
	fresh    time.Time // a look that began before may not show what was done
	retry    time.Time // no order before
	fails    int
	trouble  error               // of the last order
	put      map[string]putAside // nodes for which an order failed
	until    time.Time           // when the next drain ends by itself; zero: none does
	requeued map[jobTask]int     // jobs whose requeue was asked for because their node is drained, and how often each had been requeued before
}

type nodeState struct{ word, reason string }

// putAside is a node that its site does not let us change for now.
type putAside struct {
	err   error
	fails int
	until time.Time
}

type jobTask struct {
	job  federation.JobID
	task int
}

// nodesSet is the end of an order.
type nodesSet struct {
	order driver.NodeOrder
	left  map[string]error
	err   error
}

func (ns *nodes) of(site federation.SiteName) *siteNodes {
	n := ns.bySite[site]
	if n == nil {
		n = &siteNodes{wanted: map[string]*federation.NodeRecord{}, last: map[string]nodeState{}, put: map[string]putAside{}, requeued: map[jobTask]int{}}
		if s := ns.sites.byName[site]; s != nil {
			n.lifting = newLifting(s.lifts)
		}
		ns.bySite[site] = n
	}
	return n
}

// load reads what is wanted, and at the start of the daemon what the history ends with.
func (ns *nodes) load(ctx context.Context, begin bool) error {
	records, err := ns.store.Nodes(ctx)
	if err != nil {
		return fmt.Errorf("read what is wanted of nodes: %w", err)
	}
	if begin {
		events, err := ns.store.LastNodeEvents(ctx)
		if err != nil {
			return fmt.Errorf("read the history of nodes: %w", err)
		}
		for _, e := range events {
			ns.of(e.Node.Site).last[e.Node.Name] = stateOf(e.To, e.Why)
		}
		if err := ns.loadLifts(ctx); err != nil {
			return err
		}
	}
	ns.take(records)
	return nil
}

// take takes in what is wanted from now on. Records are written over, never deleted.
func (ns *nodes) take(records []federation.NodeRecord) {
	changed := map[federation.SiteName]bool{}
	for i := range records {
		r := &records[i]
		n := ns.of(r.Node.Site)
		if old := n.wanted[r.Node.Name]; old == nil || *old != *r {
			n.wanted[r.Node.Name] = r
			delete(n.put, r.Node.Name)
			if r.Wish == federation.WishResume {
				ns.engine.Forgive(r.Node, r.Since)
				ns.report.changed = true
			}
			changed[r.Node.Site] = true
		}
	}
	for name := range changed {
		ns.of(name).retry = time.Time{}
		ns.of(name).countJobs()
		if s := ns.sites.byName[name]; s != nil {
			ns.show(s)
		}
	}
}

// show puts what is wanted of a site's nodes into what placement and people see of it.
func (ns *nodes) show(s *site) {
	n := ns.of(s.Name)
	n.mended, n.until = false, time.Time{}
	now := ns.now()
	for _, r := range n.wanted {
		if r.Wish == federation.WishDrain && now.Before(r.Until) && (n.until.IsZero() || r.Until.Before(n.until)) {
			n.until = r.Until
		}
	}
	if n.raw == nil {
		return
	}
	if seen := ns.seen(s, n.raw); !seen.Same(s.Seen) {
		s.Seen = seen
		s.Pools = place.Pools(s.Name, seen)
		ns.agenda.plan = true
	}
}

// takeLook takes in a look at a site.
func (ns *nodes) takeLook(s *site, o *federation.Observation) {
	n := ns.of(s.Name)
	if n.raw == nil || !slices.EqualFunc(n.raw.Nodes, o.Nodes, sameState) {
		ns.history(s, o)
	}
	n.raw, n.mended = o, false
}

// seen is a look at a site with what is wanted of its nodes, and planned there.
func (ns *nodes) seen(s *site, o *federation.Observation) *federation.Observation {
	now := ns.now()
	merged := health.Merge(o, ns.of(s.Name).wanted, ns.federation, now)
	id := func(name string) federation.NodeID { return federation.NodeID{Site: s.Name, Name: name} }
	part := badParts(o, ns.engine.Fabric.KeptOff(s.Name, now))
	marked := health.Mark(merged, func(name string) bool { return ns.engine.Suspected(id(name), now) },
		func(name string) string {
			if part := part(name); part != "" {
				return part
			}
			return ns.engine.Fabric.BadRail(id(name), now)
		})
	return ns.upkeep.merge(s.Name, marked, now)
}

// badParts tells which of some parts of a site's fabric a node is below, "" if it is below none.
func badParts(o *federation.Observation, parts []string) func(node string) string {
	if len(parts) == 0 {
		return func(string) string { return "" }
	}
	above := o.Tree.Above()
	return func(node string) string {
		for _, u := range above[node] {
			if slices.Contains(parts, u.Name) {
				return u.Name
			}
		}
		return ""
	}
}

func sameState(a, b federation.Node) bool {
	return a.Name == b.Name && a.Reason == b.Reason && slices.Equal(a.State, b.State)
}

// stateOf is a state with its reason. That of a node that is up is of earlier.
func stateOf(word, reason string) nodeState {
	if word == "UP" {
		reason = ""
	}
	return nodeState{word, reason}
}

// history writes down which nodes have another state now, and why.
func (ns *nodes) history(s *site, o *federation.Observation) {
	n := ns.of(s.Name)
	for i := range o.Nodes {
		node := &o.Nodes[i]
		is := stateOf(health.Word(node), node.Reason)
		was, known := n.last[node.Name]
		if was == is || !known && is.word == "UP" {
			continue
		}
		n.last[node.Name] = is
		e := federation.NodeEvent{Node: federation.NodeID{Site: s.Name, Name: node.Name}, At: ns.now().UTC(), From: was.word, To: is.word, Why: is.reason}
		lifted := n.lifting.shown[node.Name]
		delete(n.lifting.shown, node.Name)
		r := n.wanted[node.Name]
		text := ""
		if r != nil {
			text = r.Text(ns.federation)
		}
		switch by := health.AuthorOf(node, text, ns.federation); {
		case by == health.Ours:
			e.Who = r.Owner
		case strings.HasPrefix(was.reason, ns.federation+":") && strings.Contains(was.word, "DRAIN") && !strings.Contains(is.word, "DRAIN") &&
			r.Wants(ns.now()) == federation.WishResume:
			if e.Who, e.Why = r.Owner, "resumed"; r.Wish == federation.WishDrain {
				e.Why = "the drain was until " + r.Until.UTC().Format(time.RFC3339)
			}
		case lifted && !strings.Contains(is.word, "DRAIN") && !strings.Contains(is.word, "DOWN"):
			e.Who, e.Why = audit.Daemon.User, "lifted: "+was.reason
		case by == health.Slurmctld || by == health.Silence:
			e.Who = "slurmctld"
		case node.Info != nil && is.reason != "":
			e.Who = node.Info.ReasonUser
		}
		ns.batch.nodeEvent(e)
	}
}

// reconcile decides what sites are to be told about their nodes, by looks that are new.
func (ns *nodes) reconcile() {
	now := ns.now()
	for _, s := range ns.sites.all {
		n := ns.bySite[s.Name]
		if n == nil || len(n.wanted) == 0 && len(n.kinds) == 0 {
			continue
		}
		if !n.until.IsZero() && !now.Before(n.until) {
			ns.show(s)
		}
		if n.raw == nil || !s.Answering || n.mended || n.calling || now.Before(n.retry) || !s.SeenAt.After(n.fresh) {
			continue
		}
		ns.mend(s, n)
	}
}

// mend compares a site's nodes with what is wanted, and gives one order.
func (ns *nodes) mend(s *site, n *siteNodes) {
	now := ns.now()
	byText := map[string][]string{}
	var resume []string
	stale := map[string]lift{} // nodes whose drain has outlived its cause
	n.mended = true
	for i := range n.raw.Nodes {
		node := &n.raw.Nodes[i]
		r := n.wanted[node.Name]
		wish := r.Wants(now)
		if wish != federation.WishDrain && len(n.kinds) > 0 {
			if f, ok := n.look(node, n.raw.SlurmUser, now); ok {
				stale[node.Name] = f
			}
		}
		if wish == "" {
			continue
		}
		is, text := health.ConditionOf(node), r.Text(ns.federation)
		by := health.AuthorOf(node, text, ns.federation)
		switch health.Decide(wish, is, by) {
		case health.Drain, health.Undrain, health.Revive:
		default:
			delete(n.put, node.Name)
			continue
		}
		n.mended = false
		if p, ok := n.put[node.Name]; ok && now.Before(p.until) {
			continue
		}
		if wish == federation.WishResume {
			resume = append(resume, node.Name)
		} else {
			byText[text] = append(byText[text], node.Name)
		}
	}
	order := driver.NodeOrder{Wish: federation.WishResume, Nodes: resume, Mark: ns.federation}
	if len(byText) > 0 {
		text := slices.Sorted(maps.Keys(byText))[0]
		order.Wish, order.Nodes, order.Text = federation.WishDrain, byText[text], text
	}
	if len(order.Nodes) > 0 {
		ns.tell(s, n, order)
	} else {
		ns.lift(s, n, stale)
	}
	if drained := n.drained(action.Requeue, now); len(drained) > 0 {
		ns.requeue(s, n, drained)
	}
	ns.note(s, n)
}

// tell gives a site an order after the round's commit.
func (ns *nodes) tell(s *site, n *siteNodes, o driver.NodeOrder) {
	n.calling = true
	set := s.can.Nodes
	ns.calls.add(s, nodesSet{}, func(ctx context.Context) any {
		if set == nil {
			return nodesSet{order: o, err: fmt.Errorf("%w: the driver of site %s cannot set nodes", federation.ErrInvalid, s.Name)}
		}
		left, err := set.SetNodes(ctx, o)
		return nodesSet{order: o, left: left, err: err}
	})
}

// takeSet takes in what a site said to an order. Whether it was of use the next look tells.
func (ns *nodes) takeSet(s *site, r nodesSet) {
	n, now := ns.of(s.Name), ns.now()
	if r.order.Wish == federation.WishResume && r.order.Text != "" {
		ns.notLifted(s, n, r)
	}
	again := n.trouble != nil && r.err != nil && n.trouble.Error() == r.err.Error()
	n.calling, n.fresh, n.trouble = false, now, r.err
	if r.err != nil {
		n.fails++
		wait := ns.t.backoff(n.fails)
		if !errors.Is(r.err, federation.ErrUnavailable) {
			wait = ns.t.RetryMax
		}
		n.retry = now.Add(wait)
		if !again {
			ns.log.Warn("set nodes", "site", s.Name, "wish", r.order.Wish, "nodes", len(r.order.Nodes), "err", r.err)
		}
		ns.note(s, n)
		return
	}
	n.fails, n.retry = 0, time.Time{}
	for _, name := range r.order.Nodes {
		err := r.left[name]
		if err == nil {
			delete(n.put, name)
			continue
		}
		p := n.put[name]
		p.err, p.fails = err, p.fails+1
		p.until = now.Add(ns.t.backoff(p.fails))
		n.put[name] = p
	}
	ns.log.Info("set nodes", "site", s.Name, "wish", r.order.Wish, "nodes", len(r.order.Nodes), "left", len(r.left))
	ns.note(s, n)
	if t := now.Add(ns.t.Observe / 10); t.Before(s.nextObserve) {
		s.nextObserve = t
	}
}

// note publishes why nodes are not as they are wanted.
func (ns *nodes) note(s *site, n *siteNodes) {
	var notes map[string]string
	if n.trouble != nil || len(n.put) > 0 {
		notes = map[string]string{}
		for name, r := range n.wanted {
			if p, ok := n.put[name]; ok {
				notes[name] = p.err.Error()
			} else if n.trouble != nil && r.Wish != "" {
				notes[name] = n.trouble.Error()
			}
		}
	}
	if !maps.Equal(notes, s.NodeNotes) {
		s.NodeNotes = notes
	}
}

// due tells when the next drain ends by itself, by sooner. For everything else there is a look at the site before.
func (ns *nodes) due(sooner func(time.Time)) {
	for _, n := range ns.bySite {
		sooner(n.until)
	}
}
