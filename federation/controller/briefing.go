package controller

import (
	"time"

	"fsub/federation"
	"fsub/federation/fairshare"
	"fsub/federation/predict"
)

// briefing tells placement what it plans by, but for jobs.
type briefing struct {
	now       func() time.Time
	sites     *roster
	batch     *pendingBatch
	limits    *limits
	runs      *runTimes
	waits     predict.Waits // nil: nothing is foretold of the waits at sites
	fairShare *fairshare.Shares
	queue     *queue
}

// all is for a plan.
func (c *briefing) all(now time.Time) {
	c.tell()
	c.queue.share(now)
	if c.limits.book != nil {
		c.queue.world.SetPreempting(c.limits.book.Preempting())
		c.queue.world.SetGuarantees(c.limits.book.Guarantees())
	}
	c.passRuns(now)
}

// tell tells placement of the sites that have changed.
func (c *briefing) tell() {
	c.queue.world.KeepSites(func(name federation.SiteName) bool { return c.sites.byName[name] != nil })
	for _, s := range c.sites.all {
		s.expire(c.now())
		s.Ahead = s.pace.ahead(c.now())
		c.foresee(s)
		s.Payers = c.limits.payers()
		seen := s.Seen
		if s.unread != nil && s.unread == seen {
			seen = nil
		}
		if t := s.told; t == nil || t.Seen != seen || !placedAlike(t, &s.Site) {
			site := s.Site
			site.Seen, s.told = seen, &site
			c.queue.world.SetSite(&site)
		}
	}
}
