package cloud

import (
	"context"
	"fmt"
	"slices"

	"fsub/cloud/agentapi"
	"fsub/federation"
	"fsub/federation/driver"
)

// SignalStep implements driver.StepSignaller. The agent of the gang's first machine leads all steps, and its word counts: what it has told of steps so far may
// be a second old.
func (d *Driver) SignalStep(ctx context.Context, id federation.JobID, step string, sig driver.StepSignal) error {
	var s signal
	var head *machine
	err := d.act(ctx, federation.JobRef{ID: id}, func(j *job, over bool) error {
		if j == nil || over || j.run == nil || j.run.End != nil || !j.run.visible || j.run.Members[0].State == agentapi.RunEnded {
			return noStep(id, step)
		}
		head = j.run.machines[0]
		s = head.order(agentapi.Signal{Run: j.run.ID, Step: step, Name: sig.Name, By: sig.By}, d.now())
		return nil
	})
	if err != nil {
		return err
	}
	select {
	case <-s.done:
	case <-ctx.Done():
		if d.takeBack(head, s.Seq) {
			return fmt.Errorf("signal step %d.%s: its machine does not ask for orders: %w: %w", id, step, ctx.Err(), federation.ErrUnavailable)
		}
		return fmt.Errorf("signal step %d.%s: its machine was told, and does not say that it was done: %w: %w", id, step, ctx.Err(), federation.ErrUnavailable)
	}
	if *s.missed {
		return noStep(id, step)
	}
	return nil
}

// takeBack takes an order back that the machine's agent has not been given, so that it is not carried out when nobody waits for it any more. It reports whether it could.
func (b *base) takeBack(m *machine, seq uint64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := len(m.signals)
	m.signals = slices.DeleteFunc(m.signals, func(s signal) bool { return s.Seq == seq && !s.sent })
	return len(m.signals) < n
}

func noStep(id federation.JobID, step string) error {
	return fmt.Errorf("step %d.%s: %w", id, step, federation.ErrNotFound)
}
