package cloud

import (
	"context"
	"fmt"

	"fsub/cloud/agentapi"
	"fsub/cloud/records"
	"fsub/federation"
)

// act calls f for a job that lives here, under the lock, and waits until what it changed is durable. nil stands for a job that the site does not know,
// or that has ended: those are told apart by over.
func (d *Driver) act(ctx context.Context, ref federation.JobRef, f func(j *job, over bool) error) error {
	if err := d.isLoaded(ctx); err != nil {
		return err
	}
	var batch *records.Batch
	var err error
	d.locked(func() {
		j := d.jobs.byID[ref.ID]
		if j != nil && ref.Key != "" && ref.Key != j.Key {
			j = nil
		}
		err = f(j, j != nil && !j.End.IsZero())
		d.scheduler.schedule()
		batch = d.rec.Flush()
	})
	if err != nil {
		return err
	}
	return d.rec.Durable(ctx, batch)
}

func notHere(ref federation.JobRef) error {
	return fmt.Errorf("job %d: %w", ref.ID, federation.ErrNotFound)
}

// Cancel implements federation.Driver.
func (d *Driver) Cancel(ctx context.Context, ref federation.JobRef, _ []int) error {
	return d.act(ctx, ref, func(j *job, over bool) error {
		switch {
		case j == nil || over:
		case j.run == nil:
			d.runs.finish(j, outcome{State: federation.Cancelled, At: d.now()})
		default:
			d.runs.stop(j.run, agentapi.WhyCancel, outcome{State: federation.Cancelled})
		}
		return nil
	})
}

// Requeue implements driver.Requeuer.
func (d *Driver) Requeue(ctx context.Context, ref federation.JobRef, _ []int) error {
	return d.act(ctx, ref, func(j *job, over bool) error {
		switch {
		case j == nil:
			return notHere(ref)
		case over || j.run == nil || j.run.End != nil || j.run.Stop != nil || j.State == federation.Pending:
			return fmt.Errorf("job %d waits already, or ends: %w", ref.ID, federation.ErrConflict)
		}
		d.runs.stop(j.run, agentapi.WhyRequeue, outcome{State: federation.Pending})
		return nil
	})
}

// Signal implements federation.Driver. It returns when the machines have carried it out. One that nobody waits for any more is not sent later.
func (d *Driver) Signal(ctx context.Context, ref federation.JobRef, _ []int, sig federation.Signal) error {
	type wait struct {
		m *machine
		signal
	}
	var waits []wait
	err := d.act(ctx, ref, func(j *job, over bool) error {
		switch {
		case j == nil || over:
			return notHere(ref)
		case j.run == nil || j.State == federation.Pending || !j.run.visible:
			return fmt.Errorf("job %d has not started: %w", ref.ID, federation.ErrConflict)
		}
		for i, m := range j.run.machines {
			if j.run.Members[i].State == agentapi.RunEnded {
				continue
			}
			waits = append(waits, wait{m, m.order(agentapi.Signal{Run: j.run.ID, Name: sig.Name, Batch: sig.Batch, Full: sig.Full}, d.now())})
		}
		return nil
	})
	if err != nil {
		return err
	}
	for i := range waits {
		select {
		case <-waits[i].done:
			continue
		case <-ctx.Done():
		}
		told := 0
		for _, w := range waits[i:] {
			if !d.takeBack(w.m, w.Seq) {
				told++
			}
		}
		return fmt.Errorf("signal job %d: %d of its %d machines did not ask for orders in time, and will not be told: %w: %w", ref.ID, len(waits)-i-told, len(waits), ctx.Err(),
			federation.ErrUnavailable)
	}
	return nil
}

// Hold implements federation.Driver.
func (d *Driver) Hold(ctx context.Context, ref federation.JobRef) error {
	return d.act(ctx, ref, func(j *job, over bool) error {
		switch {
		case j == nil || over:
			return notHere(ref)
		case j.State != federation.Pending:
			return fmt.Errorf("job %d has started: %w", ref.ID, federation.ErrConflict)
		case j.run != nil: // its machines start: they are for others now
			d.runs.unbind(j.run, false, "")
		}
		d.runs.release(j)
		d.queue.dequeue(j)
		j.Job.Held = federation.HeldUser
		d.put(j)
		d.queue.enqueue(j) // sets the reason
		return nil
	})
}

// Release implements federation.Driver.
func (d *Driver) Release(ctx context.Context, ref federation.JobRef) error {
	return d.act(ctx, ref, func(j *job, over bool) error {
		switch {
		case j == nil || over:
			return notHere(ref)
		case j.State != federation.Pending:
			return fmt.Errorf("job %d has started: %w", ref.ID, federation.ErrConflict)
		}
		j.Job.Held = federation.NotHeld
		d.put(j)
		d.queue.enqueue(j)
		return nil
	})
}
