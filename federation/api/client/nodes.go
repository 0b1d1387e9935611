package client

import (
	"context"
	"net/url"

	"fsub/federation"
	v1 "fsub/federation/api/v1"
)

// Nodes lists the nodes that names and conditions choose, all if there are neither: see [v1.SetNodes].
func (c *Client) Nodes(ctx context.Context, names, where []string) ([]v1.Node, error) {
	return List(ctx, c, &v1.Nodes, v1.NodeQuery{Nodes: names, Where: where})
}

// Node is one node with its history.
func (c *Client) Node(ctx context.Context, id federation.NodeID) (*v1.Node, error) {
	return get[v1.Node](ctx, c, "/fed/v1/node/"+url.PathEscape(string(id.Site))+"/"+url.PathEscape(id.Name))
}

// SetNodes drains nodes or resumes them; operators only.
func (c *Client) SetNodes(ctx context.Context, r v1.SetNodes) ([]v1.NodeSet, error) {
	var out v1.SetNodesResponse
	err := c.Do(ctx, "POST", "/fed/v1/nodes/state", r, &out)
	return out.Nodes, err
}
