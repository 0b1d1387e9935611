package place

import (
	"fmt"
	"strconv"
	"time"

	"fsub/federation/decision"
)

// pricePower adds what the electricity of the run and its carbon are expected to cost, where the operators have said what that is. Nobody is billed for it.
// It is that of a run which starts now: sites are judged again when the hour changes.
func (c *runPrice) pricePower(now time.Time) {
	if p := c.site.site.Power; p != nil {
		c.power = p.Of(c.tres, now, c.run)
		c.fixed += c.powerCost()
	}
}

func (c *runPrice) powerCost() decision.Dollars { return decision.Dollars(c.power.Dollars) }

// powerTerm is the term of an offer, nil if nothing is known of the site's electricity.
func (w wording) powerTerm() *decision.Term {
	p := w.site.site.Power
	if p == nil || w.power.KWh == 0 {
		return nil
	}
	short := func(v float64) string { return strconv.FormatFloat(v, 'g', 3, 64) }
	text := short(w.power.KWh) + " kWh"
	if w.power.Kg > 0 {
		text += ", " + short(w.power.Kg) + " kg CO2"
		if p.Tonne > 0 {
			text += fmt.Sprintf(" at $%s/t", rateText(p.Tonne))
		}
	}
	return &decision.Term{Name: "power", Amount: w.powerCost(), Detail: text + ", " + p.Source}
}
