// Package decision is what placement says of a job: a [Decision] with its offers in dollars and its rejections, the waits and holdbacks that keep the
// job from being placed at all, and what it would take to start sooner. Decisions are stored with an attempt, and answers of the API have them as
// they are: fields and their names are only added.
package decision

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"fsub/accounting"
	"fsub/federation/codes"
	"fsub/federation/ident"
	"fsub/federation/reasons"
)

// Decision is the fate of one job in one plan, with everything that led to it.
type Decision struct {
	Job ident.JobID `json:"job"`
	// Bind: give the job to Offers[0] now. Otherwise it stays in the queue for Reason.
	Bind bool `json:"bind,omitempty"`
	// Early: it is bound though nothing says that it will start soon, because others wait at the site: it must stand in the site's own queue to
	// gain age and a reservation.
	Early bool `json:"early,omitempty"`
	// Claim is the number of what binding the job claims; see [Claim].
	Claim  int64          `json:"claim,omitempty"`
	Reason reasons.Reason `json:"reason,omitempty"`
	// Offers are the pools that can run the job, cheapest first. Decisions share them: they are not changed.
	Offers []*Offer `json:"offers,omitempty"`
	// Rejections are the pools (or whole sites: Partition empty) that cannot, and why.
	Rejections []Rejection `json:"rejections,omitempty"`
	// Expected is how long the job was expected to run; nil: a share of its time limit was reckoned with.
	Expected *Expected `json:"expected,omitempty"`
	// Preempt are the jobs that make room for it where it is bound; nil: none.
	Preempt *Preemption `json:"preempt,omitempty"`
	// Place is the reservation that holds the job's place at its site, or has held it when the job was sent there; nil: none.
	Place *Place `json:"place,omitempty"`
	// Pack is the job at the site that the task of an array shares with others; nil: it has its own.
	Pack *Pack `json:"pack,omitempty"`
}

// Place is a reservation at a site, for one job, from when the job is planned to start.
type Place struct {
	Site        ident.SiteName `json:"site"`
	Reservation string         `json:"reservation"` // its name
	Nodes       string         `json:"nodes"`       // hostlist
	Start       time.Time      `json:"start"`
	End         time.Time      `json:"end"`
}

// Promised is the job that a place is kept for. A task of an array is named as such: what number it would have as a job may change until it is bound.
type Promised struct {
	Job   ident.JobID // 0: it is a task
	Array ident.JobID
	Task  int // of Array
}

// Of is the job, or the array of the task; 0: nobody.
func (p Promised) Of() ident.JobID { return cmp.Or(p.Job, p.Array) }

// String is 30000001, or 30000001_5 for a task.
func (p Promised) String() string {
	if p.Array == 0 {
		return p.Job.String()
	}
	return fmt.Sprintf("%d_%d", p.Array, p.Task)
}

// Pack is a job at a site that runs several tasks of an array.
type Pack struct {
	Job   ident.JobID `json:"job"` // its number, which no job of the federation has
	Key   string      `json:"key"` // of its only attempt, number 0, which no job of the federation has
	Tasks int         `json:"tasks"`
	Side  int         `json:"side"` // how many run side by side
}

// Offer is what running a job in a pool would come to.
type Offer struct {
	Site      ident.SiteName `json:"site"`
	Partition string         `json:"partition"`
	Pool      string         `json:"pool"`
	Start     time.Time      `json:"start"` // expected; not before the snapshot's time
	Wait      time.Duration  `json:"wait"`
	Foreseen  *Foreseen      `json:"foreseen,omitempty"` // where others wait too: what Wait was foretold from
	Run       time.Duration  `json:"run"`                // expected run time
	Nodes     int            `json:"nodes"`
	GPUs      int            `json:"gpus"`
	GPUType   string         `json:"gpu_type,omitempty"`
	As        string         `json:"as,omitempty"`       // which of Spec.Fed.Accelerators it counts with; see place.Effective
	Offering  string         `json:"offering,omitempty"` // what is to be rented for it; see [federation.Rented]
	Market    string         `json:"market,omitempty"`   // how that is paid for
	Zone      string         `json:"zone,omitempty"`     // where it is
	// Of rented nodes, what the job may hold of them: so many, by the hour for so much, until then. See [Claim].
	MaxNodes int              `json:"max_nodes,omitempty"`
	PerHour  accounting.Money `json:"per_hour,omitempty"`
	Until    time.Time        `json:"until,omitzero"`
	// Most is what the run can cost at most: its time limit at the same price; 0: it has no limit, or no price.
	Most Dollars `json:"most,omitempty"`
	// Paid is what a job that is only tried would pay; nil of others, and of a heterogeneous job.
	Paid  *Paid   `json:"paid,omitempty"`
	Terms []Term  `json:"terms"`
	Total Dollars `json:"total"` // sum of Terms
	// KeptOff are switches and blocks above nodes of the pool that gangs are kept off, and the job is one.
	KeptOff []KeptOff `json:"kept_off,omitempty"`
	// Parts are the components of a heterogeneous job, in their order, each with its own pool and price. They start together.
	Parts []Offer `json:"parts,omitempty"`
}

// Trial is what a job would come to if it were submitted now: what "sbatch --test-only" tells.
type Trial struct {
	Decision Decision
	// Where and when it would start; Site is empty if no site can run it as things are. Of a heterogeneous job they are those of all
	// components together.
	Site       ident.SiteName
	Partition  string
	Start      time.Time // half of the time it starts before
	Within     time.Time // nine times in ten it starts before; zero: that is not known, or Start is by time limits
	Nodes      []string  // that placement counts with; the site may choose others
	Processors int       // CPUs of all nodes together
	// Unknown: nothing says when what the job waits for is over. Start is zero then.
	Unknown bool
	// Waits is what of the account tree would keep the job back, however much is free; nil: nothing. Start is zero then.
	Waits *Holdback
}

// Paid is what a run is to pay for, by how long it takes. [Offer.Price] is that of a run of the mean length.
type Paid struct {
	P50  Dollars `json:"p50,omitempty"`  // half of such runs pay no more; 0: no earlier run of the kind is known
	P90  Dollars `json:"p90,omitempty"`  // nine in ten pay no more
	Most Dollars `json:"most,omitempty"` // if it takes all of its time limit; 0: it has none
}

// Term is one named amount of an offer.
type Term struct {
	Name   string  `json:"name"` // "run", "wait", ...
	Amount Dollars `json:"amount"`
	Detail string  `json:"detail,omitempty"` // how it came about: "8 x h100, 2.1 h p50"
}

// Price is what the job is expected to pay for: the total without what its waiting and its being late are worth, and what it keeps others waiting.
func (o *Offer) Price() Dollars {
	sum, waits := Dollars(0), false
	for _, t := range o.Terms {
		if t.Name == "wait" || t.Name == "late" || t.Name == "others" {
			waits = true
		} else {
			sum += t.Amount
		}
	}
	if !waits {
		return o.Total
	}
	return sum // a difference would be the total's rounding where nothing is paid
}

// Worded returns d with words for all of its rejections, for readers who know no codes.
func (d Decision) Worded() Decision {
	d.Rejections = slices.Clone(d.Rejections)
	for i := range d.Rejections {
		r := &d.Rejections[i]
		r.Detail = r.Text()
		if r.Why != nil {
			r.Why = &codes.Why{Code: r.Why.Code, Args: r.Why.Args}
		}
	}
	return d
}

// Impossible reports that no site can ever run the job: no offer, and every rejection is for good.
func (d *Decision) Impossible() bool {
	if len(d.Offers) > 0 {
		return false
	}
	for _, r := range d.Rejections {
		if !r.Never {
			return false
		}
	}
	return true
}

// Dollars is what placement expects something to come to, in US dollars. What is recorded, billed or budgeted is [Money].
type Dollars float64
