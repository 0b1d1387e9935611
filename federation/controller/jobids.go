package controller

import (
	"context"
	"slices"
	"time"

	"fsub/federation"
)

// jobIDs are reserved for the jobs that tasks of arrays become: a plan has no time to ask the store for them.
type jobIDs struct {
	*shared
	free    []federation.JobID
	offered int       // how many of them stand in the plan that is being made
	again   time.Time // no reservation before this: the last one failed
	wanted  time.Time // when there were too few for a plan
}

// reserve makes sure that there are n.
func (x *jobIDs) reserve(ctx context.Context, n int) {
	if n -= len(x.free); n <= 0 || x.now().Before(x.again) {
		return
	}
	ids, err := x.store.ReserveIDs(ctx, max(n, 64))
	if err != nil {
		x.log.Error("reserve job IDs for the tasks of arrays", "err", err)
		x.again = x.now().Add(x.t.Retry)
		return
	}
	x.free = append(x.free, ids...)
}

// left is how many may still be offered in this plan.
func (x *jobIDs) left() int { return len(x.free) - x.offered }

// offer returns the next for this plan. It is used only if the plan binds what it names.
func (x *jobIDs) offer() federation.JobID {
	x.offered++
	return x.free[x.offered-1]
}

func (x *jobIDs) use(id federation.JobID) {
	x.free = slices.DeleteFunc(x.free, func(f federation.JobID) bool { return f == id })
}

// lack has the store read before the next plan, which reserves more: what lacks one would have to wait for the
// next cause to plan. It does so once in a while only, for there may be none to be had.
func (x *jobIDs) lack() {
	if now := x.now(); now.Sub(x.wanted) >= x.t.Retry {
		x.wanted, x.lastRead, x.planDirty = now, time.Time{}, true
	}
}
