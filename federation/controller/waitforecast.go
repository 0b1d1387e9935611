package controller

import (
	"time"
)

const (
	// outlookEvery is how long a forecast of the waits at a site stands: placement plans anew with each.
	outlookEvery = 10 * time.Second
	// youngFor is how long a queue that is new to us is foretold after each look: every start that was seen says more than all time limits.
	youngFor = 2 * time.Minute
)

// foresee has the forecasts of waits follow what a site says of its queue.
func (c *briefing) foresee(s *site) {
	if c.waits == nil || s.Seen == nil {
		return
	}
	if s.Seen != s.followed {
		s.followed, s.outdated = s.Seen, true
		c.batch.waits(c.waits.Look(s.Name, s.Seen))
	}
	q, now := c.waits[s.Name], c.now()
	if q != nil && s.outdated && (s.Outlook == nil || now.Sub(s.foreseen) >= outlookEvery || q.Young(now, youngFor)) {
		s.Outlook, s.foreseen, s.outdated = q.Outlook(now), now, false
	}
}
