package place

import (
	"slices"

	"fsub/federation/decision"
)

// quote is what a candidate costs while it is full: all that [plan.best] has to know of most candidates of most jobs. A plan looks at each candidate of each shape, which
// at a hundred sites and some thousand shapes is more than a processor's caches hold. So what that takes is small, and stands in a row.
type quote struct {
	site       *siteState
	numbers    *fitNumbers // in which the need has that number
	need       int32
	plain      bool             // the candidate's cost can be told here
	vain       bool             // see cut
	fixed      decision.Dollars // the candidate's
	whole      decision.Dollars // what it costs but for the waiting and slow
	hour, slow decision.Dollars
}

// quotes lines up what the candidates cost.
func (sh *shape) quotes(p *Policy) {
	sh.quoted = slices.Grow(sh.quoted[:0], len(sh.candidates))
	for _, c := range sh.candidates {
		sh.quoted = append(sh.quoted, sh.quoteOf(c, p))
	}
}

func (sh *shape) quoteOf(c *candidate, p *Policy) quote {
	q := quote{site: c.site, fixed: c.fixed, vain: c.cut.vain}
	if q.plain = c.parts == nil && len(c.fits) == 1 && c.most == nil && c.queue == nil && c.due.value == 0 && !c.choice && sh.deadline().IsZero(); q.plain {
		q.whole, q.hour, q.slow = c.priced(), c.waitHour(p), c.slow(0, c.ideal[0])
		q.number(c)
	}
	return q
}

// number notes which need the candidate has at its site.
func (q *quote) number(c *candidate) {
	if q.plain {
		q.numbers, q.need = c.numbers[0].in, c.numbers[0].need
	}
}

// total is what a job costs at the candidate, and when it starts there, where that is known to be full and when it will not be: false if the candidate must say so itself.
func (q *quote) total(c *candidate, pl *plan) (total decision.Dollars, start int64, ok bool) {
	free := q.site.kept
	if !q.plain || free == nil || free.estimates.numbers != q.numbers || int(q.need) >= len(free.estimates.unmet) {
		return 0, 0, false
	}
	e := &free.estimates
	u := &e.unmet[q.need]
	switch {
	case !e.full(u):
		return 0, 0, false
	case e.limits():
		if c.asked != e.epoch || c.claims != e.claims {
			return 0, 0, false
		}
		start = c.start
	case e.recalls(u, free.now):
		start = u.start
	default:
		return 0, 0, false
	}
	return q.whole + waitCost(pl.waitUntil(start), q.hour) + q.slow, start, true
}

// moment is [candidate.moment] of a candidate with that total and start.
func (q *quote) moment(c *candidate, total decision.Dollars, start int64, pl *plan) moment {
	return moment{start: start, wait: pl.waitUntil(start), span: c.ideal[0], slow: q.slow, total: total}
}

// momentOf is when the i-th candidate of a shape could run a job.
func (pl *plan) momentOf(sh *shape, i int) moment {
	q, c := &sh.quoted[i], sh.candidates[i]
	if total, start, ok := q.total(c, pl); ok {
		return q.moment(c, total, start, pl)
	}
	at := c.moment(pl)
	q.number(c)
	return at
}
