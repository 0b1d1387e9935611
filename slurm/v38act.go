package slurm

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"fsub/federation"
	"fsub/slurm/wire"
)

// kill38 sends a signal, job by job, to the batch shell and the steps together: v0.0.38 has no other.
func (ac *actor) kill38(ctx context.Context, op string, k wire.KillJobs) []error {
	if k.Signal != "" && !slices.Contains(k.Flags, wire.KillFull) {
		return []error{ac.refuse38(ctx, op, k.Jobs[0])}
	}
	r := request{op: op, method: http.MethodDelete}
	if k.Signal != "" {
		r.query = url.Values{"signal": {k.Signal}}
	}
	var out []error
	for _, job := range k.Jobs {
		var a wire.KillJobsResponse
		r.path = wire.PathJob + job
		if err := ac.c.do(ctx, r, &a); err != nil {
			out = append(out, err)
			continue
		}
		for _, e := range a.Errors {
			out = append(out, fmt.Errorf("%s job %s at %s: %w", op, job, ac.cfg.Name, acted(e.Number, e.Text, e.Description)))
		}
	}
	return out
}

// refuse38 says why a signal to the steps or to the batch shell alone is not sent; there may be a
// better reason than that v0.0.38 lacks it.
func (ac *actor) refuse38(ctx context.Context, op, job string) error {
	id, _, _ := strings.Cut(job, "_")
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		return fmt.Errorf("%w: job number %q", federation.ErrInvalid, id)
	}
	records, err := ac.queue.job(ctx, n)
	if err != nil {
		return err
	}
	switch s := state(records[0].State); {
	case s == federation.Pending && len(records) == 1:
		err = slurmError(federation.ErrConflict, wire.Error{Number: wire.ErrJobPending}, "")
	case s.Ended() && len(records) == 1:
		err = slurmError(federation.ErrConflict, wire.Error{Number: wire.ErrAlreadyDone}, "")
	default:
		err = fmt.Errorf("%w: API version v0.0.38 signals the batch shell and the steps together, or nothing (scancel --full)", federation.ErrInvalid)
	}
	return fmt.Errorf("%s job %s at %s: %w", op, job, ac.cfg.Name, err)
}

// clusterName is what the site calls itself: v0.0.38 tells it with a job, and in slurmdbd's list if that is of one cluster only.
func (q *queue) clusterName(ctx context.Context) string {
	q.mu.Lock()
	name, jobs := q.cluster, q.recent.records
	q.mu.Unlock()
	if name != "" {
		return name
	}
	if len(jobs) > 0 {
		name = jobs[0].Cluster
	}
	if name == "" {
		var a wire.ClustersResponse
		err := q.c.do(ctx, request{op: "clusters", method: http.MethodGet, db: true, path: wire.PathDBClusters}, &a)
		if err == nil && len(a.Clusters) == 1 {
			name = a.Clusters[0].Name
		} else if err == nil || errors.Is(err, errNoEndpoint) {
			q.remarks.add("v0.0.38 does not tell the name of the cluster while it has no jobs")
		}
	}
	q.mu.Lock()
	q.cluster = name
	q.mu.Unlock()
	return name
}

// Limits are what the site's API cannot do, by the names of drivertest.
func (d *Driver) Limits() map[string]string {
	out := map[string]string{}
	st, err := d.rights.standing(context.Background())
	if err != nil {
		return out
	}
	if tr := d.c.api.Load(); tr != nil && tr.old {
		for test, why := range limitsOfV38 {
			out[test] = why
		}
	}
	if st.mapped {
		out["SubmitTakenIDConflicts"] = "the site chooses job IDs itself: the federation's IDs cannot be taken"
	}
	return out
}

// ranAs makes sure that a job which was submitted in another's name is that user's: 22.05 takes one of a name that it does not know for
// "nobody", unless associations are enforced.
func (d *Driver) ranAs(ctx context.Context, user string, id int64) error {
	if user == "" || !d.cfg.NoAssociations {
		return nil
	}
	records, err := d.queue.job(ctx, id)
	if err != nil || records[0].UserName == user {
		return err
	}
	errs := d.kill(ctx, "cancel", wire.KillJobs{Jobs: []string{strconv.FormatInt(id, 10)}})
	return errors.Join(append(errs, slurmError(federation.ErrDenied, wire.Error{Number: wire.ErrUserID}, "the site knows no user "+user))...)
}
