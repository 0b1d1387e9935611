package cloud

import (
	"encoding/json"
	"math"
	"time"

	"fsub/cloud/provider"
	"fsub/cloud/records"
)

// availability is how requests for an offering went lately. Older ones count less.
type availability struct {
	availabilityRecord
	id string // of the offering
}

// availabilityRecord is its form in the records.
type availabilityRecord struct {
	Had     float64   `json:"had"` // requests, halved every availabilityHalf
	Refused float64   `json:"refused"`
	At      time.Time `json:"at"`
}

// availabilityHalf is the time after which a request counts half: stocks change within hours. After availabilityKept it counts nothing.
const (
	availabilityHalf = 30 * time.Minute
	availabilityKept = 8 * time.Hour
)

func (o *availability) Record() (records.PoolRecord, any) {
	return records.PoolRecord{Kind: records.PoolOdds, ID: o.id, Closed: o.At.Add(availabilityKept)}, &o.availabilityRecord
}

// loadAvailability takes in what an earlier daemon has written down.
func (cs *cooldowns) loadAvailability(r records.PoolRecord) error {
	o := &availability{id: r.ID}
	err := json.Unmarshal(r.Data, &o.availabilityRecord)
	if err == nil && cs.now().Sub(o.At) < availabilityKept {
		cs.availability[r.ID] = o
	}
	return err
}

// fade lets what is past count less.
func (o *availability) fade(now time.Time) {
	if f := math.Exp2(-float64(now.Sub(o.At)) / float64(availabilityHalf)); f < 1 {
		o.Had, o.Refused = o.Had*f, o.Refused*f
	}
	o.At = now
}

// availabilityOf are those of an offering, as they are now.
func (cs *cooldowns) availabilityOf(of *provider.Offering) *availability {
	o := cs.availability[of.ID]
	if o == nil {
		o = &availability{id: of.ID, availabilityRecord: availabilityRecord{At: cs.now()}}
		cs.availability[of.ID] = o
	}
	o.fade(cs.now())
	return o
}

// takenBack notes that the cloud has taken back a spot machine. It counts as a refusal, and forbids nothing: another one may be had at once.
func (cs *cooldowns) takenBack(of *provider.Offering) {
	o := cs.availabilityOf(of)
	o.Refused++
	cs.put(o)
}

// learn takes in how a request went.
func (cs *cooldowns) learn(of *provider.Offering, e *provider.Error) {
	o := cs.availabilityOf(of)
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
	o := cs.availability[of.ID]
	if o == nil {
		return 0
	}
	now := cs.now()
	f := math.Exp2(-float64(now.Sub(o.At)) / float64(availabilityHalf))
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
