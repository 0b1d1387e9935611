package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"fsub/federation"
	"fsub/federation/api/answer"
	"fsub/federation/api/identity"
	v1 "fsub/federation/api/v1"
	"fsub/federation/audit"
	"fsub/federation/faults"
	"fsub/federation/health"
	"fsub/federation/idle"
	"fsub/federation/journal"
	"fsub/federation/plain"
)

// rules answers for the rules of health, and takes operators' orders about breakers and the findings of health checks.
type rules struct {
	Store  Store
	Report func() *health.Report // nil: there are no rules
	Faults func() []faults.Fault // nil: nobody looks for them
	Sites  func() []*federation.Site
	Wake   func()
	Now    func() time.Time
}

// Get is GET /fed/v1/health.
func (s *rules) Get(_ *http.Request, _ identity.Caller) (v1.Health, error) {
	out := v1.Health{Rules: []v1.HealthRule{}, Nodes: []v1.HealthNode{}, Breakers: []v1.HealthBreaker{}, Faults: []v1.Fault{}}
	if s.Faults != nil {
		for _, f := range s.Faults() {
			out.Faults = append(out.Faults, v1.Fault{Name: f.Name, Text: f.Text, Since: f.Since})
		}
	}
	if s.Report == nil {
		return out, nil
	}
	r, now := s.Report(), s.Now()
	for i := range r.Rules {
		rule := &r.Rules[i]
		out.Rules = append(out.Rules, v1.HealthRule{Name: rule.Name, Action: string(rule.Act), Needs: rule.Needs(), What: rule.What, For: rule.For.Seconds(), Limit: rule.Limit})
	}
	if rule := &r.Idle; !rule.Off() {
		out.Rules = append(out.Rules, v1.HealthRule{Name: idle.Name, Action: rule.Acts(), Needs: rule.Needs(), For: rule.For.Seconds(),
			What: "running jobs leave idle what they hold: the user is told, and later the account's coordinators"})
	}
	for i := range r.Nodes {
		n := &r.Nodes[i]
		v := v1.HealthNode{Site: n.Node.Site, Name: n.Node.Name, Why: n.Why, Drained: n.Drain, Denied: n.Denied}
		if now.Before(n.Until) {
			v.Suspected, v.Rule = &n.Until, n.Rule
		}
		var last *health.Fail
		for i := range n.Fails { // a job's own failures are remembered too, and are none of the node's; nor are those of a rail
			if f := &n.Fails[i]; f.Rail == "" && (f.Code == health.CodeSlow || health.ClassOf(f.Code) == federation.ClassNode) {
				v.Failures, v.Last, last = v.Failures+1, &f.At, f
			}
		}
		if v.Why == "" && last != nil {
			v.Why = string(last.Code)
			if last.Text != "" {
				v.Why += ": " + last.Text
			}
		}
		if v.Failures > 0 || v.Suspected != nil || v.Drained != "" || v.Denied != "" {
			out.Nodes = append(out.Nodes, v)
		}
	}
	for i := range r.Breakers {
		b := &r.Breakers[i]
		v := v1.HealthBreaker{Name: b.Name, Open: !b.Open.IsZero(), Why: b.Why}
		if v.Open {
			v.Since = &b.Open
			if !b.Until.IsZero() {
				v.Until = &b.Until
			}
		}
		out.Breakers = append(out.Breakers, v)
	}
	return out, nil
}

// History is GET /fed/v1/health/history.
func (s *rules) History(ctx context.Context, _ v1.HealthQuery, part past) (out []v1.HealthFinding, err error) {
	all, err := s.Store.HealthFindings(ctx, health.FindingQuery(part))
	if err != nil {
		return nil, answer.OfStore(err, answer.NoContact)
	}
	for _, f := range all {
		out = append(out, v1.HealthFinding{Seq: f.Seq, Time: f.At, Rule: f.Rule, Action: f.Act, Site: f.Node.Site, Node: f.Node.Name, Job: f.Job, Why: f.Why, Denied: f.Denied})
	}
	return out, nil
}

// Reset is POST /fed/v1/health/reset.
func (s *rules) Reset(r *http.Request, c identity.Caller, q *v1.ResetHealth) (v1.ResetHealthResponse, error) {
	if err := plain.Check("breaker", q.Breaker, plain.MaxReason); err != nil {
		return v1.ResetHealthResponse{}, answer.BadBody(err.Error())
	}
	closed := []string{}
	if s.Report != nil {
		for _, b := range s.Report().Breakers {
			if !b.Open.IsZero() && (q.Breaker == "" || b.Name == q.Breaker) {
				closed = append(closed, b.Name)
			}
		}
	}
	if len(closed) == 0 {
		text := "no breaker is open"
		if q.Breaker != "" {
			text = fmt.Sprintf("no breaker %s is open", q.Breaker)
		}
		return v1.ResetHealthResponse{}, &federation.SlurmError{Kind: federation.ErrNotFound, Text: text + "; see: fed health", Alone: true}
	}
	b := journal.Batch{}
	for _, name := range closed {
		data, _ := json.Marshal(health.ResetBy{Breaker: name, Who: c.Name})
		b.Health = append(b.Health, health.Record{Kind: health.RecordReset, Name: name, Data: data})
		b.Audit = append(b.Audit, audit.Entry{Who: answer.By(c), Verb: "reset", Kind: audit.Rule, Object: name, Before: "open", After: "closed"})
	}
	if err := s.Store.Commit(r.Context(), &b); err != nil {
		return v1.ResetHealthResponse{}, answer.OfStore(err, answer.TimedOut)
	}
	s.Wake()
	return v1.ResetHealthResponse{Breakers: closed}, nil
}

// Check is POST /fed/v1/health/check.
func (s *rules) Check(r *http.Request, c identity.Caller, q *v1.HealthCheck) (v1.None, error) {
	site, name, _ := strings.Cut(q.Node, "/")
	known := slices.ContainsFunc(s.Sites(), func(x *federation.Site) bool {
		return string(x.Name) == site && x.Seen != nil && slices.ContainsFunc(x.Seen.Nodes, func(n federation.Node) bool { return n.Name == name })
	})
	if !known {
		return v1.None{}, &federation.SlurmError{Kind: federation.ErrNotFound, Text: fmt.Sprintf("no node %q is known: write SITE/NAME; see: fed node list", q.Node), Alone: true}
	}
	checks := []health.Check{}
	for _, f := range q.Findings {
		if !strings.HasPrefix(f.Code, "check-") || len(f.Text) > 500 || len(f.Device) > 64 {
			return v1.None{}, answer.BadBody(fmt.Sprintf("invalid finding %q: its code begins with check-, its text has at most 500 bytes, its device 64", f.Code))
		}
		checks = append(checks, health.Check{Code: health.Code(f.Code), Text: f.Text, Device: f.Device})
	}
	data, err := json.Marshal(checks)
	if err != nil {
		return v1.None{}, err
	}
	if err := s.Store.Commit(r.Context(), &journal.Batch{Health: []health.Record{{Kind: health.RecordCheck, Name: q.Node, Data: data}}}); err != nil {
		return v1.None{}, answer.OfStore(err, answer.TimedOut)
	}
	s.Wake()
	return v1.None{}, nil
}
