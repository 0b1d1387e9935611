package federation

import (
	"context"
	"time"

	"fsub/federation/reasons"
)

// Rented is what a node of a rented pool is beyond a Slurm node. The planner reckons with it; nothing else in the core asks whether a site is a cloud.
type Rented struct {
	Offering     string  // the driver's name of what would be rented: "g6.xlarge/us-east-2a/spot". It comes back in [Offer.Offering]
	PricePerHour Dollars // of the whole node; the site's own prices do not count then. 0: they do
	// Whole: a job has its nodes to itself, and pays for all of each.
	Whole bool
	// Boot is how long a job would wait for the node to start; 0: it is there. It is not a part of a pool's shape.
	Boot time.Duration
	// Interrupts is how often per hour such a node is expected to be taken back, or the slice of Hosts nodes that it is one of.
	Interrupts float64
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

// PoolStore keeps what the driver of a rented pool must not forget: the jobs that it has taken, its gangs and its machines. What a
// record holds is the driver's own business; the store gives it back as it was. What a method returned without error is durable.
type PoolStore interface {
	// CommitPool writes records over what is there under their kind and ID, all or none. A closed record stays in the books and is not loaded any more.
	CommitPool(ctx context.Context, site SiteName, put []PoolRecord) error
	// LoadPool returns every record of a site that is open, or was closed at since or later, in the order in which they were first written. Payloads are left out.
	LoadPool(ctx context.Context, site SiteName, since time.Time) ([]PoolRecord, error)
	// PoolRecords returns all records of a kind about a job, closed ones too, oldest first. Payloads are left out.
	PoolRecords(ctx context.Context, site SiteName, kind PoolKind, job JobID) ([]PoolRecord, error)
	// PoolPayload returns the payload of one record; ErrNotFound: there is no such record, or it has none.
	PoolPayload(ctx context.Context, site SiteName, kind PoolKind, id string) ([]byte, error)
	// PoolHistory returns records of a kind that are open or were closed at since or later, over all sites if site is "", the newest first, at most limit: the books of machines.
	PoolHistory(ctx context.Context, site SiteName, kind PoolKind, since time.Time, limit int) ([]PoolRecord, error)
	// NextPoolNumber returns a number that it has returned to nobody before for this site and kind, from 1.
	NextPoolNumber(ctx context.Context, site SiteName, kind PoolKind) (int64, error)
}

// PoolKind is a kind of record.
type PoolKind string

const (
	PoolJob     PoolKind = "job"     // an attempt that the site has taken
	PoolGang    PoolKind = "gang"    // machines that are asked for together
	PoolMachine PoolKind = "machine" // with what it has cost
	PoolCool    PoolKind = "cool"    // what the cloud has refused, by what that is about
	PoolOdds    PoolKind = "odds"    // how requests for an offering went lately
	PoolLife    PoolKind = "life"    // when daemons have started
)

// PoolRecord is one record of a pool's driver.
type PoolRecord struct {
	Site   SiteName
	Kind   PoolKind
	ID     string // unique for its site and kind; of a job the attempt's key
	Job    JobID  // 0: about none
	Closed time.Time
	Data   []byte // JSON
	// Payload is large and written once: nil leaves what is there. It is dropped when the record is closed.
	Payload []byte
}

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
	Site SiteName
	Name string // also of its partition

	Min, Max                     int // machines that are kept though idle; that there may be at one time
	Starting, Idle, Busy, Ending int // machines: asked for or starting, without a job, with jobs, on their way out
	Waiting                      int // jobs that the site has and that no machine has been found for

	PricePerHour   Money // of all machines that there are
	Today, Month   Money // spent since the beginning of the UTC day and month, what runs included
	Daily, Monthly Money // what it may spend; 0: no bound
	// What machines with jobs will cost of today's and of this month's budget until the time limits of these; 0 where there is no such budget.
	BoundToday, BoundMonth Money
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
	Site         SiteName
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
	PricePerHour Money
	Job          JobID // that it runs or has run last; 0: none, or not told
	Array        JobID // that Job is a task of; 0: none, or not told
	Task         *int  // its index in that
	Created      time.Time
	Ready        time.Time // zero: it never was
	Ended        time.Time // zero: it has not
	Cost         Money     // so far
	IdleCost     Money     // of that, what no job is charged: it started, or had no job
	GangWait     Money     // of IdleCost, while it was up and its job waited for other machines
	Drained      Money     // of IdleCost, while it was up, drained and had no job
	Why          string    // it ended, or is to end
}
