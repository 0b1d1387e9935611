package client

import (
	"context"
	"net/url"

	v1 "fsub/federation/api/v1"
)

// SaveReport saves a report of the caller, in place of one of the same name.
func (c *Client) SaveReport(ctx context.Context, s v1.SavedReport) (out v1.SavedReport, err error) {
	err = c.Do(ctx, "POST", "/fed/v1/reports", s, &out)
	return out, err
}

// RemoveReport removes a saved report. user is whose it is; "": the caller's.
func (c *Client) RemoveReport(ctx context.Context, user, name string) error {
	return c.Do(ctx, "DELETE", "/fed/v1/report/"+url.PathEscape(name)+"?"+url.Values{"user": {user}}.Encode(), nil, nil)
}

// RunReport has a saved report delivered now, and says where it is.
func (c *Client) RunReport(ctx context.Context, user, name string) (string, error) {
	var out v1.DeliveredReport
	err := c.Do(ctx, "POST", "/fed/v1/report/"+url.PathEscape(name)+"/run?"+url.Values{"user": {user}}.Encode(), nil, &out)
	return out.To, err
}
