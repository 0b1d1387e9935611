package cloud

import (
	"context"
	"fmt"
	"slices"

	"fsub/federation"
)

// Suspend implements driver.Suspender. The job is SUSPENDED as soon as that is in the records; its agents are told then, and follow within moments. Its machines stay its own, and are
// paid for.
func (d *Driver) Suspend(ctx context.Context, ref federation.JobRef) error {
	return d.act(ctx, ref, func(j *job, over bool) error {
		switch {
		case j == nil:
			return notHere(ref)
		case over || j.run == nil || j.run.Stop != nil || j.run.End != nil || j.State != federation.Running && j.State != federation.Suspended:
			return fmt.Errorf("job %d does not run: %w", ref.ID, federation.ErrConflict)
		case j.State == federation.Suspended:
			return nil
		case slices.ContainsFunc(j.run.machines, (*machine).announced):
			return fmt.Errorf("the cloud takes a machine of job %d back: %w", ref.ID, federation.ErrConflict)
		case !j.run.machines[0].Suspends:
			return fmt.Errorf("the agent of %s is of a version that cannot suspend jobs: %w", j.run.machines[0].Name, federation.ErrInvalid)
		}
		j.State, j.Suspension = federation.Suspended, j.Suspension.Suspend(j.Start, d.now())
		r := j.run
		d.put(j)
		d.after(func() { r.suspended = true })
		d.runs.bumpAfter(r)
		return nil
	})
}

// Resume implements driver.Suspender.
func (d *Driver) Resume(ctx context.Context, ref federation.JobRef) error {
	return d.act(ctx, ref, func(j *job, over bool) error {
		switch {
		case j == nil:
			return notHere(ref)
		case over || j.run == nil || j.State != federation.Running && j.State != federation.Suspended:
			return fmt.Errorf("job %d is not suspended: %w", ref.ID, federation.ErrConflict)
		}
		d.runs.goOn(j.run)
		return nil
	})
}
