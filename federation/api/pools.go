package api

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"fsub/federation"
	"fsub/federation/api/answer"
	"fsub/federation/api/identity"
	v1 "fsub/federation/api/v1"
	"fsub/federation/driver"
)

// Pools tells how rented pools stand.
type Pools interface {
	// Pools are those of all sites.
	Pools() []driver.PoolStatus
	// Machines are those that there are, and those that have ended at since or later, the newest first, at most limit; of all sites if site is "".
	Machines(ctx context.Context, site federation.SiteName, since time.Time, limit int) ([]driver.Machine, error)
	// Retry has a site's cloud asked again for what it has refused, and tells what that was. ErrNotFound: the site has no rented pools.
	Retry(ctx context.Context, site federation.SiteName) ([]driver.Cooling, error)
}

var errAdminsOnly = answer.Detailed(answer.Denied, "only an administrator may, as in Slurm: root, and the user that the daemon runs as")

var errCoordinatorsOnly = answer.Detailed(answer.Denied, "only coordinators of an account, and operators, may change accounts; see: fed account list")

var errOperatorsOnly = answer.Detailed(answer.Denied, "only an operator may; the daemon's configuration lists them (operators)")

// jobReader reads jobs of the store.
type jobReader interface {
	Jobs(ctx context.Context, q federation.JobQuery) ([]federation.Job, error)
}

// rented answers for the pools of rented machines. all is nil where there are none.
type rented struct {
	all   Pools
	store jobReader
	sites func() []*federation.Site
	now   func() time.Time
}

// get is GET /fed/v1/pools.
func (s *rented) get(ctx context.Context, c identity.Caller, _ v1.None) ([]v1.Pool, error) {
	out := []v1.Pool{}
	if s.all != nil {
		for _, p := range s.all.Pools() {
			out = append(out, v1.PoolOf(&p))
		}
	}
	return out, nil
}

// getMachines is GET /fed/v1/machines.
func (s *rented) getMachines(ctx context.Context, c identity.Caller, q v1.MachineQuery) ([]v1.Machine, error) {
	if q.Since.IsZero() {
		q.Since = s.now().AddDate(1, 0, 0)
	}
	out := []v1.Machine{}
	if s.all == nil {
		return out, nil
	}
	all, err := s.all.Machines(ctx, q.Site, q.Since, v1.MaxMachines)
	if err != nil {
		return nil, answer.OfStore(err, answer.NoContact)
	}
	if len(all) == 0 && q.Site != "" && !slices.ContainsFunc(s.sites(), func(o *federation.Site) bool { return o.Name == q.Site }) {
		return nil, &federation.SlurmError{Kind: federation.ErrNotFound, Text: fmt.Sprintf("no site %q in the federation; see: fed site list", q.Site)}
	}
	if err := s.nameTasks(ctx, all); err != nil {
		return nil, answer.OfStore(err, answer.NoContact)
	}
	for _, m := range all {
		out = append(out, v1.Machine(m))
	}
	return out, nil
}

// nameTasks says of which array the jobs of machines are tasks. A job that has been deleted since keeps its ID alone.
func (s *rented) nameTasks(ctx context.Context, machines []driver.Machine) error {
	of := map[federation.JobID]*federation.ArrayPart{}
	for i := range machines {
		if id := machines[i].Job; id != 0 {
			of[id] = nil
		}
	}
	if len(of) == 0 {
		return nil
	}
	jobs, err := s.store.Jobs(ctx, federation.JobQuery{IDs: slices.Collect(maps.Keys(of)), Alone: true})
	if err != nil {
		return err
	}
	for i := range jobs {
		of[jobs[i].ID] = jobs[i].Part
	}
	for i := range machines {
		if p := of[machines[i].Job]; p != nil {
			machines[i].Array, machines[i].Task = p.Array, &p.Index
		}
	}
	return nil
}

// retry is POST /fed/v1/site/{name}/retry.
func (s *rented) retry(r *http.Request, c identity.Caller) ([]v1.Cooling, error) {
	site := federation.SiteName(r.PathValue("name"))
	forgiven, err := []driver.Cooling(nil), error(federation.ErrNotFound)
	if s.all != nil {
		forgiven, err = s.all.Retry(r.Context(), site)
	}
	switch {
	case errors.Is(err, federation.ErrNotFound):
		return nil, &federation.SlurmError{Kind: federation.ErrNotFound, Text: fmt.Sprintf("no site %q with rented pools in the federation; see: fed pool list", site)}
	case err != nil:
		return nil, answer.OfStore(err, answer.NoContact)
	}
	out := []v1.Cooling{}
	for _, f := range forgiven {
		out = append(out, v1.Cooling(f))
	}
	return out, nil
}
