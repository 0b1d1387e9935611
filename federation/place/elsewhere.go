package place

import (
	"time"

	"fsub/federation"
	"fsub/federation/decision"
	"fsub/federation/move"
)

// Running is a job that runs, and is to be compared with a run elsewhere.
type Running struct {
	Job      *federation.Job
	Expected *decision.Expected // of what is left of its run
	Refused  map[federation.SiteName]decision.Rejection
	Site     federation.SiteName
	Pool     string // as in its offer
	Stay     bool   // other nodes of its site will do
	Now      bool   // only what it can start on now
}

// Rest is what is left of a run that goes on where it is, or elsewhere.
type Rest struct {
	Known    bool             // its pool is still offered
	Here     decision.Dollars // the run, what is expected to be taken from it, and its power
	Hour     decision.Dollars // that an hour of it costs
	WaitHour decision.Dollars // what an hour's wait is worth
	Offer    *decision.Offer  // the cheapest place elsewhere; nil: there is none
	To       move.Elsewhere
}

// Elsewhere compares the rest of a run with that of a run elsewhere. What it goes to then is held, so that the next one does not count with it; the next plan starts over.
func Elsewhere(w *World, r Running) (rest Rest) {
	w.settle()
	w.look(r.Job)
	sh := w.shapeOfJob(r.Job, r.Expected, r.Refused)
	w.at = looking{}
	var best *candidate
	var at moment
	for _, c := range sh.candidates {
		if c.parts != nil {
			continue
		}
		here := c.site.site.Name == r.Site
		if here && c.name == r.Pool {
			rest.Known, rest.Here, rest.Hour, rest.WaitHour = true, c.rest(), c.hour(), c.waitHour(&w.policy)
		}
		if here && !r.Stay || !c.borne() {
			continue
		}
		m := c.moment(&w.plan)
		if r.Now && !m.free {
			continue
		}
		if best == nil || m.total-m.others < at.total-at.others {
			best, at = c, m
		}
	}
	if best == nil {
		return rest
	}
	if !rest.Known {
		rest.Hour, rest.WaitHour = best.hour(), best.waitHour(&w.policy)
	}
	rest.Offer = best.offer(&at, &w.plan)
	rest.To = move.Elsewhere{Site: string(best.site.site.Name), Wait: relocation + at.wait + at.boot.span(), Rest: best.rest() + at.boot.price, Hour: best.hour(),
		Restore: best.data.dollars + best.data.copying}
	w.progress.stale = true
	w.take(best, &at, r.Job)
	return rest
}

// rest is what a run costs there, with its copies, and without the data that is brought to it.
func (c *runPrice) rest() decision.Dollars {
	return c.cost + c.risk + c.powerCost() + decision.Dollars(c.data.saves.Dollars)
}

// hour is what an hour of a run costs.
func (c *runPrice) hour() decision.Dollars {
	return c.costOf(&c.site.model.pools[c.pool].Shape, time.Hour)
}
