package driver

import (
	"context"
	"time"

	"fsub/federation"
	"fsub/federation/reasons"
)

// PoolTeller is a driver of rented pools that tells operators how they stand.
type PoolTeller interface {
	// Pools is how each pool of the site stands now, in the order of the configuration. It comes from memory.
	Pools() []PoolStatus
	// Machine is what a machine that is there does now, by its ID in the books; false if it is not there.
	Machine(id string) (Machine, bool)
	// Retry forgets what the cloud has refused, so that it is asked again as soon as a job wants it, and tells what that was. ErrUnavailable: the books could not be
	// written; it is forgotten all the same until the daemon ends.
	Retry(ctx context.Context) ([]Cooling, error)
}

// PoolStatus is how a rented pool stands.
type PoolStatus struct {
	Site federation.SiteName
	Name string // also of its partition

	Min, Max                     int // machines that are kept though idle; that there may be at one time
	Starting, Idle, Busy, Ending int // machines: asked for or starting, without a job, with jobs, on their way out
	Waiting                      int // jobs that the site has and that no machine has been found for

	PricePerHour   federation.Money // of all machines that there are
	Today, Month   federation.Money // spent since the beginning of the UTC day and month, what runs included
	Daily, Monthly federation.Money // what it may spend; 0: no bound
	// What machines with jobs will cost of today's and of this month's budget until the time limits of these; 0 where there is no such budget.
	BoundToday, BoundMonth federation.Money
	Stopped                string // why it starts no machine at all; "": it does
	Note                   string // what operators are to know of its machines beyond that
	Cooling                []Cooling
}

// Cooling is something that a provider has refused and is not asked for until some time.
type Cooling struct {
	What   string // "offering g6.xlarge/us-east-2a/spot", "cloud"
	Reason reasons.Reason
	Detail string
	Until  time.Time
}

// Machine is a rented machine as the books have it.
type Machine struct {
	Site         federation.SiteName
	Pool         string
	ID           string // the driver's
	Name         string // of its node
	Instance     string // the provider's name of it; "": not known yet
	Offering     string
	Market       string
	CPUs         int // 0: not known
	GPUs         int
	GPUType      string // "": not known
	Stray        bool   // nobody had asked for it any more: it was ended when it was found
	State        string // starting, idle, busy, ending, ended
	PricePerHour federation.Money
	Job          federation.JobID // that it runs or has run last; 0: none, or not told
	Array        federation.JobID // that Job is a task of; 0: none, or not told
	Task         *int             // its index in that
	Created      time.Time
	Ready        time.Time        // zero: it never was
	Ended        time.Time        // zero: it has not
	Cost         federation.Money // so far
	IdleCost     federation.Money // of that, what no job is charged: it started, or had no job
	GangWait     federation.Money // of IdleCost, while it was up and its job waited for other machines
	Drained      federation.Money // of IdleCost, while it was up, drained and had no job
	Why          string           // it ended, or is to end
}
