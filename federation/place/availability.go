package place

import (
	"strconv"
	"time"

	"fsub/federation/decision"
)

// Rented machines are a ladder: what is paid for already, spot machines, those on demand, those that a cloud queues for, here, in the next zone, region or cloud. It is climbed
// by dollars: each rung is a pool with an offer, and the cheapest is taken that can be had. What teaches is:
//
//   - a refusal: the driver shows the rung as not to be had until a cool-down has passed ([federation.Rented].Refused);
//   - how often it was refused: with a chance p that it can be had it is asked for 1/p times, and each time costs retry of waiting. That is the term "tries";
//   - a machine that was taken from a job: the job gets no spot machine of that zone for a while ([decision.LeftOut]).
//
// A rung on which a job would end after its deadline is passed over as long as there is one on which it would not.

// retry is how long a job waits from one request that is refused to the next one.
const retry = time.Minute

// leastChance bounds what is expected of an offering that has always been refused.
const leastChance = 0.05

// priceTries fills in what the requests cost that are expected to be refused. It is paid in waiting, and not billed.
func (c *runPrice) priceTries(p *Policy) {
	if r := c.rented(); r != nil && r.Chance > 0 && r.Chance < 1 {
		c.tries = c.waitCost(time.Duration((1/max(r.Chance, leastChance)-1)*float64(retry)), p)
	}
}

// triesDetail is "can be had 1 time in 4".
func (w wording) triesDetail() string {
	return "available " + strconv.FormatFloat(w.rented().Chance*100, 'f', 0, 64) + " % of the time"
}

// leftOut is why a job does not get what is rented in a pool for a while, nil if it may.
func (sh *shape) leftOut(st *siteState, pool int) *refusal {
	r := st.model.pools[pool].Shape.Rented
	if r == nil {
		return nil
	}
	for _, l := range sh.refused[st.site.Name].Parts {
		if l.What == r.Offering || r.Market == "spot" && l.What == r.Zone && l.What != "" {
			return &refusal{reason: l.Reason, why: l.Why, detail: l.Detail}
		}
	}
	return nil
}

// ends is when a job is expected to end on a rung: with what it waits for, and the work that it loses to machines that are taken back.
func (c *candidate) ends(at *moment, pl *plan) time.Time {
	wait := at.wait + at.boot.span() + c.data.took
	if c.cost > 0 {
		wait += time.Duration(float64(c.risk/c.cost) * float64(c.run))
	}
	if c.cost > 0 {
		wait += time.Duration(float64(at.slow/c.cost) * float64(c.run))
	}
	return pl.clock.Add(wait + c.run)
}

// inTime reports whether a job would end before its deadline, if it has one, and before its limit ends it.
func (c *candidate) inTime(at *moment, pl *plan, deadline time.Time) bool {
	return !c.cut.vain && c.meets(at, pl, deadline)
}

// meets reports whether a job would end before its deadline, if it has one.
func (c *candidate) meets(at *moment, pl *plan, deadline time.Time) bool {
	return deadline.IsZero() || !c.ends(at, pl).After(deadline)
}

// beats reports whether a candidate is to be taken rather than the best so far.
func (c *candidate) beats(at *moment, best *candidate, bestAt *moment, pl *plan, deadline time.Time) bool {
	if best == nil {
		return true
	}
	if a, b := c.inTime(at, pl, deadline), best.inTime(bestAt, pl, deadline); a != b {
		return a
	}
	return at.total < bestAt.total || at.total == bestAt.total && (at.tidier(bestAt) || c.roomier(at, best, bestAt))
}

// late adds to the terms of an offer that it comes too late.
func (c *candidate) late(o *decision.Offer, at *moment, pl *plan, deadline time.Time) *decision.Offer {
	if c.meets(at, pl, deadline) {
		return o
	}
	one := *o // others share it
	one.Terms = append(one.Terms[:len(one.Terms):len(one.Terms)], decision.Term{Name: "late", Detail: "would end at " +
		c.ends(at, pl).UTC().Format("2006-01-02T15:04Z") + ", after the deadline"})
	return &one
}
