package sim

import (
	"context"
	"fmt"
	"time"

	"fsub/federation/driver"
)

// reservers makes the calls about reservations steps of the daemon, over the same bad line.
type reservers struct {
	driver.Reserver
	step func(do func() error) error
}

func (r reservers) Reserve(ctx context.Context, p driver.Promise) error {
	return r.step(func() error { return r.Reserver.Reserve(ctx, p) })
}

func (r reservers) Unreserve(ctx context.Context, name string) error {
	return r.step(func() error { return r.Reserver.Unreserve(ctx, name) })
}

// checkPromises lets some minutes pass when all jobs have ended: no site has a reservation then.
func (w *world) checkPromises(ctx context.Context) error {
	for end := w.clock.Now().Add(3 * time.Minute); w.cfg.Promises && w.clock.Now().Before(end); {
		next, err := w.round(ctx)
		if err != nil {
			return err
		}
		w.advance(next)
	}
	for _, s := range w.sites {
		w.report.Reserved += s.Stats().Reserved
		for _, r := range s.Reservations() {
			return fmt.Errorf("site %s still has reservation %s from %v until %v", s.Name(), r.Name, r.Start, r.End)
		}
	}
	return nil
}
