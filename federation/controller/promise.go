package controller

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"time"

	"fsub/federation"
	"fsub/federation/decision"
	"fsub/federation/driver"
	"fsub/federation/place"
	"fsub/slurm/hostlist"
)

// The place that a plan keeps for a gang is known to us alone: a job that somebody submits to the site directly takes the nodes as they become free. Where the site is configured for it,
// a reservation there holds the place: from when the gang is planned to start, for a short time, for that job alone. Nothing of it is stored: what there is the site's looks tell, and the names
// of reservations tell whose they are, so that a daemon that was killed in between, or another one, goes on from what it finds. Without a daemon the site removes them by itself.

const (
	promiseFor  = 15 * time.Minute // how long a reservation is, at most; while its job waits there it is extended
	promiseIdle = 5 * time.Minute  // the site removes it when it has begun and no job has been in it, or has waited for it, for so long
	promiseMost = time.Hour        // after its begin it is not extended any more
	promiseOver = time.Minute      // it ends so soon when its job has started

	// promiseMargin is how much later than planned it begins where another job of ours, which waits at the site, would otherwise run into it: a job that is a little late could then not start in front of
	// the reservation, and the gang, planned for when that job is over, would wait for it for ever. Elsewhere there is no margin: each local job that got in between would move the gang's start.
	promiseMargin = 2 * time.Minute

	promiseSlack = 30 * time.Second // a begin that is off by less is not changed
	promiseEach  = 10 * time.Second // between two calls about one of them
	promiseLater = 10 * time.Minute // after the site has said that we may not
)

// promises hold places at sites.
type promises struct {
	federation string
	now        func() time.Time
	t          Timing
	log        *slog.Logger
	sites      *roster
	jobs       *jobTable
	batch      *pendingBatch
	calls      *calls
	arrays     *arrays
	places     map[federation.SiteName]map[decision.Promised]place.Place // of the newest plan
	of         map[federation.SiteName]*sitePromises
}

// sitePromises are the reservations at one site.
type sitePromises struct {
	there   map[decision.Promised]*promised
	planned bool                 // a plan was made since it answers: before, no place that is kept there is known to be given up
	seen    time.Time            // when the look began that is known of
	retry   time.Time            // none is asked for before
	refused string               // why the site makes none
	made    bool                 // it has made some
	denied  map[string]time.Time // none is asked for these users before
}

// promised is a reservation that the site has, is asked for, or has refused.
type promised struct {
	driver.Promise // as the site has it; without a name it does not
	told           bool
	busy           bool
	changed        time.Time // when the last call was over: looks that began before say nothing
	retry          time.Time
	fails          int
	trouble        string
}

// promiseKept is the end of a call about a reservation.
type promiseKept struct {
	of      decision.Promised
	promise driver.Promise
	removed bool
	err     error
}

func (ps *promises) at(s *site) *sitePromises {
	p := ps.of[s.Name]
	if p == nil {
		p = &sitePromises{there: map[decision.Promised]*promised{}, denied: map[string]time.Time{}}
		ps.of[s.Name] = p
	}
	return p
}

// reconcile brings the reservations at the sites to what is wanted there.
func (ps *promises) reconcile() {
	now := ps.now()
	for _, s := range ps.sites.all {
		if s.can.Reserve == nil || s.Seen == nil {
			continue
		}
		p := ps.at(s)
		p.look(s)
		if !s.Answering || s.breaker.open {
			p.planned = false
			continue
		}
		if !p.planned || now.Before(p.retry) {
			continue
		}
		subject{site: s.Name}.do(func() { ps.mend(s, p, now) })
	}
}

// look takes in what the site shows.
func (p *sitePromises) look(s *site) {
	if !s.SeenAt.After(p.seen) {
		return
	}
	p.seen = s.SeenAt
	shown := map[decision.Promised]bool{}
	for i := range s.Seen.Reservations {
		r := &s.Seen.Reservations[i]
		if r.For.Of() == 0 {
			continue
		}
		shown[r.For] = true
		h := p.there[r.For]
		if h == nil {
			h = &promised{told: true}
			p.there[r.For] = h
		}
		if !h.busy && s.SeenAt.After(h.changed) {
			h.Promise = driver.Promise{Name: r.Name, Nodes: r.Nodes, Start: r.Start, End: r.End}
		}
	}
	for of, h := range p.there {
		if !shown[of] && !h.busy && s.SeenAt.After(h.changed) {
			h.Promise = driver.Promise{}
		}
	}
}

// mend makes the calls about one site's reservations that are due. What is not wanted any more goes first: it may be in the way of the others.
func (ps *promises) mend(s *site, p *sitePromises, now time.Time) {
	want, waits := ps.wanted(s, p, now), false
	for _, of := range inOrder(p.there) {
		h := p.there[of]
		if _, keep := want[of]; keep {
			continue
		}
		if h.Name == "" {
			if !h.busy && s.SeenAt.After(h.retry) {
				delete(p.there, of)
			}
			continue
		}
		waits = waits || h.busy || h.fails == 0
		if !h.busy && !now.Before(h.retry) {
			ps.ask(s, h, promiseKept{of: of, promise: h.Promise, removed: true})
		}
	}
	if waits {
		return
	}
	for _, of := range inOrder(want) {
		h, w := p.there[of], want[of]
		if h == nil {
			h = &promised{}
			p.there[of] = h
		}
		if h.busy || now.Before(h.retry) || now.Before(p.denied[w.User]) {
			continue
		}
		switch begun := h.Name != "" && !h.Start.After(now); {
		case h.Name != "" && h.holds(&w, now):
		case begun && (w.Start.After(now.Add(promiseSlack)) || !sameNodes(h.Nodes, w.Nodes)): // the site does not let us change that any more
			ps.ask(s, h, promiseKept{of: of, promise: h.Promise, removed: true})
		default:
			if begun {
				w.Start = time.Time{}
			}
			ps.ask(s, h, promiseKept{of: of, promise: w})
		}
	}
}

// holds reports whether a reservation is near enough to what is wanted. When it has begun, its begin stays as it is.
func (h *promised) holds(w *driver.Promise, now time.Time) bool {
	long := max(0, w.End.Sub(later(w.Start, now)))
	begins := h.Start.Sub(w.Start).Abs() <= promiseSlack || !h.Start.After(now) && !w.Start.After(now.Add(promiseSlack))
	return begins && w.End.Sub(h.End).Abs() <= long/3 && sameNodes(h.Nodes, w.Nodes)
}

func sameNodes(a, b []string) bool {
	return len(a) == len(b) && slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

// ask makes one call, after the round's commit.
func (ps *promises) ask(s *site, h *promised, v promiseKept) {
	h.busy = true
	can := s.can.Reserve
	ps.calls.add(s, v, func(ctx context.Context) any {
		r := v
		if v.removed {
			r.err = can.Unreserve(ctx, v.promise.Name)
		} else {
			r.err = can.Reserve(ctx, v.promise)
		}
		return r
	})
}

// take takes in what the site said.
func (ps *promises) take(s *site, v promiseKept) {
	p, now := ps.at(s), ps.now()
	h, j := p.there[v.of], ps.jobOf(v.of)
	if h == nil {
		return
	}
	h.busy, h.changed, h.retry = false, now, now.Add(promiseEach)
	if v.err != nil {
		ps.failed(s, p, h, v)
		return
	}
	h.fails, h.trouble, p.refused = 0, "", ""
	if !v.removed {
		p.made = true
		delete(p.denied, v.promise.User)
	}
	if v.removed {
		h.Promise, h.told = driver.Promise{}, false
		ps.log.Info("reservation removed", "job", v.of, "site", s.Name, "reservation", v.promise.Name)
		if j != nil && !j.live() {
			ps.batch.eventf(j, "%s does not hold %s any more: reservation %s is removed", s.Name, placeText(j, v.of), v.promise.Name)
		}
		return
	}
	if v.promise.Start.IsZero() {
		v.promise.Start = h.Start
	}
	h.Promise = v.promise
	if !h.told && j != nil {
		h.told = true
		ps.batch.eventf(j, "%s holds %s: reservation %s of %s from %s", s.Name, placeText(j, v.of), v.promise.Name, hostlist.Compress(v.promise.Nodes), v.promise.Start.UTC().Format(time.RFC3339))
	}
	ps.log.Info("reservation made", "job", v.of, "site", s.Name, "reservation", v.promise.Name, "start", v.promise.Start, "end", v.promise.End)
}

// deny notes that a site has refused a call. It reports whether that is the site's word on all of them: slurmctld says "Invalid user id" both of a caller who may make none and of a user whom it does
// not know.
func (p *sitePromises) deny(v promiseKept, now time.Time) (all bool) {
	if v.removed || errors.Is(v.err, federation.ErrInvalid) {
		return true
	}
	maps.DeleteFunc(p.denied, func(_ string, until time.Time) bool { return !now.Before(until) })
	p.denied[v.promise.User] = now.Add(promiseLater)
	return !p.made && len(p.denied) > 1
}

// failed takes in that a call about a reservation has failed.
func (ps *promises) failed(s *site, p *sitePromises, h *promised, v promiseKept) {
	now := ps.now()
	h.fails++
	h.retry = now.Add(max(promiseEach, ps.t.backoff(h.fails)))
	text := v.err.Error()
	switch {
	case errors.Is(v.err, federation.ErrInvalid), errors.Is(v.err, federation.ErrDenied):
		if p.deny(v, now) {
			p.retry = now.Add(promiseLater)
		}
		if p.refused != text {
			p.refused = text
			ps.log.Warn("the site does not hold places", "site", s.Name, "err", v.err)
		}
	case v.removed && errors.Is(v.err, federation.ErrConflict): // a job is in it
	default:
		ps.log.Debug("reservation", "job", v.of, "site", s.Name, "err", v.err)
	}
	if j := ps.jobOf(v.of); j != nil && !v.removed && h.trouble != text {
		h.trouble = text
		ps.batch.eventf(j, "%s does not hold %s: %v", s.Name, placeText(j, v.of), v.err)
	}
	if errors.Is(v.err, federation.ErrConflict) && !v.removed && h.Name != "" { // what is there is not what is wanted
		ps.ask(s, h, promiseKept{of: v.of, promise: h.Promise, removed: true})
	}
}

// promiseTries is how often a site that leaves the federation refuses to remove a reservation until that is left to itself.
const promiseTries = 5

// left reports whether a site that is to leave has reservations that are about to be removed. One that does not answer is not waited for: it removes them by itself.
func (ps *promises) left(s *site) bool {
	p := ps.of[s.Name]
	if p == nil || !s.Answering || s.breaker.open {
		return false
	}
	for _, h := range p.there {
		if h.busy || h.Name != "" && h.fails < promiseTries {
			return true
		}
	}
	return false
}

// due tells when something is to be done next.
func (ps *promises) due(sooner func(time.Time)) {
	for _, p := range ps.of {
		for _, h := range p.there {
			if !h.busy && h.fails == 0 && h.retry.After(ps.now()) {
				sooner(h.retry)
			}
		}
	}
}
