package client

import (
	"context"
	"fmt"

	"fsub/federation/action"
	v1 "fsub/federation/api/v1"
)

// Operate does one thing to many jobs, or with Preview shows to which.
func (c *Client) Operate(ctx context.Context, q v1.NewOperation) (*v1.Operation, error) {
	var out v1.Operation
	return &out, c.Do(ctx, "POST", "/fed/v1/operations", q, &out)
}

// Operation is how an operation stands, with the items that were settled after the n-th.
func (c *Client) Operation(ctx context.Context, id action.OperationID, after int) (*v1.Operation, error) {
	return get[v1.Operation](ctx, c, fmt.Sprintf("/fed/v1/operation/%d?after=%d", id, after))
}

// OperationTold says that the caller knows how an operation has ended.
func (c *Client) OperationTold(ctx context.Context, id action.OperationID) error {
	return c.Do(ctx, "POST", fmt.Sprintf("/fed/v1/operation/%d/told", id), nil, nil)
}
