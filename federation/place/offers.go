package place

import (
	"time"

	"fsub/federation/decision"
)

// offers are what the candidates of a shape cost when a plan decided about a job of it. They are put into words when somebody asks: of most jobs there is
// nothing new to tell.
type offers struct {
	clock      time.Time
	now        int64
	deadline   time.Time
	candidates []*candidate // the chosen one first, then the cheapest
	at         []brief      // of each
	more       []moment     // of some
	made       []*decision.Offer
}

// brief is a moment without the nodes, which are valid only then. There are many.
type brief struct {
	start             int64
	wait              time.Duration
	slow, late, total decision.Dollars
	others, nodeHour  decision.Dollars
	free              bool
	fit, more         int32 // more is one more than the index of all of it; 0: nothing boots, and no gang starts now
}

func (o *offers) add(c *candidate, at *moment) {
	b := brief{start: at.start, wait: at.wait, slow: at.slow, late: at.late, total: at.total, others: at.others, nodeHour: at.nodeHour, fit: int32(at.fit), free: at.free}
	if at.boot.nodes > 0 || at.spots != nil || at.free && c.parts == nil && c.fits[at.fit].nodes > 1 {
		o.more = append(o.more, *at)
		b.more = int32(len(o.more))
		o.more[b.more-1].nodes = nil
	}
	o.candidates, o.at = append(o.candidates, c), append(o.at, b)
}

// keep adds what a candidate costs if it is one of the cheapest that are kept, the chosen one among them. They are in order then.
func (o *offers) keep(c *candidate, at *moment, most int) {
	i := len(o.at)
	for i > 1 && o.at[i-1].total > at.total {
		i--
	}
	if i == most {
		return
	}
	if n := most - 1; len(o.at) > n {
		o.candidates, o.at = o.candidates[:n], o.at[:n]
	}
	o.add(c, at)
	last := len(o.at) - 1
	b := o.at[last]
	copy(o.candidates[i+1:], o.candidates[i:])
	copy(o.at[i+1:], o.at[i:])
	o.candidates[i], o.at[i] = c, b
}

// full reports whether a candidate with a total is none of the cheapest that are kept.
func (o *offers) full(total decision.Dollars, most int) bool {
	return len(o.at) == most && (most == 1 || total >= o.at[most-1].total)
}

// closed reports whether no candidate that costs as much to run, before anything else is counted, is one of the cheapest that are kept.
func (o *offers) closed(fixed decision.Dollars, most int) bool {
	return o.full(fixed, most)
}

func (o *offers) moment(i int) moment {
	b, c := &o.at[i], o.candidates[i]
	if b.more > 0 {
		return o.more[b.more-1]
	}
	at := moment{start: b.start, fit: int(b.fit), wait: b.wait, slow: b.slow, late: b.late, total: b.total, others: b.others, nodeHour: b.nodeHour, free: b.free}
	if c.parts == nil && !b.free {
		at.span = c.ideal[b.fit]
	}
	return at
}

// seen is what a shape's candidates cost that were looked at last, from one on. It holds until the plan takes something.
type seen struct {
	sh    *shape
	from  int
	total []decision.Dollars
	at    []moment // of those for which it was worked out
	where []int32  // by candidate: one more than its place in at; 0: nowhere
}

// begin is about a shape's candidates, from one on.
func (s *seen) begin(sh *shape, from int) {
	s.sh, s.from, s.total, s.at, s.where = sh, from, s.total[:0], s.at[:0], s.where[:0]
}

// add notes the next candidate. The moment is valid until the next one is added.
func (s *seen) add(at moment) *moment {
	s.at = append(s.at, at)
	s.total, s.where = append(s.total, at.total), append(s.where, int32(len(s.at)))
	return &s.at[len(s.at)-1]
}

// quote notes the next candidate, of which no more is known.
func (s *seen) quote(total decision.Dollars) {
	s.total, s.where = append(s.total, total), append(s.where, 0)
}

// of is what a candidate costs: the moment is nil if only that is known. It is false for one that was not looked at.
func (s *seen) of(sh *shape, i int) (decision.Dollars, *moment, bool) {
	if i -= s.from; s.sh != sh || i < 0 || i >= len(s.total) {
		return 0, nil, false
	}
	if s.where[i] == 0 {
		return s.total[i], nil, true
	}
	return s.total[i], &s.at[s.where[i]-1], true
}

// offersOf returns the offers for a job of a shape, the chosen one first. Jobs that are decided alike share them.
func (pl *plan) offersOf(sh *shape, best *candidate, at *moment) *offers {
	made := made{best, at.start, at.free, at.boot}
	if sh.offers != nil && sh.made == made && best.parts == nil && best.queue == nil && !sh.choice {
		return sh.offers
	}
	n := len(sh.candidates)
	if pl.policy.MaxOffers > 0 {
		n = min(n, pl.policy.MaxOffers)
	}
	o := &offers{clock: pl.clock, now: pl.now, deadline: sh.deadline(), candidates: make([]*candidate, 0, n), at: make([]brief, 0, n)}
	o.add(best, at)
	for i, c := range sh.candidates {
		if c == best {
			continue
		}
		if o.closed(c.fixed, n) {
			break
		}
		total, at, known := pl.seen.of(sh, i)
		if known && o.full(total, n) {
			continue
		}
		if at == nil {
			one := pl.momentOf(sh, i)
			at = &one
		}
		o.keep(c, at, n)
	}
	sh.offers, sh.made = o, made
	return o
}

// all puts the offers into words.
func (o *offers) all(pl *plan) []*decision.Offer {
	if o == nil {
		return nil
	}
	if o.made != nil {
		return o.made
	}
	made := make([]*decision.Offer, len(o.candidates))
	for i := range made {
		made[i] = o.offer(pl, i)
	}
	o.made, o.candidates, o.at, o.more = made, nil, nil, nil
	return made
}

// first is the chosen one; nil if its site has changed since.
func (o *offers) first(pl *plan) *decision.Offer {
	switch {
	case o == nil:
		return nil
	case o.made != nil:
		return o.made[0]
	case o.candidates[0].version != o.candidates[0].site.version:
		return nil
	}
	return o.offer(pl, 0)
}

// offer puts one of them into words, as of the time of the plan.
func (o *offers) offer(pl *plan, i int) *decision.Offer {
	clock, now := pl.clock, pl.now
	pl.clock, pl.now = o.clock, o.now
	defer func() { pl.clock, pl.now = clock, now }()
	c := o.candidates[i]
	at := o.moment(i)
	return c.late(c.offer(&at, pl), &at, pl, o.deadline)
}
