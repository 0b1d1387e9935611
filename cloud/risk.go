package cloud

import (
	"encoding/json"
	"math"
	"strconv"
	"time"

	"fsub/cloud/provider"
	"fsub/cloud/records"
)

// risk is what is known of how often machines of an offering are taken back: machine-hours and takings, of slices where machines come and go in these.
//
// Takings are a Poisson process. With a gamma distribution of its rate as the prior, Gamma(a, b), the rate after n takings in t hours has the distribution
// Gamma(a + n, b + t), of which the mean is (a + n) / (b + t) (Gelman et al., Bayesian Data Analysis, 3rd ed., section 2.6: Poisson model with exposure). The prior has the
// configured rate as its mean and is worth one taking: a is 1 and b the hours in which that rate expects one, 20 for 0.05/h. Hours without a taking count as well, and
// those of machines that still run.
//
// What is past counts half after riskHalf, for clouds change: n and t are discounted alike (West and Harrison, Bayesian Forecasting and Dynamic Models, 2nd ed., section 10.8).
type risk struct {
	riskRecord
	id string // of the offering
}

// riskRecord is its form in the records.
type riskRecord struct {
	Taken float64   `json:"taken"`
	Hours float64   `json:"hours"` // of machines that have ended
	At    time.Time `json:"at"`    // of the last change
}

const (
	riskHalf = 60 * 24 * time.Hour
	riskKept = 365 * 24 * time.Hour
)

func (r *risk) Record() (records.PoolRecord, any) {
	return records.PoolRecord{Kind: records.PoolRisk, ID: r.id, Closed: r.At.Add(riskKept)}, &r.riskRecord
}

// loadRisk takes in what an earlier daemon has written down.
func (cs *cooldowns) loadRisk(r records.PoolRecord) error {
	k := &risk{id: r.ID}
	err := json.Unmarshal(r.Data, &k.riskRecord)
	if err == nil {
		cs.risks[r.ID] = k
	}
	return err
}

// machineEnded notes for how long the cloud has left a machine to us, and whether it has taken it back then.
func (cs *cooldowns) machineEnded(m *machine, taken bool) {
	o := &m.gang.Offering
	if o.Interrupts <= 0 || m.Created.IsZero() {
		return
	}
	r := cs.risks[o.ID]
	if r == nil {
		r = &risk{id: o.ID}
		cs.risks[o.ID] = r
	}
	now, part := cs.now(), 1/float64(max(o.Hosts, 1))
	if !r.At.IsZero() {
		f := fadedBy(now.Sub(r.At))
		r.Taken, r.Hours = r.Taken*f, r.Hours*f
	}
	r.At = now
	r.Hours += max(m.Ended.Sub(m.Created), 0).Hours() * part
	if taken {
		r.Taken += part
	}
	cs.put(r)
}

func fadedBy(d time.Duration) float64 { return math.Exp2(-max(float64(d), 0) / float64(riskHalf)) }

// Risk is how often machines of an offering are expected to be taken back.
type Risk struct {
	Offering provider.Offering
	PerHour  float64
	// Taken and Hours are the takings and machine-hours that have been seen; both 0: PerHour is the configured rate.
	Taken, Hours float64
}

// riskOf is that of a node group. It has two digits, so that it does not change with every look at the clock.
func (ng *nodeGroup) riskOf() Risk {
	cs, o := ng.pool.fleet.cool, &ng.offering
	k := Risk{Offering: *o, PerHour: o.Interrupts}
	if o.Interrupts <= 0 {
		return k
	}
	now := cs.now()
	if r := cs.risks[o.ID]; r != nil {
		f := fadedBy(now.Sub(r.At))
		k.Taken, k.Hours = r.Taken*f, r.Hours*f
	}
	for _, p := range ng.pool.fleet.pools.all { // each may rent it
		for _, other := range p.groups {
			if other.offering.ID == o.ID {
				k.Hours += other.hoursUp(now)
			}
		}
	}
	if k.Taken == 0 && k.Hours == 0 {
		return k
	}
	k.PerHour = rounded((1+k.Taken)/(1/o.Interrupts+k.Hours), 2)
	k.Taken, k.Hours = rounded(k.Taken, 2), math.Round(rounded(k.Hours, 2))
	return k
}

// hoursUp is for how long the machines that are there have been, of slices each counts its part.
func (ng *nodeGroup) hoursUp(now time.Time) (hours float64) {
	for _, m := range ng.machines {
		if !m.Created.IsZero() && m.State != machineEnded {
			hours += max(now.Sub(m.Created), 0).Hours() / float64(ng.hosts())
		}
	}
	return hours
}

// rounded is f to a number of significant digits.
func rounded(f float64, digits int) float64 {
	f, _ = strconv.ParseFloat(strconv.FormatFloat(f, 'g', digits, 64), 64)
	return f
}

// Risks are those of all that can be rented and may be taken back.
func (d *Driver) Risks() (out []Risk) {
	d.mu.Lock()
	defer d.mu.Unlock()
	seen := map[string]bool{}
	for _, p := range d.pools.all {
		for _, ng := range p.groups {
			if o := &ng.offering; o.Interrupts > 0 && !ng.gone && !seen[o.ID] {
				seen[o.ID] = true
				out = append(out, ng.riskOf())
			}
		}
	}
	return out
}
