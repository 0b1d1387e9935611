package client

import (
	"context"
	"net/url"
	"strconv"

	"fsub/federation"
	v1 "fsub/federation/api/v1"
)

// Pools tells how the pools of rented machines stand; operators only.
func (c *Client) Pools(ctx context.Context) ([]v1.Pool, error) {
	out, err := get[[]v1.Pool](ctx, c, "/fed/v1/pools")
	return *out, err
}

// Machines lists the rented machines of a site, or of all (""), the newest first; ended tells of those too that have ended. Operators only.
func (c *Client) Machines(ctx context.Context, site federation.SiteName, ended bool) ([]v1.Machine, error) {
	q := url.Values{}
	if site != "" {
		q.Set("site", string(site))
	}
	if ended {
		q.Set("since", strconv.Itoa(0))
	}
	out, err := get[[]v1.Machine](ctx, c, "/fed/v1/machines?"+q.Encode())
	return *out, err
}

// RetryPools has the cloud of a site's rented pools asked again for what it has refused, and tells what that was; operators only.
func (c *Client) RetryPools(ctx context.Context, site federation.SiteName) (forgiven []v1.Cooling, err error) {
	err = c.Do(ctx, "POST", "/fed/v1/site/"+url.PathEscape(string(site))+"/retry", nil, &forgiven)
	return forgiven, err
}
