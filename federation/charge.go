package federation

import (
	"context"
	"time"
)

// Charge is what one run of a job held, for how long, on whose account and at which price: what books are made of.
// It is written once, in the commit that ends the run, and never changed. A job costs what its charges come to,
// and an array what those of its tasks do.
//
// A run is one start of a job at a site, or of one task of an array that a site has whole. One that its site ends
// to queue the job again is charged like any other. Times are by the site's clock.
type Charge struct {
	Job     JobID
	Key     string // of the attempt. Key, Job, Run and Task name the charge: IDs of jobs may be given again
	Attempt int
	Run     int   // of the attempt, from 1
	Array   JobID // that the job is a task of, or is itself; 0: it is no array
	Task    int   // index in Array, else 0
	Site    SiteName
	Cluster string // Slurm's ClusterName of the site; "": not known
	User    string // as on this machine
	Held
	Nodes string // hostlist
	State State  // how the run ended

	Start, End time.Time
	Suspended  time.Duration // of the time between; see From for whether it was billed
	From       PriceSource   // where Held.PricePerHour came from
	Amount     Money
}

// Held is what a run holds, as its site counts it.
type Held struct {
	Account     string // that pays for it: the account tree's, where there is one
	SiteAccount string // that the site runs it under, if that is another one
	QOS         string
	Partition   string
	TRES        string // "cpu=4,mem=4000M,node=1,billing=4,gres/gpu=4"
	// PricePerHour is of all of it. Of an attempt that lives it is the site's own word, or 0; a charge has what
	// was billed.
	PricePerHour Money
}

// Held is what the job holds as s says.
func (s *SiteJob) Held() Held {
	return Held{Account: s.Account, SiteAccount: s.SiteAccount, QOS: s.QOS, Partition: s.Partition, TRES: s.TRES, PricePerHour: s.PricePerHour}
}

// PriceSource says where the price of a run came from.
type PriceSource string

const (
	// PriceNone: nothing was billed, because the end of the run was not seen. End is when it was given up.
	PriceNone PriceSource = ""
	// PriceTable: the prices that the configuration gives the site's TRES. Suspended time is not billed.
	PriceTable PriceSource = "table"
	// PriceOffering: the site's own word about machines that were rented for the job. Suspended time is billed:
	// they were there.
	PriceOffering PriceSource = "offering"
	// PriceSite: the site's own word. Suspended time is billed.
	PriceSite PriceSource = "site"
)

// ChargeQuery selects charges. The zero value selects all; every field that is set narrows the selection.
type ChargeQuery struct {
	Since, Until time.Time // of runs that ended at or after Since, and before Until
	Site         SiteName
	Account      string
	User         string
	Job          JobID // and the tasks of this array
	Limit        int   // at most so many, the first to end first; 0: no limit
}

// ChargeStore reads charges.
type ChargeStore interface {
	// Charges returns the charges that match q in order of End, then of job, attempt, run and task. They outlive their jobs.
	Charges(ctx context.Context, q ChargeQuery) ([]Charge, error)
}

// ChargeSum is what runs came to that held the same on the same account, ended at about the same time and lasted for about as long.
type ChargeSum struct {
	User, Account, QOS, TRES string
	End                      time.Time     // the middle of the time that is summed up
	Elapsed                  time.Duration // of all together, to the millisecond
	Amount                   Money
	Runs                     int // how many
}

// ChargeSummer is a store that sums up charges, of runs whose end was seen. Times are summed up in steps.
type ChargeSummer interface {
	ChargeSums(ctx context.Context, since time.Time, step time.Duration) ([]ChargeSum, error)
}

// DirectSummer is a store that sums up what the ledger has of jobs that were submitted at a site itself, by its users' names here. Runs count that ended
// from from on and before until.
type DirectSummer interface {
	DirectSums(ctx context.Context, site SiteName, from, until time.Time, step time.Duration) ([]ChargeSum, error)
}
