package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"fsub/federation"
	"fsub/federation/api/answer"
	"fsub/federation/api/identity"
	v1 "fsub/federation/api/v1"
	"fsub/federation/audit"
	"fsub/federation/driver"
	"fsub/federation/health"
	"fsub/federation/journal"
	"fsub/federation/plain"
	"fsub/federation/share"
)

// rebootWait is how long a site may take to accept the reboot of its nodes.
const rebootWait = 30 * time.Second

// Reboot is POST /fed/v1/nodes/reboot: has nodes reboot, or takes that back. It is carried out at once, or not at all: a reboot is nothing to be repeated later.
func (s *nodes) Reboot(r *http.Request, c identity.Caller, q *v1.RebootNodes) (v1.SetNodesResponse, error) {
	q.NextState, q.Reason = strings.ToUpper(q.NextState), strings.TrimSpace(q.Reason)
	if err := plain.Check("reason", q.Reason, plain.MaxReason); err != nil {
		return v1.SetNodesResponse{}, invalidNodes(err)
	}
	switch {
	case q.NextState != "" && q.NextState != "RESUME" && q.NextState != "DOWN":
		return v1.SetNodesResponse{}, invalidNodes(fmt.Errorf("unknown next state %q: use RESUME or DOWN", q.NextState))
	case q.Cancel && (q.ASAP || q.NextState != "" || q.Reason != ""):
		return v1.SetNodesResponse{}, invalidNodes(fmt.Errorf("to cancel a reboot takes nodes and nothing else"))
	case len(q.Nodes) == 0 && len(q.Where) == 0:
		return v1.SetNodesResponse{}, invalidNodes(fmt.Errorf("no node is named: write SITE/HOSTLIST, or a condition"))
	}
	all, err := s.all(r.Context())
	if err != nil {
		return v1.SetNodesResponse{}, err
	}
	chosen, err := chooseNodes(all, q.Nodes, q.Where)
	if err != nil {
		return v1.SetNodesResponse{}, invalidNodes(err)
	}
	if len(chosen) == 0 {
		return v1.SetNodesResponse{}, &federation.SlurmError{Kind: federation.ErrNotFound, Text: "no node is meant; see: fed node list"}
	}
	out, err := s.reboot(r.Context(), c, q, chosen)
	if err != nil {
		return v1.SetNodesResponse{}, err
	}
	return v1.SetNodesResponse{Nodes: out}, nil
}

// reboot orders the reboot of nodes, or takes that back, site by site. What others have said of a node outlives it: their reason stays, and RESUME does not end
// their drain.
func (s *nodes) reboot(ctx context.Context, c identity.Caller, q *v1.RebootNodes, chosen []memberNode) ([]v1.NodeSet, error) {
	type call struct {
		site  federation.SiteName
		plain bool // without a reason of ours
	}
	var order []call
	orders := map[call][]int{}
	verb, after := "reboot", "REBOOT"
	if q.Cancel {
		verb, after = "cancel-reboot", ""
	}
	out := make([]v1.NodeSet, len(chosen))
	var asked journal.Batch
	for i := range chosen {
		m := &chosen[i]
		out[i] = v1.NodeSet{Site: m.site.Name, Name: m.node.Name}
		others := s.keptByOthers(m)
		switch {
		case s.rebooter(m.site.Name) == nil:
			out[i].Left, out[i].Note = true, "its site cannot reboot nodes: drain it, and the machine is replaced"
		case !m.site.Answering:
			out[i].Left, out[i].Note = true, "the site does not answer: nothing was done"
		case others != "" && q.NextState == "RESUME":
			out[i].Left, out[i].Note = true, others+": without nextstate=RESUME it reboots and stays so"
		}
		entry := audit.Entry{At: s.Now().UTC(), Who: answer.By(c), Verb: verb, Kind: audit.Node, Object: m.id().String(),
			Before: strings.Join(m.node.State, "+"), After: after, Why: q.Reason, Result: out[i].Note}
		asked.Audit = append(asked.Audit, entry)
		if out[i].Left {
			continue
		}
		if !q.Cancel {
			asked.NodeEvents = append(asked.NodeEvents, federation.NodeEvent{Node: m.id(), At: entry.At, Who: c.Name, From: string(m.record.Wants(entry.At)), To: "REBOOT", Wanted: true, Why: q.Reason})
		}
		k := call{m.site.Name, others != "" && !q.Cancel}
		if orders[k] == nil {
			order = append(order, k)
		}
		orders[k] = append(orders[k], i)
	}
	if err := s.Store.Commit(ctx, &asked); err != nil {
		return nil, answer.OfStore(err, answer.TimedOut)
	}
	var failed journal.Batch
	for _, k := range order {
		o := driver.RebootOrder{Cancel: q.Cancel, ASAP: q.ASAP, NextState: q.NextState}
		if q.Reason != "" && !k.plain {
			o.Reason = (&federation.NodeRecord{Owner: c.Name, Reason: q.Reason}).Text(s.Mark)
		}
		for _, i := range orders[k] {
			o.Nodes = append(o.Nodes, out[i].Name)
		}
		err := s.tellReboot(ctx, k.site, o)
		if err == nil {
			continue
		}
		note := err.Error()
		if errors.Is(err, federation.ErrUnavailable) {
			note += ": it may have been ordered, or not"
		}
		for _, i := range orders[k] {
			out[i].Left, out[i].Note = true, note
			failed.Audit = append(failed.Audit, audit.Entry{At: s.Now().UTC(), Who: answer.By(c), Verb: verb, Kind: audit.Node,
				Object: chosen[i].id().String(), Why: q.Reason, Result: note})
		}
	}
	if len(failed.Audit) > 0 {
		if err := s.Store.Commit(ctx, &failed); err != nil {
			return nil, answer.OfStore(err, answer.TimedOut)
		}
	}
	return out, nil
}

func (s *nodes) tellReboot(ctx context.Context, site federation.SiteName, o driver.RebootOrder) error {
	defer share.Idle(ctx)()
	ctx, cancel := context.WithTimeout(ctx, rebootWait)
	defer cancel()
	return s.rebooter(site).RebootNodes(ctx, o)
}

func (s *nodes) rebooter(site federation.SiteName) driver.Rebooter {
	if s.Reboots == nil {
		return nil
	}
	return s.Reboots(site)
}

// keptByOthers says who else has drained a node or taken it DOWN, "" if nobody has.
func (s *nodes) keptByOthers(m *memberNode) string {
	text := ""
	if m.record != nil {
		text = m.record.Text(s.Mark)
	}
	is, by := health.ConditionOf(m.node), health.AuthorOf(m.node, text, s.Mark)
	if m.node.Unconfirmed || is == health.Up || is == health.Between || by == health.Ours || by == health.Earlier || by == health.Silence {
		return ""
	}
	return strings.TrimSpace(fmt.Sprintf("%s at the site by %s: %s", is, drainAuthor(m.node, by), m.node.Reason))
}
