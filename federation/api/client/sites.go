package client

import (
	"context"
	"net/url"

	"fsub/federation"
	v1 "fsub/federation/api/v1"
)

// Sites lists the members of the federation.
func (c *Client) Sites(ctx context.Context) ([]v1.Site, error) {
	return List(ctx, c, &v1.Sites, v1.SiteQuery{})
}

func sitePath(site federation.SiteName) string { return "/fed/v1/site/" + url.PathEscape(string(site)) }

// Site reads one site with its history.
func (c *Client) Site(ctx context.Context, site federation.SiteName) (*v1.SiteDetail, error) {
	return get[v1.SiteDetail](ctx, c, sitePath(site))
}

// SetSiteState changes a site's standing; operators only.
func (c *Client) SetSiteState(ctx context.Context, site federation.SiteName, r v1.SetSiteState) (out v1.SiteSet, err error) {
	err = c.Do(ctx, "POST", sitePath(site)+"/state", r, &out)
	return out, err
}

// TestSite has the daemon try a site; operators only.
func (c *Client) TestSite(ctx context.Context, site federation.SiteName) (out []v1.SiteCheck, err error) {
	err = c.Do(ctx, "POST", sitePath(site)+"/test", nil, &out)
	return out, err
}

// AddSite takes a site into the federation; operators only.
func (c *Client) AddSite(ctx context.Context, r v1.AddSite) (out v1.Site, err error) {
	err = c.Do(ctx, "POST", "/fed/v1/sites", r, &out)
	return out, err
}

// UpdateSite changes how a site is described; operators only.
func (c *Client) UpdateSite(ctx context.Context, site federation.SiteName, r v1.UpdateSite) (out v1.Site, err error) {
	err = c.Do(ctx, "POST", sitePath(site)+"/update", r, &out)
	return out, err
}
