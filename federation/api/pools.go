package api

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"

	"fsub/federation"
	"fsub/federation/api/answer"
	"fsub/federation/api/identity"
	v1 "fsub/federation/api/v1"
)

// Pools tells how rented pools stand.
type Pools interface {
	// Pools are those of all sites.
	Pools() []federation.PoolStatus
	// Machines are those that there are, and those that have ended at since or later, the newest first, at most limit; of all sites if site is "".
	Machines(ctx context.Context, site federation.SiteName, since time.Time, limit int) ([]federation.Machine, error)
	// Retry has a site's cloud asked again for what it has refused, and tells what that was. ErrNotFound: the site has no rented pools.
	Retry(ctx context.Context, site federation.SiteName) ([]federation.Cooling, error)
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
func (s *rented) get(w http.ResponseWriter, _ *http.Request, c identity.Caller) error {
	out := []v1.Pool{}
	if s.all != nil {
		for _, p := range s.all.Pools() {
			out = append(out, v1.PoolOf(&p))
		}
	}
	return answer.JSON(w, out)
}

// getMachines is GET /fed/v1/machines.
func (s *rented) getMachines(w http.ResponseWriter, r *http.Request, c identity.Caller) error {
	q := r.URL.Query()
	site, since, limit := federation.SiteName(q.Get("site")), s.now().AddDate(1, 0, 0), v1.MaxMachines
	if text := q.Get("since"); text != "" {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return answer.BadBody(fmt.Sprintf("since=%s: give seconds since 1970", text))
		}
		since = time.Unix(n, 0)
	}
	if text := q.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return answer.BadBody(fmt.Sprintf("limit=%s: give a number from 1 to %d", text, v1.MaxMachines))
		}
		limit = min(n, v1.MaxMachines)
	}
	out := []v1.Machine{}
	if s.all == nil {
		return answer.JSON(w, out)
	}
	all, err := s.all.Machines(r.Context(), site, since, limit)
	if err != nil {
		return answer.OfStore(err, answer.NoContact)
	}
	if len(all) == 0 && site != "" && !slices.ContainsFunc(s.sites(), func(o *federation.Site) bool { return o.Name == site }) {
		return &federation.SlurmError{Kind: federation.ErrNotFound, Text: fmt.Sprintf("no site %q in the federation; see: fed site list", site)}
	}
	if err := s.nameTasks(r.Context(), all); err != nil {
		return answer.OfStore(err, answer.NoContact)
	}
	for _, m := range all {
		out = append(out, v1.Machine(m))
	}
	return answer.JSON(w, out)
}

// nameTasks says of which array the jobs of machines are tasks. A job that has been deleted since keeps its ID alone.
func (s *rented) nameTasks(ctx context.Context, machines []federation.Machine) error {
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
func (s *rented) retry(w http.ResponseWriter, r *http.Request, c identity.Caller) error {
	site := federation.SiteName(r.PathValue("name"))
	forgiven, err := []federation.Cooling(nil), error(federation.ErrNotFound)
	if s.all != nil {
		forgiven, err = s.all.Retry(r.Context(), site)
	}
	switch {
	case errors.Is(err, federation.ErrNotFound):
		return &federation.SlurmError{Kind: federation.ErrNotFound, Text: fmt.Sprintf("no site %q with rented pools in the federation; see: fed pool list", site)}
	case err != nil:
		return answer.OfStore(err, answer.NoContact)
	}
	out := []v1.Cooling{}
	for _, f := range forgiven {
		out = append(out, v1.Cooling(f))
	}
	return answer.JSON(w, out)
}
