package slurm

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"fsub/federation"
	"fsub/federation/driver"
	"fsub/federation/health"
	"fsub/slurm/hostlist"
	"fsub/slurm/wire"
)

// nodesAtOnce bounds the nodes of one call. slurmctld stops at the first that it refuses; then they are told one by one.
const nodesAtOnce = 250

// nodes lists the nodes of the site, drains and resumes them, and has them rebooted.
type nodes struct {
	*site
	list list[wire.Node, federation.Node]
}

func newNodes(at *site) *nodes {
	return &nodes{at, list[wire.Node, federation.Node]{op: "nodes", path: wire.PathNodes, key: "nodes"}}
}

// SetNodes implements [driver.NodeSetter] with one look and one call for every 250 nodes. It looks first because slurmctld writes a
// reason over the one that is there, also when it refuses the state. A change that somebody makes between the look and the call is lost.
func (ns *nodes) SetNodes(ctx context.Context, o driver.NodeOrder) (left map[string]error, err error) {
	tr, err := ns.c.negotiated(ctx)
	if err != nil {
		return nil, err
	}
	if tr.old && len(ns.cfg.NodeCommand) == 0 {
		return nil, fmt.Errorf("set nodes at %s: %w: API version %s cannot update nodes: set node_command in the site's configuration", ns.cfg.Name, federation.ErrInvalid, tr.version)
	}
	nodes, err := ns.nodesNow(ctx, new(wire.NodesResponse))
	if err != nil {
		return nil, err
	}
	do, left := health.Todo(nodes, o)
	for _, action := range []health.Action{health.Drain, health.Undrain, health.Revive} {
		names := do[action]
		for len(names) > 0 {
			n := min(len(names), nodesAtOnce)
			if err := ns.updateNodes(ctx, names[:n], action, o.Text, left); err != nil {
				return left, err
			}
			names = names[n:]
		}
	}
	return left, nil
}

// updateNodes makes one change of several nodes, one by one if they are refused together. The error is for what says nothing about any node.
func (ns *nodes) updateNodes(ctx context.Context, names []string, action health.Action, reason string, left map[string]error) error {
	err := ns.updateNodesAtOnce(ctx, names, action, reason)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, federation.ErrUnavailable) && !errors.Is(err, errNoEndpoint):
		return err
	case len(names) == 1:
		left[names[0]] = err
		return nil
	case errors.Is(err, federation.ErrDenied): // the token may not do this to any
		return err
	}
	for _, name := range names {
		if err := ns.updateNodes(ctx, []string{name}, action, reason, left); err != nil {
			return err
		}
	}
	return nil
}

// nodeUpdate is the body of POST /nodes/ and POST /node/{name}.
type nodeUpdate struct {
	Names  []string `json:"name,omitempty"`
	State  []string `json:"state"`
	Reason string   `json:"reason,omitempty"`
}

func (ns *nodes) updateNodesAtOnce(ctx context.Context, names []string, action health.Action, reason string) error {
	if action != health.Drain {
		reason = ""
	}
	if len(ns.cfg.NodeCommand) > 0 {
		words := []string{"update", "NodeName=" + hostlist.Compress(names), "State=" + string(action)}
		if reason != "" {
			words = append(words, "Reason="+reason)
		}
		if err := ns.nodeCommand(ctx, words...); err != nil {
			return fmt.Errorf("%s %s at %s: %w", strings.ToLower(string(action)), hostlist.Compress(names), ns.cfg.Name, err)
		}
		return nil
	}
	r := request{op: "set-nodes", method: http.MethodPost, path: wire.PathNodes, body: nodeUpdate{names, []string{string(action)}, reason}}
	if len(names) == 1 {
		r.path, r.body = wire.PathNode+url.PathEscape(names[0]), nodeUpdate{nil, []string{string(action)}, reason}
	}
	var a wire.NodesResponse // of which only the head is there
	if err := ns.c.do(ctx, r, &a); err != nil {
		return err
	}
	for _, e := range a.Errors {
		return fmt.Errorf("%s %s at %s: %w", strings.ToLower(string(action)), hostlist.Compress(names), ns.cfg.Name, changeRefusal(e, wire.ErrNodeName))
	}
	return nil
}

// changeRefusal turns the refusal of a change into an error; missing is the number which says that what is to be changed is not there.
func changeRefusal(e wire.Error, missing int) error {
	kind := federation.ErrConflict // its state does not allow it now
	switch {
	case e.Number == missing:
		kind = federation.ErrNotFound
	case e.Number == wire.ErrAccess || e.Number == wire.ErrUserID:
		kind = federation.ErrDenied
	case e.Number >= 9000 && e.Number < 10000:
		kind = federation.ErrInvalid
	case unavailable(e.Number) || e.Number < 2000:
		kind = federation.ErrUnavailable
	}
	return slurmError(kind, e, "")
}

// nodeCommand runs the configured command with more words. What it says becomes the error.
func (ns *nodes) nodeCommand(ctx context.Context, words ...string) error {
	said, err := ns.operatorCommand(ctx, ns.cfg.NodeCommand, words)
	if err == nil {
		return nil
	}
	return commandRefusal(ctx, "node_command", said, "Invalid node name", err)
}
