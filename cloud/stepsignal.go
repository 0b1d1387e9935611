package cloud

import (
	"context"
	"fmt"

	"fsub/cloud/agentapi"
	"fsub/federation"
)

var _ federation.StepSignaller = (*Driver)(nil)

// SignalStep implements federation.StepSignaller. The agent of the gang's first machine leads all steps, and its word counts: what it has told of steps so far may
// be a second old.
func (d *Driver) SignalStep(ctx context.Context, id federation.JobID, step string, sig federation.StepSignal) error {
	var s signal
	err := d.act(ctx, federation.JobRef{ID: id}, func(j *job, over bool) error {
		if j == nil || over || j.run == nil || j.run.End != nil || !j.run.visible || j.run.Members[0].State == agentapi.RunEnded {
			return noStep(id, step)
		}
		s = j.run.machines[0].order(agentapi.Signal{Run: j.run.ID, Step: step, Name: sig.Name, By: sig.By}, d.now())
		return nil
	})
	if err != nil {
		return err
	}
	select {
	case <-s.done:
	case <-ctx.Done():
		return fmt.Errorf("signal step %d.%s: %w: %w", id, step, ctx.Err(), federation.ErrUnavailable)
	}
	if *s.missed {
		return noStep(id, step)
	}
	return nil
}

func noStep(id federation.JobID, step string) error {
	return fmt.Errorf("step %d.%s: %w", id, step, federation.ErrNotFound)
}
