package client

import (
	"context"
	"net/url"

	v1 "fsub/federation/api/v1"
)

// EditAccounts changes the account tree.
func (c *Client) EditAccounts(ctx context.Context, q v1.EditAccounts) (out v1.EditAccountsResponse, err error) {
	err = c.Do(ctx, "POST", "/fed/v1/accounts", q, &out)
	return out, err
}

// ImportAccounts brings a site's accounts into the tree; operators only.
func (c *Client) ImportAccounts(ctx context.Context, q v1.ImportAccounts) (out v1.EditAccountsResponse, err error) {
	err = c.Do(ctx, "POST", "/fed/v1/accounts/import", q, &out)
	return out, err
}

// SyncAccounts makes a site's accounts agree with the tree; operators only.
func (c *Client) SyncAccounts(ctx context.Context, q v1.SyncAccounts) (out v1.AccountDrift, err error) {
	err = c.Do(ctx, "POST", "/fed/v1/accounts/sync", q, &out)
	return out, err
}

// AccountDrift tells what sites have otherwise than the tree; all sites if none is named. Operators only.
func (c *Client) AccountDrift(ctx context.Context, sites []string) (out v1.AccountDrift, err error) {
	err = c.Do(ctx, "GET", "/fed/v1/accounts/drift?"+url.Values{"site": sites}.Encode(), nil, &out)
	return out, err
}
