package slurm

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"fsub/federation"
	"fsub/slurm/wire"
)

// Cancel sends the job SIGTERM and, after KillWait, SIGKILL, as scancel does.
func (d *Driver) Cancel(ctx context.Context, ref federation.JobRef, tasks []int) error {
	for _, err := range d.kill(ctx, "cancel", wire.KillJobs{Jobs: names(ref.ID, tasks)}) {
		// Gone or ended already is as good as cancelled.
		if !errors.Is(err, federation.ErrNotFound) && !errors.Is(err, federation.ErrConflict) {
			return err
		}
	}
	return nil
}

// Signal sends sig as scancel does: to the steps, with Batch to the batch shell only, with Full to both.
// ErrConflict: the job is not running.
func (d *Driver) Signal(ctx context.Context, ref federation.JobRef, tasks []int, sig federation.Signal) error {
	k := wire.KillJobs{Jobs: names(ref.ID, tasks), Signal: sig.Name}
	switch {
	case sig.Full:
		k.Flags = []string{wire.KillFull}
	case sig.Batch:
		k.Flags = []string{wire.KillBatch}
	}
	return errors.Join(d.kill(ctx, "signal", k)...)
}

// names writes a job, or some tasks of it, as DELETE /jobs/ wants them.
func names(id federation.JobID, tasks []int) []string {
	if len(tasks) == 0 {
		return []string{id.String()}
	}
	var out []string
	for _, t := range tasks {
		out = append(out, fmt.Sprintf("%d_%d", id, t))
	}
	return out
}

// kill asks for a signal and returns what was refused. The HTTP status is 200 in any case, and an empty status[] means
// that all was done.
func (d *Driver) kill(ctx context.Context, op string, k wire.KillJobs) []error {
	var a wire.KillJobsResponse
	if err := d.c.do(ctx, request{op: op, method: http.MethodDelete, path: wire.PathJobs, body: k}, &a); err != nil {
		return []error{err}
	}
	var out []error
	for _, s := range a.Status {
		if s.Error.Code != 0 {
			out = append(out, fmt.Errorf("%s job %s at %s: %w", op, s.StepID, d.cfg.Name, acted(s.Error.Code, s.Error.Text, "")))
		}
	}
	for _, e := range a.Errors {
		out = append(out, fmt.Errorf("%s job %s at %s: %w", op, k.Jobs[0], d.cfg.Name, acted(e.Number, e.Text, e.Description)))
	}
	return out
}

// Hold keeps a pending job, or the tasks of an array that have not started, from starting.
func (d *Driver) Hold(ctx context.Context, ref federation.JobRef) error {
	return d.setHold(ctx, "hold", ref.ID, true)
}

// Release undoes Hold.
func (d *Driver) Release(ctx context.Context, ref federation.JobRef) error {
	return d.setHold(ctx, "release", ref.ID, false)
}

// setHold looks first: slurmctld accepts a hold of a running job, which would be held at its next requeue.
func (d *Driver) setHold(ctx context.Context, op string, id federation.JobID, hold bool) error {
	j, err := d.held(ctx, id)
	if err != nil {
		return err
	}
	if j.State != federation.Pending && j.PendingTasks == "" {
		return fmt.Errorf("%s job %d at %s: %w", op, id, d.cfg.Name, slurmError(federation.ErrConflict, wire.Error{Number: wire.ErrNotPending}, "it is "+string(j.State)))
	}
	var a wire.JobUpdateResponse
	r := request{op: op, method: http.MethodPost, path: wire.PathJob + id.String(), body: wire.JobDesc{Hold: &hold}}
	if err := d.c.do(ctx, r, &a); err != nil {
		return err
	}
	for _, e := range a.Errors {
		return fmt.Errorf("%s job %d at %s: %w", op, id, d.cfg.Name, acted(e.Number, e.Text, ""))
	}
	for _, res := range a.Results {
		if res.Code != 0 {
			return fmt.Errorf("%s job %d at %s: %w", op, id, d.cfg.Name, acted(res.Code, res.Error, res.Why))
		}
	}
	return nil
}
