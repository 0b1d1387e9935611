package controller

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"fsub/federation"
)

// jobIDs are reserved for the jobs that tasks of arrays become: a plan has no time to ask the store for them.
type jobIDs struct {
	now    func() time.Time
	log    *slog.Logger
	store  Store
	agenda *agenda
	pause  time.Duration // after a reservation that has failed, and between two wants

	free   []federation.JobID // in rising order
	again  time.Time          // no reservation before this: the last one failed
	wanted time.Time          // when there were too few for a plan
}

// reserve makes sure that there are n. It reports whether there are more than before.
func (x *jobIDs) reserve(ctx context.Context, n int) bool {
	if n -= len(x.free); n <= 0 || x.now().Before(x.again) {
		return false
	}
	ids, err := x.store.ReserveIDs(ctx, max(n, 64))
	if err != nil {
		x.log.Error("reserve job IDs for the tasks of arrays", "err", err)
		x.again = x.now().Add(x.pause)
		return false
	}
	x.free = append(x.free, ids...)
	return true
}

// take returns the lowest that is free; false if there is none.
func (x *jobIDs) take() (id federation.JobID, ok bool) {
	if len(x.free) == 0 {
		return 0, false
	}
	id, x.free = x.free[0], x.free[1:]
	return id, true
}

// giveBack makes one free that was not used.
func (x *jobIDs) giveBack(id federation.JobID) {
	i, _ := slices.BinarySearch(x.free, id)
	x.free = slices.Insert(x.free, i, id)
}

// lack has the store read before the next plan, which reserves more: what lacks one would have to wait for the
// next cause to plan. It does so once in a while only, for there may be none to be had.
func (x *jobIDs) lack() {
	if now := x.now(); now.Sub(x.wanted) >= x.pause {
		x.wanted, x.agenda.lastRead, x.agenda.plan = now, time.Time{}, true
	}
}
