package federation

import (
	"time"

	"fsub/federation/decision"
	"fsub/federation/reasons"
)

// Rented is what a node of a rented pool is beyond a Slurm node. The planner reckons with it; nothing else in the core asks whether a site is a cloud.
type Rented struct {
	Offering     string           // the driver's name of what would be rented: "g6.xlarge/us-east-2a/spot". It comes back in [decision.Offer.Offering]
	PricePerHour decision.Dollars // of the whole node; the site's own prices do not count then. 0: they do
	OldPrice     string           // the day of a price that is so old that it may have changed: "2026-06-18"; "": it is not
	// Whole: a job has its nodes to itself, and pays for all of each.
	Whole bool
	// Boot is how long a job would wait for the node to start; 0: it is there. It is not a part of a pool's shape.
	Boot time.Duration
	// Interrupts is how often per hour such a node is expected to be taken back, or the slice of Hosts nodes that it is one of.
	Interrupts float64
	// Taken is how often that was seen, in TakenIn machine-hours or hours of slices; both 0: Interrupts is what the configuration expects.
	Taken, TakenIn float64
	// Hosts is how many nodes make one slice, which come and go together; 0: one.
	Hosts int
	// Refused is why such a node cannot be had now, by the cloud's word or the pool's budget; nil: nobody has refused it. It is not a part of a pool's shape.
	Refused *Refusal
	// Market is how the node is paid for: "on-demand", "spot", "flex", "reserved", "block". "": not told.
	Market string
	Zone   string // where it is; "": any of a region
	// Chance is how probable it is that such a node can be had when it is asked for, by what was had and refused lately. 0: nobody has asked, which counts as 1.
	Chance float64
	// Paid says with what the node is paid for already, where using it costs nothing more. "": it is not.
	Paid string
	// Until is when the node is taken away, as at the end of a capacity block: a job that may run for longer is not to be started on it. Zero: never.
	Until time.Time
}

// Refusal is a reason with what there is to say about it.
type Refusal struct {
	Reason reasons.Reason
	Detail string // a sentence, or ""
}
