package cloud

import (
	"math"
	"time"

	"fsub/cloud/provider"
)

// odds are how requests for an offering went lately. What is past counts less and less.
type odds struct {
	had, refused float64 // requests, halved every oddsHalf
	at           time.Time
}

// oddsHalf is how long it takes until a request counts half: stocks change within hours.
const oddsHalf = 30 * time.Minute

// fade lets what is past count less.
func (o *odds) fade(now time.Time) {
	if f := math.Exp2(-float64(now.Sub(o.at)) / float64(oddsHalf)); f < 1 {
		o.had, o.refused = o.had*f, o.refused*f
	}
	o.at = now
}

// oddsOf are those of an offering, as they are now.
func (cs *cooldowns) oddsOf(of *provider.Offering) *odds {
	o := cs.odds[of.ID]
	if o == nil {
		o = &odds{at: cs.now()}
		cs.odds[of.ID] = o
	}
	o.fade(cs.now())
	return o
}

// takenBack notes that the cloud has taken back a spot machine. It counts as a refusal, and forbids nothing: another one may be had at once.
func (cs *cooldowns) takenBack(of *provider.Offering) { cs.oddsOf(of).refused++ }

// learn takes in how a request went.
func (cs *cooldowns) learn(of *provider.Offering, e *provider.Error) {
	o := cs.oddsOf(of)
	switch {
	case e == nil:
		o.had++
	case e.Kind == provider.KindStockOut:
		o.refused++
	}
}

// chance is how probable it is that an offering can be had, in tenths, so that it does not change with every look at the clock. 0: nobody has asked. Two requests that were
// granted are assumed beside those that were made: one refusal says little.
func (cs *cooldowns) chance(of *provider.Offering) float64 {
	o := cs.odds[of.ID]
	if o == nil {
		return 0
	}
	now := cs.now()
	f := math.Exp2(-float64(now.Sub(o.at)) / float64(oddsHalf))
	p := (o.had*f + 2) / ((o.had+o.refused)*f + 2)
	return math.Ceil(p*10-1e-9) / 10
}

// paid is with what an offering is paid for already; "": it is not.
func paid(o *provider.Offering) string {
	if o.Price == 0 && (o.Market == provider.Reserved || o.Market == provider.Block) || len(o.PriceFrom) > len(paidFor) && o.PriceFrom[:len(paidFor)] == paidFor {
		return o.PriceFrom
	}
	return ""
}

const paidFor = "paid for with "
