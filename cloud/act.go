package cloud

import (
	"context"
	"fmt"
	"time"

	"fsub/cloud/agentapi"
	"fsub/federation"
)

// act calls f for a job that lives here, under the lock, and waits until what it changed is durable. nil stands for a job that the site does not know,
// or that has ended: those are told apart by over.
func (d *Driver) act(ctx context.Context, ref federation.JobRef, f func(j *job, over bool) error) error {
	if err := d.isLoaded(ctx); err != nil {
		return err
	}
	d.mu.Lock()
	j := d.jobs.byID[ref.ID]
	if j != nil && ref.Key != "" && ref.Key != j.Key {
		j = nil
	}
	err := f(j, j != nil && !j.End.IsZero())
	d.queue.schedule()
	batch := d.rec.Flush()
	d.mu.Unlock()
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

// Requeue implements federation.Requeuer.
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

// stop has a run ended by its agents. What of it no agent was told ends at once, as o says.
func (rs *runs) stop(r *run, why agentapi.Why, o outcome) {
	if r.Stop != nil && (why != agentapi.WhyCancel || r.Stop.Why == agentapi.WhyCancel) {
		return
	}
	r.Stop = &agentapi.Stop{Why: why, Grace: rs.t.KillWait}
	if r.job.State == federation.Suspended {
		r.Stop.Grace = 0 // slurmctld too kills at once what is suspended
	}
	rs.put(r.job)
	if !r.sent[0] && r.Members[0].State == "" { // the script cannot have begun
		o.At = rs.now()
		rs.fail(r, o)
		return
	}
	if r.End != nil && r.End.State == federation.Pending && why == agentapi.WhyCancel {
		r.End.State = federation.Cancelled // it does not run again
	}
	r.job.unsuspend(rs.now())
	r.job.State = federation.Completing
	rs.bumpAfter(r)
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

// order has an agent send a signal.
func (m *machine) order(s agentapi.Signal, now time.Time) signal {
	last := m.acked
	if n := len(m.signals); n > 0 {
		last = m.signals[n-1].Seq
	}
	m.acked = max(last+1, uint64(now.UnixMicro()))
	s.Seq = m.acked
	o := signal{Signal: s, done: make(chan struct{}), missed: new(bool)}
	m.signals = append(m.signals, o)
	m.bump()
	return o
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

// overdue stops a run whose agent should have ended it for its time limit.
func (rs *runs) overdue(j *job, now time.Time) {
	r := j.run
	if r == nil || j.Start.IsZero() {
		return
	}
	if r.Stop != nil {
		rs.stuck(r, now)
		return
	}
	limit := j.limit(r.machines[0].pool)
	if late := rs.t.KillWait + rs.t.Margin; limit < 1<<62 && j.elapsed(now) > limit+late {
		rs.log.Warn("an agent has let a job's time limit pass", "job", j.id(), "limit", limit)
		rs.stop(r, agentapi.WhyTimeout, outcome{State: federation.Timeout, Reason: federation.ReasonTimeLimit})
	}
}

// unkillable is how long a run that is being ended may take, beyond all graces, before its machine is given up: its processes hang in the kernel, or its agent
// does (Slurm: UnkillableStepTimeout).
const unkillable = 3 * time.Minute

// stuck ends machines whose agents live and do not end a run that they were told to end. The run is over when the cloud says that they are.
func (rs *runs) stuck(r *run, now time.Time) {
	if r.told == nil {
		return
	}
	limit := r.told.Grace + rs.t.KillWait + rs.t.Margin + unkillable
	for i, m := range r.machines {
		if r.Members[i].State == agentapi.RunEnded || m.State != machineUp {
			continue
		}
		if m.stops[r.ID].IsZero() {
			m.stops[r.ID] = now
		}
		if now.Sub(m.stops[r.ID]) < limit {
			continue
		}
		m.drain = fmt.Sprintf("its agent does not end job %d", r.job.id())
		if len(m.stops) == len(m.runs) { // others go on until they have ended
			rs.fleet.endMachine(m, m.drain)
		}
	}
}
