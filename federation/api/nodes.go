package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"fsub/federation"
	"fsub/federation/action"
	"fsub/federation/api/answer"
	"fsub/federation/api/identity"
	v1 "fsub/federation/api/v1"
	"fsub/federation/audit"
	"fsub/federation/driver"
	"fsub/federation/health"
	"fsub/federation/journal"
	"fsub/federation/plain"
	"fsub/slurm/wire"
)

// nodes answers for the nodes of all sites. What operators want of them is written to the store; the controller carries it out.
type nodes struct {
	Store Store
	Sites func() []*federation.Site
	Wake  func() // the store has something for the controller
	Now   func() time.Time
	Mark  string // the federation's name, with which reasons of ours begin
	// Reboots is what reboots the nodes of a site, nil if nothing can.
	Reboots func(federation.SiteName) driver.Rebooter
	Rules   func() *health.Report // what the rules of health know; nil: there are none

	orders sync.Mutex // one order is read, judged and written at a time: each knows the one before it
}

// memberNode is a node with its site and what is wanted of it.
type memberNode struct {
	site   *federation.Site
	node   *federation.Node
	record *federation.NodeRecord // nil: nothing was ever said
}

func (m *memberNode) id() federation.NodeID {
	return federation.NodeID{Site: m.site.Name, Name: m.node.Name}
}

// all are the nodes of all sites, in order of site and name.
func (s *nodes) all(ctx context.Context) ([]memberNode, error) {
	records, err := s.Store.Nodes(ctx)
	if err != nil {
		return nil, answer.OfStore(err, answer.NoContact)
	}
	wanted := map[federation.SiteName]map[string]*federation.NodeRecord{}
	for i := range records {
		r := &records[i]
		if wanted[r.Node.Site] == nil {
			wanted[r.Node.Site] = map[string]*federation.NodeRecord{}
		}
		wanted[r.Node.Site][r.Node.Name] = r
	}
	var out []memberNode
	for _, site := range s.Sites() {
		if site.Seen == nil {
			continue
		}
		of := wanted[site.Name]
		seen := health.Merge(site.Seen, of, s.Mark, s.Now()) // what is wanted since the controller published it
		for i := range seen.Nodes {
			out = append(out, memberNode{site: site, node: &seen.Nodes[i], record: of[seen.Nodes[i].Name]})
		}
	}
	return out, nil
}

// List is GET /fed/v1/nodes.
func (s *nodes) List(ctx context.Context, _ identity.Caller, q v1.NodeQuery) ([]v1.Node, error) {
	all, err := s.all(ctx)
	if err != nil {
		return nil, err
	}
	chosen, err := chooseNodes(all, q.Nodes, q.Where)
	if err != nil {
		return nil, invalidNodes(err)
	}
	out := make([]v1.Node, 0, len(chosen))
	suspicion := s.suspicions()
	for i := range chosen {
		v := s.describe(&chosen[i])
		v.Suspected = suspicion(&chosen[i])
		out = append(out, v)
	}
	return out, nil
}

// nodeHistory bounds the lines that are told of one node.
const nodeHistory = 200

// Show is GET /fed/v1/node/{site}/{name}.
func (s *nodes) Show(r *http.Request, _ identity.Caller) (v1.Node, error) {
	all, err := s.all(r.Context())
	if err != nil {
		return v1.Node{}, err
	}
	id := federation.NodeID{Site: federation.SiteName(r.PathValue("site")), Name: r.PathValue("name")}
	i := slices.IndexFunc(all, func(m memberNode) bool { return m.id() == id })
	if i < 0 {
		return v1.Node{}, &federation.SlurmError{Kind: federation.ErrNotFound, Text: fmt.Sprintf("no node %s is known; see: fed node list", id)}
	}
	events, err := s.Store.NodeEvents(r.Context(), id, nodeHistory)
	if err != nil {
		return v1.Node{}, answer.OfStore(err, answer.NoContact)
	}
	n := s.describe(&all[i])
	n.Suspected = s.suspicions()(&all[i])
	for _, e := range events {
		n.History = append(n.History, v1.NodeWas{Time: e.At, Who: e.Who, From: e.From, To: e.To, Wanted: e.Wanted, Why: e.Why})
	}
	return n, nil
}

// suspicions tell why a node is avoided for a while: by all new jobs, or by gangs for a switch or block above it.
func (s *nodes) suspicions() func(*memberNode) *v1.Suspicion {
	nodes, parts := map[federation.NodeID]*v1.Suspicion{}, map[string]*health.Breaker{}
	if s.Rules != nil {
		report := s.Rules()
		for i := range report.Nodes {
			if n := &report.Nodes[i]; s.Now().Before(n.Until) {
				nodes[n.Node] = &v1.Suspicion{Rule: n.Rule, Until: n.Until, Why: n.Why}
			}
		}
		for i := range report.Breakers {
			parts[report.Breakers[i].Name] = &report.Breakers[i]
		}
	}
	return func(m *memberNode) *v1.Suspicion {
		if own := nodes[m.id()]; own != nil || m.node.BadPart == "" {
			return own
		}
		b := parts[health.PartBreaker(m.site.Name, m.node.BadPart)]
		if b == nil || b.Open.IsZero() {
			return nil
		}
		rule := health.RulePart
		if b.Rail {
			rule = health.RuleRail
		}
		return &v1.Suspicion{Rule: rule, Until: b.Until, Why: "gangs are kept off " + m.node.BadPart + ": " + b.Why}
	}
}

func (s *nodes) describe(m *memberNode) v1.Node {
	n := m.node
	seen := m.site.SeenAt
	if seen.Before(m.site.Seen.At) {
		seen = m.site.Seen.At
	}
	v := v1.Node{Site: m.site.Name, Name: n.Name, State: n.State, Reason: n.Reason, Partitions: n.Partitions, Features: n.Features, CPUs: n.CPUs, CPUsUsed: n.CPUsUsed,
		Memory: int64(n.Mem), Unconfirmed: n.Unconfirmed, Seen: seen, Stale: !m.site.Answering, Note: m.site.NodeNotes[n.Name], Usable: n.Usable()}
	v.ReasonOurs = strings.HasPrefix(n.Reason, s.Mark+":")
	if n.Info != nil && n.Reason != "" {
		if v.ReasonBy = n.Info.ReasonUser; !n.Info.ReasonAt.IsZero() {
			at := n.Info.ReasonAt.UTC()
			v.ReasonAt = &at
		}
	}
	for _, g := range n.GRES {
		if g.Name == "gpu" {
			v.GPUs, v.GPUsUsed = v.GPUs+g.Total, v.GPUsUsed+g.Used
			v.GPUType = g.Type
		}
	}
	if r := m.record; r != nil {
		v.Wanted = &v1.Wanted{State: r.Wants(s.Now()), Owner: r.Owner, Ticket: r.Ticket, Reason: r.Reason, Since: r.Since,
			Requeue: r.Jobs == string(action.Requeue), Move: r.Jobs == string(action.Move)}
		if !r.Until.IsZero() {
			v.Wanted.Until = &r.Until
		}
	}
	return v
}

// Set is POST /fed/v1/nodes/state.
func (s *nodes) Set(r *http.Request, c identity.Caller, q *v1.SetNodes) (v1.SetNodesResponse, error) {
	out, err := s.Order(r.Context(), c, q)
	if err != nil {
		return v1.SetNodesResponse{}, err
	}
	return v1.SetNodesResponse{Nodes: out}, nil
}

// Order writes down what a caller, whose rights have been looked at, wants of nodes.
func (s *nodes) Order(ctx context.Context, c identity.Caller, q *v1.SetNodes) ([]v1.NodeSet, error) {
	if err := s.check(q); err != nil {
		return nil, invalidNodes(err)
	}
	s.orders.Lock()
	defer s.orders.Unlock()
	all, err := s.all(ctx)
	if err != nil {
		return nil, err
	}
	chosen, err := chooseNodes(all, q.Nodes, q.Where)
	if err != nil {
		return nil, invalidNodes(err)
	}
	if len(chosen) == 0 {
		return nil, &federation.SlurmError{Kind: federation.ErrNotFound, Text: "no node is meant; see: fed node list"}
	}
	now := s.Now().UTC()
	var b journal.Batch
	out := make([]v1.NodeSet, 0, len(chosen))
	for i := range chosen {
		m := &chosen[i]
		said := v1.NodeSet{Site: m.site.Name, Name: m.node.Name, State: q.State, Was: m.node.State, Note: m.site.NodeNotes[m.node.Name]}
		text := ""
		if m.record != nil {
			text = m.record.Text(s.Mark)
		}
		is, by := health.ConditionOf(m.node), health.AuthorOf(m.node, text, s.Mark)
		if m.node.Unconfirmed { // it is our own drain that is shown, over whatever there is
			is = health.Up
		}
		if health.Decide(q.State, is, by) == health.Leave {
			said.Left, said.Note = true, strings.TrimSpace(fmt.Sprintf("%s at the site by %s: %s", is, drainAuthor(m.node, by), m.node.Reason))
		}
		switch {
		case !m.site.Answering && said.Left:
			said.Note += "; the site does not answer since"
		case !m.site.Answering:
			said.Note = "the site does not answer: it is told when it does"
		}
		q, kept := keptOrder(q, m.record, now)
		said.Until, said.Ticket = q.Until, q.Ticket
		said.Note = strings.TrimPrefix(said.Note+kept, "; ")
		out = append(out, said)
		act := audit.Entry{At: now, Who: answer.By(c), Verb: strings.ToLower(string(q.State)), Kind: audit.Node, Object: m.id().String(),
			Before: strings.Join(m.node.State, "+"), After: string(q.State), Why: drainTerms(q), Ticket: q.Ticket, Result: said.Note}
		was := m.record.Wants(now)
		if q.State == federation.WishResume && was != federation.WishDrain && by != health.Ours && by != health.Earlier {
			act.After, act.Result = "", cmp.Or(said.Note, "there was no drain set by the federation")
			out[i].Nothing = !said.Left && is == health.Up
			b.Audit = append(b.Audit, act)
			continue
		}
		b.Nodes = append(b.Nodes, federation.NodeRecord{Node: m.id(), Wish: q.State, Owner: c.Name, Ticket: q.Ticket, Reason: q.Reason, Jobs: string(q.Jobs()), Since: now, Until: q.Until})
		b.NodeEvents = append(b.NodeEvents, federation.NodeEvent{Node: m.id(), At: now, Who: c.Name, From: string(was), To: string(q.State), Wanted: true, Why: drainReason(q)})
		b.Audit = append(b.Audit, act)
	}
	if b.Empty() {
		return out, nil
	}
	if err := s.Store.Commit(ctx, &b); err != nil {
		return nil, answer.OfStore(err, answer.TimedOut)
	}
	s.Wake()
	return out, nil
}

// keptOrder is an order to drain a node with what an earlier drain has beyond it, which others may count on, and words for that.
func keptOrder(q *v1.SetNodes, r *federation.NodeRecord, now time.Time) (*v1.SetNodes, string) {
	if q.State != federation.WishDrain || r.Wants(now) != federation.WishDrain {
		return q, ""
	}
	with, words := *q, ""
	if q.Ticket == "" && r.Ticket != "" {
		with.Ticket = r.Ticket
		words += fmt.Sprintf("; %s's ticket %s stays", r.Owner, r.Ticket)
	}
	if q.Until.IsZero() && !q.NoEnd && !r.Until.IsZero() {
		with.Until = r.Until
		words += fmt.Sprintf("; %s's drain was to end at %s, and still ends then", r.Owner, r.Until.UTC().Format(time.RFC3339))
	}
	return &with, words
}

func invalidNodes(err error) error {
	e := &federation.SlurmError{Kind: federation.ErrInvalid, Text: err.Error(), Alone: true}
	if _, ok := errors.AsType[unknownNode](err); ok {
		e.Number = wire.ErrNodeName
	}
	return e
}

// whose names who has given a node its reason.
func drainAuthor(n *federation.Node, by health.Author) string {
	switch {
	case by == health.Silence:
		return string(health.Slurmctld)
	case by == health.Admin && n.Info != nil && n.Info.ReasonUser != "":
		return n.Info.ReasonUser
	}
	return string(by)
}

// drainReason is what the history says of an order.
func drainReason(q *v1.SetNodes) string {
	return strings.TrimSpace(q.Ticket + " " + drainTerms(q))
}

// drainTerms are the reason of an order and what else was said with it.
func drainTerms(q *v1.SetNodes) string {
	text := q.Reason
	switch q.Jobs() {
	case action.Requeue:
		text += " (jobs are requeued)"
	case action.Move:
		text += " (jobs are moved)"
	}
	if !q.Until.IsZero() {
		text += " (until " + q.Until.UTC().Format(time.RFC3339) + ")"
	}
	return strings.TrimSpace(text)
}

var ticketForm = regexp.MustCompile(`^[A-Za-z0-9._#/-]*$`)

func (s *nodes) check(q *v1.SetNodes) error {
	q.Reason = strings.TrimSpace(q.Reason)
	switch {
	case q.State != federation.WishDrain && q.State != federation.WishResume:
		return fmt.Errorf("unknown state %q: use DRAIN or RESUME", q.State)
	case len(q.Nodes) == 0 && len(q.Where) == 0:
		return fmt.Errorf("no node is named: write SITE/HOSTLIST, or a condition")
	case q.State == federation.WishDrain && q.Reason == "":
		return fmt.Errorf("a drain needs a reason: others have to know when it may end")
	case len(q.Ticket) > maxTicket || !ticketForm.MatchString(q.Ticket):
		return fmt.Errorf("invalid ticket %q: want at most %d letters, digits, '.', '_', '#', '/' and '-'", q.Ticket, maxTicket)
	case q.State == federation.WishResume && (q.Jobs() != "" || q.NoEnd || !q.Until.IsZero()):
		return fmt.Errorf("until, requeue and move are for a drain")
	case q.Requeue && q.Move:
		return fmt.Errorf("requeue and move exclude each other")
	case !q.Until.IsZero() && !q.Until.After(s.Now()):
		return fmt.Errorf("until %s: this time has passed", q.Until.UTC().Format(time.RFC3339))
	}
	return plain.Check("reason", q.Reason, plain.MaxReason)
}
