package place

import (
	"cmp"
	"slices"
	"time"

	"fsub/federation"
)

// offers are what the candidates of a shape came to when a plan decided about a job of it. They are put into words when somebody asks: of most jobs there is
// nothing new to tell.
type offers struct {
	clock      time.Time
	now        int64
	deadline   time.Time
	candidates []*candidate // the chosen one first
	at         []moment     // of each
	made       []*federation.Offer
}

// offersOf returns the offers for a job of a shape, the chosen one first. Jobs that are decided alike share them.
func (w *World) offersOf(sh *shape, best *candidate, at *moment) *offers {
	made := made{best, at.start, at.free, at.boot}
	if sh.offers != nil && sh.made == made && best.parts == nil && best.queue == nil {
		return sh.offers
	}
	n := len(sh.candidates)
	o := &offers{clock: w.clock, now: w.now, deadline: sh.deadline(), candidates: make([]*candidate, 0, n), at: make([]moment, 0, n)}
	add := func(c *candidate, at moment) {
		at.nodes = nil // they are valid only now
		o.candidates, o.at = append(o.candidates, c), append(o.at, at)
	}
	add(best, *at)
	for _, c := range sh.candidates {
		if c != best {
			add(c, c.moment(w))
		}
	}
	sh.offers, sh.made = o, made
	return o
}

// all puts the offers into words, the chosen one first, then the cheapest.
func (o *offers) all(w *World) []*federation.Offer {
	if o == nil {
		return nil
	}
	if o.made != nil {
		return o.made
	}
	made := make([]*federation.Offer, len(o.candidates))
	for i := range made {
		made[i] = o.offer(w, i)
	}
	slices.SortStableFunc(made[1:], func(a, b *federation.Offer) int { return cmp.Compare(a.Total, b.Total) })
	o.made, o.candidates, o.at = made, nil, nil
	return made
}

// first is the chosen one; nil if its site has changed since.
func (o *offers) first(w *World) *federation.Offer {
	switch {
	case o == nil:
		return nil
	case o.made != nil:
		return o.made[0]
	case o.candidates[0].version != o.candidates[0].site.version:
		return nil
	}
	return o.offer(w, 0)
}

// offer puts one of them into words, as of the time of the plan.
func (o *offers) offer(w *World, i int) *federation.Offer {
	clock, now := w.clock, w.now
	w.clock, w.now = o.clock, o.now
	defer func() { w.clock, w.now = clock, now }()
	c, at := o.candidates[i], &o.at[i]
	return c.late(c.offer(at, w), at, w, o.deadline)
}
