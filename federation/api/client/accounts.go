package client

import (
	"context"
	"net/url"

	v1 "fsub/federation/api/v1"
)

// AccountDrift tells what sites have otherwise than the tree; all sites if none is named. Operators only.
func (c *Client) AccountDrift(ctx context.Context, sites []string) (out v1.AccountDrift, err error) {
	err = c.Do(ctx, "GET", "/fed/v1/accounts/drift?"+url.Values{"site": sites}.Encode(), nil, &out)
	return out, err
}
