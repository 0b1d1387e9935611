package replay

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"fsub/accounting"
	"fsub/federation"
	"fsub/federation/accounts"
	"fsub/federation/decision"
	"fsub/federation/fairshare"
	"fsub/federation/place"
)

// Order says in which order jobs are looked at.
type Order string

const (
	// FIFO is the order of submission, but for nice and an operator's priority.
	FIFO Order = "fifo"
	// Short has jobs come first that are expected to take little: the daemon's order by [fairshare.ShortFirst].
	Short Order = "short"
	// FairShare is the daemon's order by Config.Priority: Slurm's multifactor priority.
	FairShare Order = "fairshare"
	// Given is the order of Config.Jobs.
	Given Order = "given"
)

// Orders are those to choose from.
var Orders = []Order{FIFO, Short, FairShare}

// ordering gives jobs their priority.
type ordering struct {
	priority func(*federation.Job, *decision.Expected) int64 // what the queue is ordered by: a higher one first
	shares   *fairshare.Shares                               // nil: they do not matter
	running  map[federation.JobID]fairshare.Running
}

// everybody is an account tree without accounts: all users are alike.
type everybody struct{ tree *accounts.Tree }

func (e everybody) Tree() *accounts.Tree { return e.tree }

func newOrdering(cfg *Config) (*ordering, error) {
	o := &ordering{running: map[federation.JobID]fairshare.Running{}}
	policy := fairshare.Default()
	switch cfg.Order {
	case "", FIFO:
		o.priority = func(j *federation.Job, _ *decision.Expected) int64 { return place.Priority(j) }
		return o, nil
	case Given:
		fixed := make(map[federation.JobID]int64, len(cfg.Jobs))
		for i := range cfg.Jobs {
			fixed[cfg.Jobs[i].ID] = -int64(i)
		}
		o.priority = func(j *federation.Job, _ *decision.Expected) int64 { return fixed[j.ID] }
		return o, nil
	case Short:
		policy = fairshare.ShortFirst()
	case FairShare:
		if cfg.Priority != nil {
			policy = *cfg.Priority
		}
	default:
		return nil, fmt.Errorf("unknown order %q: want one of %v", cfg.Order, Orders)
	}
	nobody, err := accounts.New(nil)
	if err != nil {
		return nil, err
	}
	o.shares = fairshare.New(policy, everybody{nobody})
	o.priority = o.shares.Order
	return o, nil
}

func (o *ordering) started(r *Outcome) {
	if o.shares != nil {
		o.shares.Bound(r.Job.ID)
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
	return o.shares.Pass(now, all) != fairshare.Same
}
