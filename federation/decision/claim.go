package decision

import (
	"time"

	"fsub/accounting"
)

// Claim is what placement grants a job at a site: so many nodes of a partition, of rented ones those of an offering, at most at such a price. Only placement ranks
// jobs and chooses between offerings: a driver whose machines are rented fulfils claims in the order of their numbers, as its machines come free or can be had, or
// gives one back ([federation.SiteJob.Returned]) with the reason. A site that has a scheduler of its own needs nothing of it but the partition.
type Claim struct {
	// Number grows in the order in which placement made its claims, over restarts too. 0: it was made by a version that did not count.
	Number    int64
	Partition string
	Offering  string // what is to be rented, see [federation.Rented]; "": any nodes of the partition
	Nodes     int    // at most; 0: as many as the job asks for
	// PerHour is what so many nodes may cost at most, if they must be rented anew. 0: no bound.
	PerHour accounting.Money
	// Until is when the nodes are given back at the latest, as placement has reckoned with; zero: that is not known.
	Until time.Time
	Run   time.Duration // expected
}

// Claims are what a decision to bind claims at the site: one for each component of the job, in their order. nil: it has no offer.
func (d *Decision) Claims() []Claim {
	if len(d.Offers) == 0 {
		return nil
	}
	o := d.Offers[0]
	if len(o.Parts) == 0 {
		return []Claim{o.claim(d.Claim)}
	}
	list := make([]Claim, len(o.Parts))
	for i := range o.Parts {
		list[i] = o.Parts[i].claim(d.Claim)
		list[i].Run = o.Run // all have their nodes until the last one ends
	}
	return list
}

func (o *Offer) claim(number int64) Claim {
	return Claim{Number: number, Partition: o.Partition, Offering: o.Offering, Nodes: o.MaxNodes, PerHour: o.PerHour, Until: o.Until, Run: o.Run}
}
