package slurm

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

	"fsub/federation"
	"fsub/slurm/wire"
)

// SetNice implements [federation.Ranker].
func (d *Driver) SetNice(ctx context.Context, ref federation.JobRef, nice int64) error {
	st, err := d.standing(ctx)
	if err != nil {
		return err
	}
	j, err := d.held(ctx, st.of(ref), ref)
	if err != nil {
		return err
	}
	if j.State != federation.Pending {
		return fmt.Errorf("rank job %d at %s: %w", ref.ID, d.cfg.Name, slurmError(federation.ErrConflict, wire.Error{Number: wire.ErrNotPending}, "it is "+string(j.State)))
	}
	n := int(nice)
	var a wire.JobUpdateResponse
	r := request{op: "rank", method: http.MethodPost, path: wire.PathJob + strconv.FormatInt(int64(j.SiteJobID), 10), body: wire.JobDesc{Nice: &n}}
	if err := d.c.do(ctx, r, &a); err != nil {
		return err
	}
	for _, e := range a.Errors {
		return fmt.Errorf("rank job %d at %s: %w", ref.ID, d.cfg.Name, acted(e.Number, e.Text, ""))
	}
	for _, res := range a.Results {
		if res.Code != 0 {
			return fmt.Errorf("rank job %d at %s: %w", ref.ID, d.cfg.Name, acted(res.Code, res.Error, res.Why))
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if w, ok := d.waiting[int64(j.SiteJobID)]; ok { // slurmctld has worked out the same by now
		w.Priority, w.Nice = w.Priority+w.Nice-nice, nice
		d.waiting[int64(j.SiteJobID)] = w
	}
	return nil
}
