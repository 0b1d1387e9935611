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

// actor changes jobs at the site.
type actor struct {
	*site
	rights  *rights
	queue   *queue
	holders *holders
}

// Cancel sends the job SIGTERM and, after KillWait, SIGKILL, as scancel does.
func (ac *actor) Cancel(ctx context.Context, ref federation.JobRef, tasks []int) error {
	if ac.c.users != nil && ref.User == "" { // a copy that nobody knows any more
		st, err := ac.rights.standing(ctx)
		if err != nil {
			return err
		}
		j, err := ac.queue.held(ctx, st.of(ref), ref)
		if err != nil && !errors.Is(err, federation.ErrNotFound) {
			return err
		}
		ctx = ac.c.inNameOf(ctx, j.User)
	}
	ctx = ac.onBehalf(ctx, ref)
	numbers, err := ac.queue.numbers(ctx, ref)
	if errors.Is(err, federation.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, err := range ac.kill(ctx, "cancel", wire.KillJobs{Jobs: names(numbers, tasks)}) {
		// Gone or ended already is as good as cancelled.
		if !errors.Is(err, federation.ErrNotFound) && !errors.Is(err, federation.ErrConflict) {
			return err
		}
	}
	return nil
}

// Signal sends sig as scancel does: to the steps, with Batch to the batch shell only, with Full to both.
// ErrConflict: the job is not running.
func (ac *actor) Signal(ctx context.Context, ref federation.JobRef, tasks []int, sig federation.Signal) error {
	ctx = ac.onBehalf(ctx, ref)
	numbers, err := ac.queue.numbers(ctx, ref)
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
	return errors.Join(ac.kill(ctx, "signal", k)...)
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
func (ac *actor) kill(ctx context.Context, op string, k wire.KillJobs) []error {
	tr, err := ac.c.negotiated(ctx)
	if err != nil {
		return []error{err}
	}
	if tr.old {
		return ac.kill38(ctx, op, k)
	}
	var a wire.KillJobsResponse
	if err := ac.c.do(ctx, request{op: op, method: http.MethodDelete, path: wire.PathJobs, body: k}, &a); err != nil {
		return []error{err}
	}
	var out []error
	for _, s := range a.Status {
		if s.Error.Code != 0 {
			out = append(out, fmt.Errorf("%s job %s at %s: %w", op, s.StepID, ac.cfg.Name, acted(s.Error.Code, s.Error.Text, "")))
		}
	}
	for _, e := range a.Errors {
		out = append(out, fmt.Errorf("%s job %s at %s: %w", op, k.Jobs[0], ac.cfg.Name, acted(e.Number, e.Text, e.Description)))
	}
	return out
}

// Hold keeps a pending job, or the tasks of an array that have not started, from starting.
func (ac *actor) Hold(ctx context.Context, ref federation.JobRef) error {
	return ac.setHold(ctx, "hold", ref, true)
}

// Release undoes Hold.
func (ac *actor) Release(ctx context.Context, ref federation.JobRef) error {
	return ac.setHold(ctx, "release", ref, false)
}

// setHold looks first: slurmctld accepts a hold of a running job, which would be held at its next requeue.
func (ac *actor) setHold(ctx context.Context, op string, ref federation.JobRef, hold bool) error {
	id, ctx := ref.ID, ac.onBehalf(ctx, ref)
	st, err := ac.rights.standing(ctx)
	if err != nil {
		return err
	}
	j, err := ac.queue.held(ctx, st.of(ref), ref)
	if err != nil {
		return err
	}
	if j.State != federation.Pending && j.PendingTasks == "" {
		return fmt.Errorf("%s job %d at %s: %w", op, id, ac.cfg.Name, slurmError(federation.ErrConflict, wire.Error{Number: wire.ErrNotPending}, "it is "+string(j.State)))
	}
	var a wire.JobUpdateResponse
	r := request{op: op, method: http.MethodPost, path: wire.PathJob + strconv.FormatInt(int64(j.SiteJobID), 10), body: wire.JobDesc{Hold: &hold}}
	if err := ac.c.do(ctx, r, &a); err != nil {
		return err
	}
	for _, e := range a.Errors {
		return fmt.Errorf("%s job %d at %s: %w", op, id, ac.cfg.Name, acted(e.Number, e.Text, ""))
	}
	for _, res := range a.Results {
		if res.Code != 0 {
			return fmt.Errorf("%s job %d at %s: %w", op, id, ac.cfg.Name, acted(res.Code, res.Error, res.Why))
		}
	}
	return nil
}
