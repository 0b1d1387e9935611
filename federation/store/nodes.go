package store

import (
	"context"
	"fmt"

	"fsub/federation"
	"fsub/federation/journal"
)

const (
	nodeColumns = "site, node, wish, owner, ticket, reason, jobs, since, until"
	upsertNode  = "INSERT INTO nodes (" + nodeColumns + ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (site, node) DO UPDATE SET " +
		"(wish, owner, ticket, reason, jobs, since, until) = ($3, $4, $5, $6, $7, $8, $9)"
	selectNodes = "SELECT " + nodeColumns + " FROM nodes ORDER BY site, node"

	nodeEventColumns = "site, node, at, who, was, is_now, wanted, why"
	insertNodeEvent  = "INSERT INTO node_events (" + nodeEventColumns + ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8)"
	selectNodeEvents = "SELECT " + nodeEventColumns + " FROM (SELECT seq, " + nodeEventColumns + " FROM node_events WHERE site = $1 AND node = $2 " +
		"ORDER BY seq DESC LIMIT $3) AS newest ORDER BY seq"
	lastNodeEvents   = "SELECT " + nodeEventColumns + " FROM node_events WHERE seq IN (SELECT MAX(seq) FROM node_events WHERE NOT wanted GROUP BY site, node) ORDER BY seq"
	deleteNodeEvents = "DELETE FROM node_events WHERE seq IN (SELECT seq FROM node_events WHERE at < $1 LIMIT $2)"
)

// nodeSteps are what writes the records and events of nodes of a batch.
func nodeSteps(b *journal.Batch, steps []step) []step {
	for i := range b.Nodes {
		r := &b.Nodes[i]
		args := []any{string(r.Node.Site), r.Node.Name, string(r.Wish), r.Owner, r.Ticket, r.Reason, r.Jobs, nanos(r.Since), nanos(r.Until)}
		steps = append(steps, step{upsertNode, args, "node " + r.Node.String(), 0, journal.Change{Kind: journal.ChangeNode, Site: r.Node.Site, State: string(r.Wish)}})
	}
	for i := range b.NodeEvents {
		e := &b.NodeEvents[i]
		args := []any{string(e.Node.Site), e.Node.Name, nanos(e.At), e.Who, e.From, e.To, e.Wanted, e.Why}
		steps = append(steps, step{insertNodeEvent, args, "event of node " + e.Node.String(), 0, journal.Change{Kind: journal.ChangeNodeEvent, Node: e}})
	}
	return steps
}

// Nodes implements [federation.NodeStore].
func (s *fleet) Nodes(ctx context.Context) ([]federation.NodeRecord, error) {
	all, err := query(ctx, s.readers, readNode, selectNodes)
	if err != nil {
		return nil, fmt.Errorf("list what is wanted of nodes: %w", err)
	}
	return all, nil
}

func readNode(r *row) federation.NodeRecord {
	return federation.NodeRecord{
		Node: federation.NodeID{Site: federation.SiteName(r.text()), Name: r.text()}, Wish: federation.NodeWish(r.text()), Owner: r.text(), Ticket: r.text(),
		Reason: r.text(), Jobs: r.text(), Since: r.time(), Until: r.time(),
	}
}

// NodeEvents implements [federation.NodeStore].
func (s *fleet) NodeEvents(ctx context.Context, id federation.NodeID, limit int) ([]federation.NodeEvent, error) {
	all, err := query(ctx, s.readers, readNodeEvent, selectNodeEvents, string(id.Site), id.Name, int64(limit))
	if err != nil {
		return nil, fmt.Errorf("history of node %s: %w", id, err)
	}
	return all, nil
}

// LastNodeEvents implements [federation.NodeStore].
func (s *fleet) LastNodeEvents(ctx context.Context) ([]federation.NodeEvent, error) {
	all, err := query(ctx, s.readers, readNodeEvent, lastNodeEvents)
	if err != nil {
		return nil, fmt.Errorf("last states of nodes: %w", err)
	}
	return all, nil
}

func readNodeEvent(r *row) federation.NodeEvent {
	return federation.NodeEvent{
		Node: federation.NodeID{Site: federation.SiteName(r.text()), Name: r.text()}, At: r.time(), Who: r.text(), From: r.text(), To: r.text(), Wanted: r.bool(), Why: r.text(),
	}
}
