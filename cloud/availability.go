package cloud

import (
	"encoding/json"
	"math"
	"time"

	"fsub/cloud/provider"
	"fsub/federation"
)

// odds are how requests for an offering went lately. What is past counts less and less.
type odds struct {
	oddsRecord
	id string // of the offering
}

// oddsRecord is what is written down of them.
type oddsRecord struct {
	Had     float64   `json:"had"` // requests, halved every oddsHalf
	Refused float64   `json:"refused"`
	At      time.Time `json:"at"`
}

// oddsHalf is how long it takes until a request counts half: stocks change within hours. After oddsKept it counts nothing.
const (
	oddsHalf = 30 * time.Minute
	oddsKept = 8 * time.Hour
)

func (o *odds) Record() (federation.PoolRecord, any) {
	return federation.PoolRecord{Kind: federation.PoolOdds, ID: o.id, Closed: o.At.Add(oddsKept)}, &o.oddsRecord
}

// loadOdds takes in what an earlier daemon has written down.
func (cs *cooldowns) loadOdds(r federation.PoolRecord) error {
	o := &odds{id: r.ID}
	err := json.Unmarshal(r.Data, &o.oddsRecord)
	if err == nil && cs.now().Sub(o.At) < oddsKept {
		cs.odds[r.ID] = o
	}
	return err
}

// fade lets what is past count less.
func (o *odds) fade(now time.Time) {
	if f := math.Exp2(-float64(now.Sub(o.At)) / float64(oddsHalf)); f < 1 {
		o.Had, o.Refused = o.Had*f, o.Refused*f
	}
	o.At = now
}

// oddsOf are those of an offering, as they are now.
func (cs *cooldowns) oddsOf(of *provider.Offering) *odds {
	o := cs.odds[of.ID]
	if o == nil {
		o = &odds{id: of.ID, oddsRecord: oddsRecord{At: cs.now()}}
		cs.odds[of.ID] = o
	}
	o.fade(cs.now())
	return o
}

// takenBack notes that the cloud has taken back a spot machine. It counts as a refusal, and forbids nothing: another one may be had at once.
func (cs *cooldowns) takenBack(of *provider.Offering) {
	o := cs.oddsOf(of)
	o.Refused++
	cs.put(o)
}

// learn takes in how a request went.
func (cs *cooldowns) learn(of *provider.Offering, e *provider.Error) {
	o := cs.oddsOf(of)
	switch {
	case e == nil:
		o.Had++
	case e.Kind == provider.KindStockOut:
		o.Refused++
	default:
		return
	}
	cs.put(o)
}

// chance is how probable it is that an offering can be had, in tenths, so that it does not change with every look at the clock. 0: nobody has asked. Two requests that were
// granted are assumed beside those that were made: one refusal says little.
func (cs *cooldowns) chance(of *provider.Offering) float64 {
	o := cs.odds[of.ID]
	if o == nil {
		return 0
	}
	now := cs.now()
	f := math.Exp2(-float64(now.Sub(o.At)) / float64(oddsHalf))
	p := (o.Had*f + 2) / ((o.Had+o.Refused)*f + 2)
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
