package controller

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"fsub/federation"
	"fsub/federation/journal"
)

// writer writes what rounds have changed.
type writer struct {
	now     func() time.Time
	log     *slog.Logger
	store   Store
	metrics *metrics
	jobs    *jobTable
	batch   *pendingBatch
	asides  *aside
	inbox   *inbox
	settled func(done []int64) // called with the requests that are durable as done
	wake    func()
	charged func() // called when all charges are durable
}

// commit writes what the round has changed. If that fails, everything is kept for the next try, and no call is made; but what could never be written is
// put aside.
func (w *writer) commit(ctx context.Context) bool {
	w.batch.addReasons(w.jobs)
	if w.batch.empty() {
		w.charged()
		return true
	}
	b := w.batch.records()
	err := w.store.Commit(ctx, b)
	switch {
	case err == nil:
		w.wrote(b)
	case unwritable(err):
		err = w.commitApart(ctx, b)
	}
	if err != nil {
		w.log.Error("write to the store", "err", err, "jobs", len(b.Jobs), "attempts", len(b.Attempts))
		return false
	}
	if w.asides.stale { // what was written is read again
		return false
	}
	for j := range w.batch.jobs {
		j.nowStored()
	}
	w.batch.clear()
	clear(w.jobs.ended)
	w.charged()
	return true
}

// wrote notes what is done now that a batch is durable.
func (w *writer) wrote(b *journal.Batch) {
	w.inbox.done(slices.Sorted(slices.Values(b.Done)))
	w.settled(b.Done)
	if len(b.Requests) > 0 {
		w.wake()
	}
}

// commitApart writes all of a batch but the units that the store can never take. A live job of one is put aside; what is of no live job is dropped, and
// stands in the log. If the store fails on the way, what was not written yet is read again.
func (w *writer) commitApart(ctx context.Context, b *journal.Batch) error {
	units := unitsOf(b, w.jobs.rootOf, func(seq int64) federation.JobID { return w.inbox.taken[seq] })
	bad, err := w.halve(ctx, units)
	if err != nil {
		w.asides.stale = true
		return err
	}
	for _, u := range bad {
		if w.jobs.known(u.job) {
			w.asides.put(u.job, w.jobs.rootOf(u.job), fmt.Errorf("its records cannot be written: %w", u.why), w.now())
			continue
		}
		w.metrics.dropped.Inc()
		w.log.Error("records dropped: the store can never take them", "job", u.job, "err", u.why, "records", fmt.Sprintf("%+v", together([]*unit{u.unit})))
		for _, seq := range u.Done { // a request about a job that is gone is done
			if err := w.store.Commit(ctx, &journal.Batch{Done: []int64{seq}}); err != nil {
				w.log.Error("end a request", "seq", seq, "err", err)
				continue
			}
			w.inbox.done([]int64{seq})
		}
	}
	return nil
}

// poisoned is a unit that the store can never take.
type poisoned struct {
	*unit
	why error
}

// halve writes units, and tries each half of those that cannot be written together.
func (w *writer) halve(ctx context.Context, units []*unit) (bad []poisoned, err error) {
	b := together(units)
	switch err = w.store.Commit(ctx, b); {
	case err == nil:
		w.wrote(b)
		return nil, nil
	case !unwritable(err):
		return nil, err
	case len(units) == 1:
		return []poisoned{{units[0], err}}, nil
	}
	for _, half := range [][]*unit{units[:len(units)/2], units[len(units)/2:]} {
		more, err := w.halve(ctx, half)
		bad = slices.Concat(bad, more)
		if err != nil {
			return bad, err
		}
	}
	return bad, nil
}
