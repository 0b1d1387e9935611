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
func (br *briefing) foresee(s *site) {
	if br.waits == nil || s.Seen == nil {
		return
	}
	if s.Seen != s.followed {
		s.followed, s.outdated = s.Seen, true
		br.batch.waits(br.waits.Look(s.Name, s.Seen))
	}
	q, now := br.waits[s.Name], br.now()
	if q != nil && s.outdated && (s.Outlook == nil || now.Sub(s.foreseen) >= outlookEvery || q.Young(now, youngFor)) {
		s.Outlook, s.foreseen, s.outdated = q.Outlook(now), now, false
	}
}
