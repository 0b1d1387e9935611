package ledger

import (
	"cmp"
	"context"
	"slices"
	"time"

	"fsub/accounting"
	"fsub/accounting/ledger"
	"fsub/federation"
	"fsub/federation/decision"
)

// compare notes what an hour of the run would have come to elsewhere, from the offers that placement weighed when it chose. Of each, the money for running
// counts, not that for waiting; where a pool would have been slower, its longer run is in the price. Offers that were cut from a long list are not known.
func (c *Collector) compare(ctx context.Context, e *ledger.Entry, k *federation.Charge) {
	attempts, err := c.Store.Attempts(ctx, k.Job)
	if err != nil {
		return // purged just now
	}
	i := slices.IndexFunc(attempts, func(a federation.Attempt) bool { return a.Number == k.Attempt })
	if i < 0 || len(attempts[i].Decision.Offers) == 0 || k.PricePerHour == 0 {
		return
	}
	offers := attempts[i].Decision.Offers
	chosen := offers[0]
	paid, ok := runMoney(chosen)
	if !ok || paid <= 0 {
		return
	}
	at := func(o *decision.Offer) (accounting.Money, bool) {
		m, ok := runMoney(o)
		return accounting.MoneyOf(k.PricePerHour.Dollars() * m / paid), ok
	}
	first := chosen
	for _, o := range offers {
		m, ok := at(o)
		if !ok {
			continue
		}
		e.DearestPerHour = max(e.DearestPerHour, m)
		if now(o) && (!now(first) || cmp.Or(cmp.Compare(o.Site, first.Site), cmp.Compare(o.Pool, first.Pool)) < 0) {
			first = o
		}
	}
	e.FirstPerHour, _ = at(first)
	e.ListPerHour = k.PricePerHour
	for _, o := range offers { // the same machines on demand
		if o.Site == chosen.Site && o.GPUType == chosen.GPUType && o.Nodes == chosen.Nodes && o.GPUs == chosen.GPUs && o.Offering != "" {
			if m, ok := at(o); ok {
				e.ListPerHour = max(e.ListPerHour, m)
			}
		}
	}
}

// now reports whether an offer would start at once: what first-fit takes.
func now(o *decision.Offer) bool { return o.Wait < time.Minute }

// runMoney is what running would have come to, in dollars.
func runMoney(o *decision.Offer) (float64, bool) {
	for _, t := range o.Terms {
		if t.Name == "run" {
			return float64(t.Amount), true
		}
	}
	return 0, false
}
