package controller

import (
	"context"
	"errors"
	"sort"
	"time"

	"fsub/federation"
	"fsub/federation/place"
)

// site is one member of the federation with what the controller alone knows of it.
type site struct {
	federation.Site
	driver federation.Driver
	can    federation.Abilities // of it
	slots  chan struct{}        // bounds the submissions that are under way at once

	observing, polling      bool
	nextObserve, nextPoll   time.Time
	observeFails, pollFails int
	observeError, pollError error
	unread                  *federation.Observation // that placement failed over
	news                    news
	mark                    federation.Mark
	polled                  time.Time                 // when the last good poll began
	jobs                    map[federation.JobID]*job // those with an attempt here that is not final
}

const submitSlots = 4

func (c *Controller) addSites() {
	for _, sc := range c.cfg.Sites {
		s := &site{driver: sc.Driver, can: federation.AbilitiesOf(sc.Driver), slots: make(chan struct{}, submitSlots), jobs: map[federation.JobID]*job{}}
		s.Site = federation.Site{
			Name: sc.Name, State: federation.FedActive, Prices: sc.Prices, Speed: sc.Speed,
			Backlog: sc.Backlog, Users: sc.Users, FileSystems: sc.FileSystems, Options: sc.Options, Error: "not seen yet", ErrorSince: c.now().UTC(),
		}
		c.sites = append(c.sites, s)
		c.byName[sc.Name] = s
	}
	sort.Slice(c.sites, func(i, k int) bool { return c.sites[i].Name < c.sites[k].Name })
}

// lookAtSites asks for the observations and polls that are due.
func (c *Controller) lookAtSites() {
	now := c.now()
	for name := range c.view.wanted() {
		if s := c.byName[name]; s != nil && s.pollError == nil && s.nextPoll.After(now) {
			if s.nextPoll = s.polled.Add(lookGap); s.nextPoll.Before(now) {
				s.nextPoll = now
			}
		}
	}
	for _, s := range c.sites {
		c.takeNews(s)
		if !s.observing && !now.Before(s.nextObserve) {
			s.observing = true
			c.calls.add(s, observed{}, func(ctx context.Context) any {
				o, err := s.driver.Observe(ctx)
				return observed{obs: o, err: err}
			})
		}
		if !s.polling && !now.Before(s.nextPoll) {
			s.polling = true
			mark := s.mark
			c.calls.add(s, polled{}, func(ctx context.Context) any {
				r, err := s.driver.Jobs(ctx, mark)
				return polled{report: r, err: err}
			})
		}
	}
}

// takeObserved takes in a look at a site's nodes. A failed look leaves the last good one in place: its age shows.
func (c *Controller) takeObserved(s *site, r observed) {
	now := c.now().UTC()
	s.observing = false
	s.observeError = r.err
	if r.err != nil {
		s.observeFails++
		s.nextObserve = now.Add(c.backoff(s.observeFails))
	} else {
		s.observeFails = 0
		s.nextObserve = now.Add(c.t.Observe)
		s.Seen = r.obs
		s.Pools = place.Pools(s.Name, r.obs)
		c.planDirty = true
	}
	c.health(s)
}

// health sets whether the site counts as answering: its last look and its last poll were good.
func (c *Controller) health(s *site) {
	err := errors.Join(s.observeError, s.pollError)
	answering := err == nil && s.Seen != nil
	text := "not seen yet"
	if err != nil {
		text = firstError(s.observeError, s.pollError).Error()
	} else if answering {
		text = ""
	}
	if answering != s.Answering {
		c.planDirty = true
	}
	if text != s.Error {
		if answering {
			c.log.Info("site answers", "site", s.Name)
		} else {
			c.log.Warn("site does not answer", "site", s.Name, "err", text)
		}
		s.ErrorSince = c.now().UTC()
		if text == "" {
			s.ErrorSince = time.Time{}
		}
	}
	s.Answering, s.Error, s.Denied = answering, text, errors.Is(err, federation.ErrDenied)
	c.metrics.answering(s.Name, answering)
}

func firstError(errs ...error) error {
	for _, e := range errs {
		if e != nil {
			return e
		}
	}
	return nil
}

// soon has the site's nodes looked at before their time, because a job of ours has ended there.
func (c *Controller) observeSoon(s *site) {
	if t := c.now().Add(c.t.Observe / 10); t.Before(s.nextObserve) {
		s.nextObserve = t
	}
}

// operators' words about sites are kept in the store, so that they outlive the daemon.
func (c *Controller) takeSiteStates(records map[federation.SiteName]federation.SiteRecord) {
	for _, s := range c.sites {
		state := federation.FedActive
		if r, ok := records[s.Name]; ok {
			state = r.State
		}
		if state != s.State {
			s.State = state
			c.planDirty = true
		}
	}
}
