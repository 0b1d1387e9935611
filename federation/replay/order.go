package replay

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"fsub/accounting"
	"fsub/federation"
	"fsub/federation/accounts"
	"fsub/federation/fairshare"
	"fsub/federation/place"
)

// Order says in which order jobs are looked at.
type Order string

const (
	// FIFO is the order of submission, but for nice and an operator's priority.
	FIFO Order = "fifo"
	// Short has jobs come first that are expected to take little: each stands as if it had come later by [aging] times the GPU-time that it is expected to
	// take. So a job waits for none that comes later than that, however short.
	Short Order = "short"
	// FairShare is the daemon's usual order: Slurm's multifactor priority.
	FairShare Order = "fairshare"
	// Given is the order of Config.Jobs.
	Given Order = "given"
)

// Orders are those to choose from.
var Orders = []Order{FIFO, Short, FairShare}

// aging is by how much of its expected GPU-time a job stands back.
const aging = 4

// ordering gives jobs their priority.
type ordering struct {
	order   Order
	know    *forecasts
	jobs    map[federation.JobID]*Job
	fixed   map[federation.JobID]int64 // of Short and Given
	shares  *fairshare.Shares
	running map[federation.JobID]fairshare.Running
}

// everybody is an account tree without accounts: all users are alike.
type everybody struct{ tree *accounts.Tree }

func (e everybody) Tree() *accounts.Tree { return e.tree }

func newOrdering(cfg *Config, know *forecasts) (*ordering, error) {
	o := &ordering{order: cfg.Order, know: know}
	switch cfg.Order {
	case "":
		o.order = FIFO
	case FIFO:
	case Given:
		o.fixed = make(map[federation.JobID]int64, len(cfg.Jobs))
		for i := range cfg.Jobs {
			o.fixed[cfg.Jobs[i].ID] = -int64(i)
		}
	case Short:
		o.jobs, o.fixed = make(map[federation.JobID]*Job, len(cfg.Jobs)), map[federation.JobID]int64{}
		for i := range cfg.Jobs {
			o.jobs[cfg.Jobs[i].ID] = &cfg.Jobs[i]
		}
	case FairShare:
		nobody, err := accounts.New(nil)
		if err != nil {
			return nil, err
		}
		o.shares = fairshare.New(fairshare.Default(), everybody{nobody})
		o.running = map[federation.JobID]fairshare.Running{}
	default:
		return nil, fmt.Errorf("unknown order %q: want one of %v", cfg.Order, Orders)
	}
	return o, nil
}

// priority is what the queue is ordered by: a higher one first.
func (o *ordering) priority(j *federation.Job) int64 {
	switch o.order {
	case Short:
		p, ok := o.fixed[j.ID]
		if !ok {
			p = -int64(stands(o.jobs[j.ID], o.know))
			o.fixed[j.ID] = p
		}
		return p
	case Given:
		return o.fixed[j.ID]
	case FairShare:
		return o.shares.Order(j)
	}
	return place.Priority(j)
}

// stands is when a job stands in the queue, in seconds since 1970.
func stands(j *Job, know *forecasts) float64 {
	e := know.expect(j)
	if e == nil {
		e = &federation.Expected{P50: time.Hour, P90: time.Hour}
	}
	size := float64(gpusOf(j.Job))
	if size == 0 {
		size = math.Max(1, float64(j.Needs().Tasks*max(j.Needs().CPUsPerTask, 1))/16)
	}
	likely := math.Sqrt(e.P50.Seconds() * e.P90.Seconds()) // half of the jobs are over by the one, but the few long ones take most of the time
	return float64(j.Submit.Unix()) + aging*likely*size
}

func (o *ordering) started(r *Outcome) {
	if o.shares != nil {
		o.shares.Left(r.Job.ID)
		o.running[r.Job.ID] = fairshare.Running{User: r.Job.User, Account: r.Job.Spec.Account, Held: heldBy(r), Start: r.Start}
	}
}

func (o *ordering) ended(r *Outcome) {
	if o.shares != nil {
		delete(o.running, r.Job.ID)
		o.shares.Add(r.Job.User, heldBy(r), r.End.Sub(r.Start), 0, r.End)
	}
}

// heldBy is what a job counts for fair-share: its GPUs, or its CPUs where it has none.
func heldBy(r *Outcome) federation.Held {
	n := r.GPUs
	if n == 0 {
		n = r.CPUs
	}
	return federation.Held{Account: r.Job.Spec.Account, QOS: r.Job.Spec.QOS, TRES: accounting.TRES{"billing": int64(n)}.String()}
}

// pass ranks users anew when that is due; it reports whether the queue's order has changed.
func (o *ordering) pass(now time.Time) bool {
	if o.shares == nil || now.Before(o.shares.Due()) {
		return false
	}
	all := make([]fairshare.Running, 0, len(o.running))
	for _, id := range slices.Sorted(maps.Keys(o.running)) { // sums of floating-point numbers depend on their order
		all = append(all, o.running[id])
	}
	return o.shares.Pass(now, all)
}
