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
	workflows *workflows
}

// all is for a plan.
func (br *briefing) all(now time.Time) {
	br.tell()
	br.queue.share(now)
	if br.limits.book != nil {
		br.queue.world.SetPreempting(br.limits.book.Preempting())
		br.queue.world.SetGuarantees(br.limits.book.Guarantees())
	}
	br.passRuns(now)
}

// tell tells placement of the sites that have changed.
func (br *briefing) tell() {
	br.queue.world.KeepSites(func(name federation.SiteName) bool { return br.sites.byName[name] != nil })
	for _, s := range br.sites.all {
		s.expire(br.now())
		s.Ahead = s.pace.ahead(br.now())
		br.foresee(s)
		s.Payers = br.limits.payers()
		seen := s.Seen
		if s.unread != nil && s.unread == seen {
			seen = nil
		}
		if t := s.told; t == nil || t.Seen != seen || !placedAlike(t, &s.Site) {
			site := s.Site
			site.Seen, s.told = seen, &site
			br.queue.world.SetSite(&site)
		}
	}
}
