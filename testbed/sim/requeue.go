package sim

import (
	"context"

	"fsub/federation"
	"fsub/federation/action"
	"fsub/federation/driver"
)

// requeueDue has a user requeue a job that runs, if it is time for that.
func (w *world) requeueDue(ctx context.Context) error {
	if w.cfg.Requeue == 0 || len(w.acked) == 0 || w.clock.Now().Before(w.nextRequeue) {
		return nil
	}
	w.nextRequeue = w.draw(w.cfg.Requeue)
	for range 10 {
		j, err := w.store.Job(ctx, w.acked[w.rng.IntN(len(w.acked))])
		if err != nil {
			return err
		}
		if j.State != federation.Running || j.Spec.Requeue != nil || j.Whole != nil {
			continue
		}
		_, err = w.store.AddRequest(ctx, action.Request{Job: j.ID, Kind: action.Requeue, UID: j.UID, Restarts: j.Restarts, At: w.clock.Now()})
		w.report.Asked++
		w.asked[j.ID]++
		return err
	}
	return nil
}

// stopped reports whether an attempt was cancelled because its job was to be requeued.
func (w *world) stopped(a *federation.Attempt) bool {
	return w.asked[a.Job] > 0 && a.State == federation.AttemptEnded
}

// settled reports whether nothing that was asked for is left to do.
func (w *world) settled(ctx context.Context) (bool, error) {
	if w.cfg.Requeue == 0 {
		return true, nil
	}
	left, err := w.store.Requests(ctx, 0)
	if err != nil || len(left) > 0 {
		return false, err
	}
	live, err := w.store.Jobs(ctx, federation.JobQuery{Live: true, Limit: 1})
	return len(live) == 0, err
}

// Abilities are those of the driver inside.
func (d *mortalDriver) Abilities() driver.Abilities {
	can := driver.AbilitiesOf(d.Driver)
	if can.Requeue != nil {
		can.Requeue = d
	}
	if can.Reserve != nil {
		can.Reserve = reservers{can.Reserve, d.life.step}
	}
	return can
}

// Abilities are those of the driver inside.
func (d *lossy) Abilities() driver.Abilities {
	can := driver.AbilitiesOf(d.Driver)
	if can.Requeue != nil {
		can.Requeue = d
	}
	if can.Reserve != nil {
		can.Reserve = reservers{can.Reserve, d.call}
	}
	return can
}

// Requeue is a step of the daemon too.
func (d *mortalDriver) Requeue(ctx context.Context, ref federation.JobRef, tasks []int) error {
	return d.life.step(func() error { return driver.AbilitiesOf(d.Driver).Requeue.Requeue(ctx, ref, tasks) })
}

// Requeue may get lost, or its reply.
func (d *lossy) Requeue(ctx context.Context, ref federation.JobRef, tasks []int) error {
	return d.call(func() error { return driver.AbilitiesOf(d.Driver).Requeue.Requeue(ctx, ref, tasks) })
}
