package controller

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"fsub/federation"
	"fsub/federation/driver"
	"fsub/federation/place"
	"fsub/federation/share"
)

// watch looks at the sites: at their nodes, and at our jobs there. A driver that knows by itself when there is
// something new says so.
type watch struct {
	now     func() time.Time
	t       Timing
	log     *slog.Logger
	metrics *metrics
	sites   *roster
	batch   *pendingBatch
	agenda  *agenda
	calls   *calls
	asides  *aside
	reports siteReports
	looks   siteLooks
	nodes   nodesResumed
	wanted  func() map[federation.SiteName]bool // sites that somebody waits to see anew
	came    chan struct{}                       // some site has news

	began  time.Time // of this daemon, when it has read the live jobs
	looked bool      // since then all sites have been looked at, or could have been
}

// siteReports takes in what a site's controller says of our jobs.
type siteReports interface {
	takeReport(s *site, sj federation.SiteJob)
	begun(s *site, id federation.JobID)
	findMissing(s *site, r federation.JobsReport)
	late(s *site, sj federation.SiteJob)
}

// siteLooks adds to a look what operators want of the site's nodes, and what the rules of health say of them.
type siteLooks interface {
	looked(s *site, o *federation.Observation) *federation.Observation
}

// nodesResumed tells when a node was resumed; zero: it is drained, or was never.
type nodesResumed interface {
	resumed(site federation.SiteName, node string) time.Time
}

// addSites makes the configured sites members of the federation.
func (w *watch) addSites(configured []Site) {
	for i := range configured {
		s := w.newSite(&configured[i])
		w.sites.add(s)
		w.listenTo(s)
	}
}

// due tells when the next look is, by sooner.
func (w *watch) due(sooner func(time.Time)) {
	for _, s := range w.sites.all {
		if !s.polling {
			sooner(s.nextPoll)
		}
		if !s.observing {
			sooner(s.nextObserve)
		}
	}
	if !w.looked {
		sooner(w.began.Add(w.t.Observe))
	}
}

// unreached notes that a site could not be reached: it is not planned for again before a good poll.
func (w *watch) unreached(s *site, err error) {
	s.pollError, s.nextPoll = err, w.now()
	w.health(s)
}

func (w *watch) newSite(sc *Site) *site {
	s := &site{slots: make(chan struct{}, submitSlots), acts: share.New(actSlots, actsOfUser).Bound(actsWait), jobs: map[federation.JobID]*job{}}
	s.Site = federation.Site{Name: sc.Name, State: federation.FedActive, Error: "not seen yet", ErrorSince: w.now().UTC()}
	s.configure(sc)
	if err := w.asides.sites[sc.Name]; err != nil {
		s.observeError, s.pollError, s.nextObserve, s.nextPoll, s.Error = err, err, w.asides.until, w.asides.until, err.Error()
	}
	return s
}

// look asks for the observations and polls that are due.
func (w *watch) look() {
	now := w.now()
	for name, again := range w.wanted() {
		s := w.sites.byName[name]
		if s != nil && again {
			s.nextPoll, s.nextObserve = now, now
		}
		if s != nil && s.pollError == nil && s.nextPoll.After(now) {
			if s.nextPoll = s.polled.Add(lookGap); s.nextPoll.Before(now) {
				s.nextPoll = now
			}
		}
	}
	for _, s := range w.sites.all {
		subject{site: s.Name}.do(func() { w.lookAt(s, now) })
	}
}

// lookAt asks for what is due of one site.
func (w *watch) lookAt(s *site, now time.Time) {
	w.takeNews(s)
	if !s.observing && !now.Before(s.nextObserve) {
		s.observing = true
		d := s.driver
		w.calls.add(s, observed{}, func(ctx context.Context) any {
			o, err := d.Observe(ctx)
			return observed{obs: o, err: err}
		})
	}
	if !s.polling && !now.Before(s.nextPoll) {
		s.polling = true
		mark, d := s.mark, s.driver
		if mark == nil {
			mark = s.alive()
		}
		w.calls.add(s, polled{}, func(ctx context.Context) any {
			r, err := d.Jobs(ctx, mark)
			return polled{report: r, err: err}
		})
	}
}

// takeObserved takes in a look at a site's nodes. A failed look leaves the last good one in place: its age shows.
func (w *watch) takeObserved(s *site, r observed) {
	now := w.now().UTC()
	s.observing = false
	s.observeError = r.err
	if r.err != nil {
		s.observeFails++
		s.nextObserve = now.Add(w.pause(s, s.observeFails))
	} else {
		s.observeFails = 0
		s.nextObserve = now.Add(w.t.Observe)
		s.SeenAt = r.obs.At
		// What says nothing new is not read again by anybody, unless placement has failed over it.
		seen := w.looks.looked(s, r.obs)
		if s.Seen == nil || s.Seen == s.unread || !s.Seen.Same(seen) {
			s.Seen = seen
			s.Pools = place.Pools(s.Name, seen)
			w.agenda.plan = true
		}
		if s.power != nil {
			if rates := s.power(now); !rates.Equal(s.Power) {
				s.Power, w.agenda.plan = rates, true
			}
		}
	}
	w.health(s)
}

// health sets whether the site counts as answering: its last look and its last poll were good.
func (w *watch) health(s *site) {
	err := errors.Join(s.observeError, s.pollError)
	answering := err == nil && s.Seen != nil
	text := "not seen yet"
	s.NextTry = time.Time{}
	if err != nil {
		text = cmp.Or(s.observeError, s.pollError).Error()
		if s.NextTry = s.nextPoll; s.pollError == nil {
			s.NextTry = s.nextObserve
		}
	} else if answering {
		text = ""
	}
	if answering != s.Answering {
		w.agenda.plan = true
	}
	if text != s.Error {
		if answering && slices.ContainsFunc(s.Conditions, func(k federation.Condition) bool { return k.Name == federation.CondNotSeen }) {
			w.log.Info("site answers", "site", s.Name) // note logs the other changes
		}
		s.ErrorSince = w.now().UTC()
		if text == "" {
			s.ErrorSince = time.Time{}
		}
	}
	s.Answering, s.Error, s.Denied = answering, text, errors.Is(err, federation.ErrDenied)
	if !s.Lost.IsZero() && answering && s.returned.IsZero() {
		s.returned = w.now().UTC()
	}
	w.metrics.answering(s.Name, answering)
	w.note(s)
}

// listenTo lets a driver that can tell of changes wake the controller.
func (w *watch) listenTo(s *site) {
	if s.can.Notify == nil {
		return
	}
	s.can.Notify.Notify(func(what driver.News) {
		if what.Jobs {
			s.news.jobs.Store(true)
		}
		if what.Nodes {
			s.news.nodes.Store(true)
		}
		select {
		case w.came <- struct{}{}:
		default:
		}
	})
}

// takeNews has a site looked at now if there is something new to be seen. While a look is under way, or the site
// does not answer, it waits: a look that has begun may not show it.
func (w *watch) takeNews(s *site) {
	now := w.now()
	if !s.polling && s.pollError == nil && s.news.jobs.Swap(false) {
		s.nextPoll = now
	}
	if !s.observing && s.observeError == nil && s.news.nodes.Swap(false) {
		s.nextObserve = now
	}
}

// takePolled takes in a site controller's view of our jobs: what has changed, and what it does not know any more.
func (w *watch) takePolled(s *site, r polled) {
	s.polling = false
	s.pollError = r.err
	if r.err != nil {
		s.pollFails++
		s.nextPoll = w.now().Add(w.pause(s, s.pollFails))
		w.health(s)
		return
	}
	s.pollFails = 0
	s.mark, s.polled = r.report.Mark, r.report.At
	if s.anew || !s.Lost.IsZero() { // a lost site has nothing of ours, and tells all that it thinks it has each time
		s.mark, s.anew = nil, false
	}
	s.nextPoll = w.now().Add(w.pollEvery(s))
	w.health(s)
	for _, sj := range r.report.Changed {
		subject{sj.ID, s.Name}.do(func() { w.reports.takeReport(s, sj) })
	}
	for _, id := range r.report.Begun {
		w.reports.begun(s, id)
	}
	for _, sj := range r.report.Late {
		w.reports.late(s, sj)
	}
	w.reports.findMissing(s, r.report)
}

// pollLost is how often, at the most, a lost site is asked whether it is back: what it still has is to be ended before it runs.
const pollLost = 2 * time.Second

// pause is how long a site is left alone after so many failures in a row.
func (w *watch) pause(s *site, fails int) time.Duration {
	d := w.t.backoff(fails)
	if !s.Lost.IsZero() {
		d = min(d, pollLost)
	}
	return apart(d, s.Name, fails)
}

// pollEvery is how soon to look again: seldom at a site that has nothing of ours.
func (w *watch) pollEvery(s *site) time.Duration {
	if len(s.jobs) == 0 {
		return w.t.Observe
	}
	return w.t.Poll
}

// lookedAround reports whether every site has answered or failed to, or has had its time for it: what is bound
// before goes to the site that happens to answer first.
func (w *watch) lookedAround(now time.Time) bool {
	if w.looked {
		return true
	}
	w.looked = now.Sub(w.began) >= w.t.Observe || !slices.ContainsFunc(w.sites.all, func(s *site) bool { return s.Seen == nil && s.observeError == nil })
	return w.looked
}
