package web

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"fsub/federation"
	"fsub/federation/action"
	"fsub/federation/api/client"
	v1 "fsub/federation/api/v1"
	. "fsub/federation/web/html"
)

// operate is the page of what needs an operator: sites and nodes that are out, pools, operations, events, and who did what. What the caller may not see is left out.
func (s *server) operate(r *http.Request) (*page, error) {
	ctx := r.Context()
	sites, err := list(ctx, s, &s.common.sites, &v1.Sites, v1.SiteQuery{}, seenLife)
	if err != nil {
		return nil, err
	}
	nodes, err := list(ctx, s, &s.common.nodes, &v1.Nodes, v1.NodeQuery{}, seenLife)
	if err != nil {
		return nil, err
	}
	events, err := s.recent.lastHour(ctx, s.api, s.Now())
	if err != nil {
		return nil, err
	}
	pools, err := permitted(client.List(ctx, s.api, &v1.Pools, v1.None{}))
	if err != nil {
		return nil, err
	}
	operations, err := permitted(client.List(ctx, s.api, &v1.Operations, v1.None{}))
	if err != nil {
		return nil, err
	}
	audit, err := permitted(client.List(ctx, s.api, &v1.Audits, v1.AuditQuery{Limit: 50}))
	if err != nil {
		return nil, err
	}
	slices.Reverse(operations)
	slices.Reverse(audit)
	out := nodesOut(nodes)
	siteTable, _ := nounTable("Sites", &v1.Sites, sites)
	p := &page{title: "Operate", command: "fed top --once", table: out,
		data: map[string]any{"sites": sites, "nodes": nodes, "events": events, "pools": pools, "operations": operations, "audit": audit}}
	p.parts = []Node{section("Sites", siteTable), section("Nodes that are out", textTable("Nodes that are out", out))}
	if len(pools) > 0 {
		t, _ := nounTable("Pools of rented machines", &v1.Pools, pools)
		p.parts = append(p.parts, section("Pools", t))
	}
	if len(operations) > 0 {
		p.parts = append(p.parts, section("Operations", s.operationTable(r, operations)))
	}
	p.parts = append(p.parts, section("Last hour", eventTable(events)))
	if len(audit) > 0 {
		t, _ := nounTable("Who did what", &v1.Audits, audit)
		p.parts = append(p.parts, section("Audit", t))
	}
	return p, nil
}

// permitted is what the caller may see: nothing where he is refused.
func permitted[T any](all []T, err error) ([]T, error) {
	if errors.Is(err, federation.ErrDenied) {
		return nil, nil
	}
	return all, err
}

func eventTable(all []v1.Event) Node {
	rows := [][]string{{"TIME", "EVENT", "SITE", "NODE", "STATE", "WHO", "WHY"}}
	for _, e := range all {
		rows = append(rows, []string{stamp(e.Time), e.Event, string(e.Site), e.Node, string(e.State), e.Who, e.Detail})
	}
	return textTable("Sites and nodes in the last hour", rows)
}

// nodesOut are the nodes on which nothing can start, with who drained them and why.
func nodesOut(nodes []v1.Node) [][]string {
	rows := [][]string{{"NODE", "STATE", "BY", "SINCE", "WHY"}}
	for i := range nodes {
		n := &nodes[i]
		if n.Usable && n.Suspected == nil {
			continue
		}
		st, by, at, why := strings.Join(n.State, "+"), n.ReasonBy, "", n.Reason
		if n.ReasonAt != nil {
			at = stamp(*n.ReasonAt)
		}
		if n.Suspected != nil {
			st += ", suspected"
		}
		if n.Stale {
			st += ", not seen"
		}
		rows = append(rows, []string{string(n.Site) + "/" + n.Name, st, by, at, why})
	}
	return rows
}

func (s *server) operationTable(r *http.Request, all []v1.Operation) Node {
	rows := [][]string{{"OPERATION", "TIME", "USER", "COMMAND", "JOBS", "SETTLED", "FAILED"}}
	for i := range all {
		o := &all[i]
		rows = append(rows, []string{o.ID.String(), stamp(o.Time), o.User, o.Command, itoa(o.Jobs), itoa(o.Settled), itoa(o.Failed)})
	}
	return linkedTable("Operations on many jobs", rows, func(i int) string { return s.at(r) + "/operation/" + all[i].ID.String() })
}

// operation is the page of one operation on many jobs, and how it goes on.
func (s *server) operation(r *http.Request) (*page, error) {
	n, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	id := action.OperationID(n)
	if err != nil {
		return nil, federation.ErrNotFound
	}
	o, err := s.api.Operation(r.Context(), id, 0)
	if err != nil {
		return nil, err
	}
	p := &page{title: "Operation " + o.ID.String(), command: "fed job operations", data: o, table: [][]string{{"JOB", "SITE", "DONE", "NOTE"}}}
	done := map[bool]string{true: "no", false: "yes"}
	for _, x := range o.Items {
		word := done[x.Failed]
		if x.Settled == 0 {
			word = ""
		}
		p.table = append(p.table, []string{x.Job, string(x.Site), word, x.Note})
	}
	end := "It goes on."
	if o.Ended != nil {
		end = "It has ended."
	}
	waiting := ""
	if len(o.Waiting) > 0 {
		waiting = " It waits for " + strings.Join(o.Waiting, ", ") + "."
	}
	p.parts = []Node{
		E("p", Class("lead"), E("code", o.Command), " by "+o.User+" ", moment(o.Time)),
		E("p", cell("settled", "number", itoa(o.Settled)), " of "+count(o.Jobs, "job")+" settled, ", cell("failed", "number", itoa(o.Failed)), " of them not done. ", cell("end", "", end+waiting)),
		textTable("Jobs", p.table[:min(len(p.table), 501)]),
	}
	return p, nil
}
