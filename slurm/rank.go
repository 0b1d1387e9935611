package slurm

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

	"fsub/federation"
	"fsub/slurm/wire"
)

// SetNice implements [driver.Ranker].
func (ac *actor) SetNice(ctx context.Context, ref federation.JobRef, nice int64) error {
	ctx = ac.onBehalf(ctx, ref)
	st, err := ac.rights.standing(ctx)
	if err != nil {
		return err
	}
	j, err := ac.queue.held(ctx, st.of(ref), ref)
	if err != nil {
		return err
	}
	if j.State != federation.Pending {
		return fmt.Errorf("rank job %d at %s: %w", ref.ID, ac.cfg.Name, slurmError(federation.ErrConflict, wire.Error{Number: wire.ErrNotPending}, "it is "+string(j.State)))
	}
	n := int(nice)
	var a wire.JobUpdateResponse
	r := request{op: "rank", method: http.MethodPost, path: wire.PathJob + strconv.FormatInt(int64(j.SiteJobID), 10), body: wire.JobDesc{Nice: &n}}
	if err := ac.c.do(ctx, r, &a); err != nil {
		return err
	}
	for _, e := range a.Errors {
		return fmt.Errorf("rank job %d at %s: %w", ref.ID, ac.cfg.Name, acted(e.Number, e.Text, ""))
	}
	for _, res := range a.Results {
		if res.Code != 0 {
			return fmt.Errorf("rank job %d at %s: %w", ref.ID, ac.cfg.Name, acted(res.Code, res.Error, res.Why))
		}
	}
	ac.holders.renice(int64(j.SiteJobID), nice)
	return nil
}
