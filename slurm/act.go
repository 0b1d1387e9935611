package slurm

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"fsub/federation"
	"fsub/slurm/wire"
)

// Cancel sends the job SIGTERM and, after KillWait, SIGKILL, as scancel does.
func (d *Driver) Cancel(ctx context.Context, ref federation.JobRef, tasks []int) error {
	numbers, err := d.numbers(ctx, ref)
	if errors.Is(err, federation.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, err := range d.kill(ctx, "cancel", wire.KillJobs{Jobs: names(numbers, tasks)}) {
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
	numbers, err := d.numbers(ctx, ref)
	if err != nil {
		return err
	}
	k := wire.KillJobs{Jobs: names(numbers, tasks), Signal: sig.Name}
	switch {
	case sig.Full:
		k.Flags = []string{wire.KillFull}
	case sig.Batch:
		k.Flags = []string{wire.KillBatch}
	}
	return errors.Join(d.kill(ctx, "signal", k)...)
}

// names writes a job, or some tasks of it, as DELETE /jobs/ wants them.
func names(ids []number, tasks []int) []string {
	var out []string
	for _, id := range ids {
		if len(tasks) == 0 {
			out = append(out, strconv.FormatInt(int64(id), 10))
		}
		for _, t := range tasks {
			out = append(out, fmt.Sprintf("%d_%d", id, t))
		}
	}
	return out
}

// kill asks for a signal and returns what was refused. The HTTP status is 200 in any case, and an empty status[] means
// that all was done.
func (d *Driver) kill(ctx context.Context, op string, k wire.KillJobs) []error {
	tr, err := d.c.negotiated(ctx)
	if err != nil {
		return []error{err}
	}
	if tr.old {
		return d.kill38(ctx, op, k)
	}
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
	return d.setHold(ctx, "hold", ref, true)
}

// Release undoes Hold.
func (d *Driver) Release(ctx context.Context, ref federation.JobRef) error {
	return d.setHold(ctx, "release", ref, false)
}

// setHold looks first: slurmctld accepts a hold of a running job, which would be held at its next requeue.
func (d *Driver) setHold(ctx context.Context, op string, ref federation.JobRef, hold bool) error {
	id := ref.ID
	st, err := d.standing(ctx)
	if err != nil {
		return err
	}
	j, err := d.held(ctx, st.of(ref), ref)
	if err != nil {
		return err
	}
	if j.State != federation.Pending && j.PendingTasks == "" {
		return fmt.Errorf("%s job %d at %s: %w", op, id, d.cfg.Name, slurmError(federation.ErrConflict, wire.Error{Number: wire.ErrNotPending}, "it is "+string(j.State)))
	}
	var a wire.JobUpdateResponse
	r := request{op: op, method: http.MethodPost, path: wire.PathJob + strconv.FormatInt(int64(j.SiteJobID), 10), body: wire.JobDesc{Hold: &hold}}
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
