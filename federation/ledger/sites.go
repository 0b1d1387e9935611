package ledger

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"fsub/federation"
)

// sites are the members of the federation whose accounting is read. They join, and are described anew, while it is.
type sites struct {
	mu sync.Mutex
	by map[federation.SiteName]*reader
}

// Join takes in a site that has joined the federation, or that is described anew. What it has is read on from where the books know it to have been read, as
// after a restart.
func (c *Collector) Join(s Site) {
	c.sites.mu.Lock()
	defer c.sites.mu.Unlock()
	c.sites.by[s.Name] = newReader(s)
}

// reader is what reads a site; nil: there is no such site.
func (c *Collector) reader(name federation.SiteName) *reader {
	c.sites.mu.Lock()
	defer c.sites.mu.Unlock()
	return c.sites.by[name]
}

func (c *Collector) siteNames() []federation.SiteName {
	c.sites.mu.Lock()
	defer c.sites.mu.Unlock()
	return slices.Sorted(maps.Keys(c.sites.by))
}

// readSites reads each site again and again, those too that join meanwhile.
func (c *Collector) readSites(ctx context.Context, g *errgroup.Group) error {
	begun := map[federation.SiteName]bool{}
	return every(ctx, sitesEvery, func() {
		for _, name := range c.siteNames() {
			if !begun[name] {
				begun[name] = true
				g.Go(func() error { return c.readSite(ctx, name) })
			}
		}
	})
}

// readSite reads a site again and again, and logs when that fails and when it works again.
func (c *Collector) readSite(ctx context.Context, name federation.SiteName) error {
	failing := false
	return every(ctx, sitesEvery, func() {
		if c.reader(name).Accounts == nil {
			return
		}
		err := c.Site(ctx, name)
		switch {
		case ctx.Err() != nil, errors.Is(err, errResting):
			return
		case err != nil && !failing && !errors.Is(err, federation.ErrInvalid):
			c.Logger.Warn("accounting of a site not read", "site", name, "err", err)
		case err == nil && failing:
			c.Logger.Info("accounting of a site is read again", "site", name)
		}
		failing = err != nil
	})
}
