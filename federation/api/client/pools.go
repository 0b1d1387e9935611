package client

import (
	"context"
	"net/url"
	"time"

	"fsub/federation"
	v1 "fsub/federation/api/v1"
)

// Machines lists the rented machines of a site, or of all (""), the newest first; ended tells of those too that have ended. Operators only.
func (c *Client) Machines(ctx context.Context, site federation.SiteName, ended bool) ([]v1.Machine, error) {
	q := v1.MachineQuery{Site: site}
	if ended {
		q.Since = time.Unix(0, 0)
	}
	return List(ctx, c, &v1.Machines, q)
}

// RetryPools has the cloud of a site's rented pools asked again for what it has refused, and tells what that was; operators only.
func (c *Client) RetryPools(ctx context.Context, site federation.SiteName) (forgiven []v1.Cooling, err error) {
	err = c.Do(ctx, "POST", "/fed/v1/site/"+url.PathEscape(string(site))+"/retry", nil, &forgiven)
	return forgiven, err
}
