package slurm

import (
	"context"
	"fmt"
	"net/http"

	"fsub/federation"
	"fsub/slurm/wire"
)

// requeueVersion is the first API version that can requeue (26.05).
const requeueVersion = "v0.0.45"

// Requeue is scontrol requeue. Before 26.05 slurmrestd has no word for it: FEDERATION_REQUEUE among the flags of DELETE /job/{id} only
// marks the end in the accounting, and the job stays cancelled.
func (ac *actor) Requeue(ctx context.Context, ref federation.JobRef, tasks []int) error {
	ctx = ac.onBehalf(ctx, ref)
	st, err := ac.rights.standing(ctx)
	if err != nil {
		return err
	}
	tr, err := ac.c.negotiated(ctx)
	if err != nil {
		return err
	}
	if tr.version < requeueVersion {
		return fmt.Errorf("requeue job %d at %s: %w: API version %s has no requeue", ref.ID, ac.cfg.Name, federation.ErrInvalid, tr.version)
	}
	j, err := ac.queue.held(ctx, st, ref)
	if err != nil {
		return err
	}
	var a wire.KillJobsResponse
	body := map[string]any{"jobs": names([]number{number(j.SiteJobID)}, tasks)}
	if err := ac.c.do(ctx, request{op: "requeue", method: http.MethodPost, path: wire.PathJobs + "requeue", body: body}, &a); err != nil {
		return err
	}
	for _, e := range a.Errors {
		return fmt.Errorf("requeue job %d at %s: %w", ref.ID, ac.cfg.Name, acted(e.Number, e.Text, e.Description))
	}
	for _, s := range a.Status {
		if s.Error.Code != 0 {
			return fmt.Errorf("requeue job %s at %s: %w", s.StepID, ac.cfg.Name, acted(s.Error.Code, s.Error.Text, ""))
		}
	}
	return nil
}
