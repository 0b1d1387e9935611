package controller

import (
	"cmp"
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
	places     map[federation.JobID]place.Place // of the newest plan
	of         map[federation.SiteName]*sitePromises
}

// sitePromises are the reservations at one site.
type sitePromises struct {
	there   map[federation.JobID]*promised
	seen    time.Time // when the look began that is known of
	retry   time.Time // none is asked for before
	refused string    // why the site makes none
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
	job     federation.JobID
	promise driver.Promise
	removed bool
	err     error
}

func (ps *promises) at(s *site) *sitePromises {
	p := ps.of[s.Name]
	if p == nil {
		p = &sitePromises{there: map[federation.JobID]*promised{}}
		ps.of[s.Name] = p
	}
	return p
}

// planned takes in what a plan keeps for gangs; nil: nothing.
func (ps *promises) planned(w *place.World) {
	clear(ps.places)
	if w == nil {
		return
	}
	for p := range place.Places(w) {
		ps.places[p.Job] = p
	}
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
		if !s.Answering || s.breaker.open || now.Before(p.retry) {
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
	shown := map[federation.JobID]bool{}
	for i := range s.Seen.Reservations {
		r := &s.Seen.Reservations[i]
		if r.For == 0 {
			continue
		}
		shown[r.For] = true
		h := p.there[r.For]
		if h == nil {
			h = &promised{}
			p.there[r.For] = h
		}
		if !h.busy && s.SeenAt.After(h.changed) {
			h.Promise = driver.Promise{Name: r.Name, Nodes: r.Nodes, Start: r.Start, End: r.End}
		}
	}
	for id, h := range p.there {
		if !shown[id] && !h.busy && s.SeenAt.After(h.changed) {
			h.Promise = driver.Promise{}
			if s.SeenAt.After(h.retry) {
				delete(p.there, id)
			}
		}
	}
}

// mend makes the calls about one site's reservations that are due. What is not wanted any more goes first: it may be in the way of the others.
func (ps *promises) mend(s *site, p *sitePromises, now time.Time) {
	want, waits := ps.wanted(s, p, now), false
	for _, id := range slices.Sorted(maps.Keys(p.there)) {
		h := p.there[id]
		if _, keep := want[id]; keep || h.Name == "" {
			continue
		}
		waits = waits || h.busy || h.fails == 0
		if !h.busy && !now.Before(h.retry) {
			ps.ask(s, h, promiseKept{job: id, promise: h.Promise, removed: true})
		}
	}
	if waits {
		return
	}
	for _, id := range slices.Sorted(maps.Keys(want)) {
		h := p.there[id]
		if h == nil {
			h = &promised{}
			p.there[id] = h
		}
		if h.busy || now.Before(h.retry) {
			continue
		}
		w := want[id]
		switch begun := h.Name != "" && !h.Start.After(now); {
		case h.Name != "" && h.holds(&w):
		case begun && (w.Start.After(now.Add(promiseSlack)) || !sameNodes(h.Nodes, w.Nodes)): // the site does not let us change that any more
			ps.ask(s, h, promiseKept{job: id, promise: h.Promise, removed: true})
		default:
			if begun {
				w.Start = time.Time{}
			}
			ps.ask(s, h, promiseKept{job: id, promise: w})
		}
	}
}

// holds reports whether a reservation is near enough to what is wanted.
func (h *promised) holds(w *driver.Promise) bool {
	return h.Start.Sub(w.Start).Abs() <= promiseSlack && w.End.Sub(h.End) <= promiseFor/3 && sameNodes(h.Nodes, w.Nodes)
}

func sameNodes(a, b []string) bool {
	return len(a) == len(b) && slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

// wanted are the reservations that a site is to have: of gangs for which the newest plan keeps a place, and of jobs that wait there in one. One whose job runs cannot be removed.
func (ps *promises) wanted(s *site, p *sitePromises, now time.Time) map[federation.JobID]driver.Promise {
	want := map[federation.JobID]driver.Promise{}
	for id, h := range p.there {
		j := ps.jobs.Of(id)
		if j == nil || !j.live() || j.att.Site != s.Name || j.att.Decision.Place == nil || h.Name == "" {
			continue
		}
		w := h.Promise
		w.User, w.Idle = s.user(&j.Job).Name, promiseIdle
		if waits := j.att.State == federation.AttemptIntended || j.att.State == federation.AttemptSubmitted; waits && now.Sub(w.Start) < promiseMost && w.Start.Before(now) {
			w.End = later(w.End, now.Add(promiseFor))
		}
		want[id] = w
	}
	if !s.promises || s.State != federation.FedActive || !s.Lost.IsZero() {
		return want
	}
	for id, at := range ps.places {
		j := ps.jobs.Of(id)
		if at.Site != s.Name || j == nil || !j.queued || j.live() || j.State != federation.Pending || j.Cancel || j.Spec.Reservation != "" {
			continue
		}
		if h := p.there[id]; at.Shared && (h == nil || h.Name == "") { // it would pass by those who wait there already
			continue
		}
		long := promiseFor
		if at.Limit > 0 {
			long = min(long, at.Limit)
		}
		want[id] = driver.Promise{Name: driver.PromiseName(ps.federation, id), User: s.user(&j.Job).Name, Nodes: at.Nodes, Start: at.Start, End: at.Start.Add(long), Idle: promiseIdle}
	}
	return want
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
	h, j := p.there[v.job], ps.jobs.Of(v.job)
	if h == nil {
		return
	}
	h.busy, h.changed, h.retry = false, now, now.Add(promiseEach)
	if v.err != nil {
		ps.failed(s, p, h, v)
		return
	}
	h.fails, h.trouble, p.refused = 0, "", ""
	if v.removed {
		h.Promise, h.told = driver.Promise{}, false
		ps.log.Info("reservation removed", "job", v.job, "site", s.Name, "reservation", v.promise.Name)
		if j != nil && !j.live() {
			ps.batch.eventf(j, "%s does not hold its place any more: reservation %s is removed", s.Name, v.promise.Name)
		}
		return
	}
	if v.promise.Start.IsZero() {
		v.promise.Start = h.Start
	}
	h.Promise = v.promise
	if !h.told && j != nil {
		h.told = true
		ps.batch.eventf(j, "%s holds its place: reservation %s of %s from %s", s.Name, v.promise.Name, hostlist.Compress(v.promise.Nodes), v.promise.Start.UTC().Format(time.RFC3339))
	}
	ps.log.Info("reservation made", "job", v.job, "site", s.Name, "reservation", v.promise.Name, "start", v.promise.Start, "end", v.promise.End)
}

// failed takes in that a call about a reservation has failed.
func (ps *promises) failed(s *site, p *sitePromises, h *promised, v promiseKept) {
	now := ps.now()
	h.fails++
	h.retry = now.Add(max(promiseEach, ps.t.backoff(h.fails)))
	text := v.err.Error()
	switch {
	case errors.Is(v.err, federation.ErrInvalid), errors.Is(v.err, federation.ErrDenied):
		p.retry = now.Add(promiseLater)
		if p.refused != text {
			p.refused = text
			ps.log.Warn("the site does not hold places", "site", s.Name, "err", v.err)
		}
	case v.removed && errors.Is(v.err, federation.ErrConflict): // a job is in it
	default:
		ps.log.Debug("reservation", "job", v.job, "site", s.Name, "err", v.err)
	}
	if j := ps.jobs.Of(v.job); j != nil && !v.removed && h.trouble != text {
		h.trouble = text
		ps.batch.eventf(j, "%s does not hold its place: %v", s.Name, v.err)
	}
	if errors.Is(v.err, federation.ErrConflict) && !v.removed && h.Name != "" { // what is there is not what is wanted
		ps.ask(s, h, promiseKept{job: v.job, promise: h.Promise, removed: true})
	}
}

// placeOf is the reservation that a site has for a job; nil: none.
func (ps *promises) placeOf(id federation.JobID, at federation.SiteName) *decision.Place {
	p := ps.of[at]
	if p == nil || p.there[id] == nil || p.there[id].Name == "" {
		return nil
	}
	h := p.there[id]
	return &decision.Place{Site: at, Reservation: h.Name, Nodes: hostlist.Compress(h.Nodes), Start: h.Start, End: h.End}
}

// anyPlaceOf is the same wherever it is.
func (ps *promises) anyPlaceOf(id federation.JobID) *decision.Place {
	for _, s := range ps.sites.all {
		if p := ps.placeOf(id, s.Name); p != nil {
			return p
		}
	}
	return nil
}

// into is the name of the reservation that an attempt is submitted into; "": none.
func into(a *federation.Attempt) string {
	return cmp.Or(a.Decision.Place, new(decision.Place)).Reservation
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
