package controller

import (
	"sync/atomic"

	"fsub/federation"
)

// news is what a site's driver has said that there is to be seen, and the controller has not looked at yet.
type news struct{ jobs, nodes atomic.Bool }

// listen has the drivers that can tell of changes wake the controller.
func (c *Controller) listen() {
	for _, s := range c.sites {
		if s.can.Notify == nil {
			continue
		}
		s.can.Notify.Notify(func(what federation.News) {
			if what.Jobs {
				s.news.jobs.Store(true)
			}
			if what.Nodes {
				s.news.nodes.Store(true)
			}
			select {
			case c.newsCame <- struct{}{}:
			default:
			}
		})
	}
}

// takeNews has a site looked at now if there is something new to be seen. While a look is under way, or the site does not answer, it waits: a look that has begun may not
// show it.
func (c *Controller) takeNews(s *site) {
	now := c.now()
	if !s.polling && s.pollError == nil && s.news.jobs.Swap(false) {
		s.nextPoll = now
	}
	if !s.observing && s.observeError == nil && s.news.nodes.Swap(false) {
		s.nextObserve = now
	}
}

// returned takes back a job that its site could not start after all. It counts as no attempt, and the site is asked again when it has been seen
// anew: what it lacks shows in its nodes.
func (c *Controller) returned(s *site, j *job, sj federation.SiteJob) {
	why := string(sj.Reason)
	if sj.Detail != "" {
		why += ": " + sj.Detail
	}
	c.takeRestarts(s, j, &sj) // it may have run there before
	j.att.Class = federation.ClassCapacity
	c.finishAttempt(j, federation.AttemptWithdrawn, "given back: "+why)
	c.event(j, "%s gave it back: %s", s.Name, why)
	j.leaveOut(federation.Rejection{Site: s.Name, Reason: sj.Reason, Detail: sj.Detail}, c.now().Add(c.t.Observe/5))
	s.nextObserve = c.now()
	c.backToQueue(j, sj.Reason)
}
