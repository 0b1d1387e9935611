package answer

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"fsub/federation"
	"fsub/federation/api/identity"
)

// tokenAfter is how long a job's token is good after the job's end: what a script does last is under way when the daemon sees it end.
const tokenAfter = time.Minute

// forJobs are the routes beside those that only tell something which a job's token opens: to submit, and to act on jobs, which Caller.Reach narrows.
var forJobs = map[string]bool{
	"POST /fed/v1/job":                 true,
	"POST /fed/v1/steps/signal":        true,
	"POST /slurm/{version}/job/submit": true,
	"POST /slurm/{version}/job/{id}":   true,
	"DELETE /slurm/{version}/job/{id}": true,
	"DELETE /slurm/{version}/jobs":     true,
}

// ofJobs begins the paths of what is done to jobs on /fed/v1.
const ofJobs = "POST /fed/v1/jobs/"

// inside checks the token of a caller inside a job: the job is there, has not ended and was brought where the token says; and the route is one
// of those that a job needs.
func (s *Within) inside(r *http.Request, c identity.Caller) (identity.Caller, error) {
	claim := c.Claim
	if claim == nil {
		return c, nil
	}
	id := federation.JobID(claim.Job)
	job, err := s.Store.Job(r.Context(), id)
	switch {
	case errors.Is(err, federation.ErrNotFound):
		return c, identity.NoCaller(fmt.Sprintf("the token is that of job %d, which is not known any more", id))
	case err != nil:
		return c, OfStore(err, NoContact)
	case job.UID != c.UID:
		return c, identity.NoCaller(fmt.Sprintf("the token is that of job %d, which is %s's", id, job.User))
	case job.State.Ended() && time.Since(job.End) > tokenAfter:
		return c, identity.NoCaller(fmt.Sprintf("the token is that of job %d, which has ended", id))
	case claim.Attempt != 0 && claim.Attempt != job.Attempt || claim.Site != "" && claim.Site != string(job.Site):
		return c, identity.NoCaller(fmt.Sprintf("the token is that of job %d as it ran at %s before", id, claim.Site))
	}
	route := strings.TrimSuffix(r.Pattern, "/{$}")
	if r.Method != http.MethodGet && !forJobs[route] && !strings.HasPrefix(route, ofJobs) {
		return c, Detailed(Denied, "the token of a job submits, looks, and acts on the job and on those submitted from inside it; for more call from outside of it")
	}
	c.Reach = func(other uint32) bool { return s.reaches(r.Context(), &job, federation.JobID(other)) }
	return c, nil
}

// reaches reports whether a job is the one called from, the array or heterogeneous job that that is a part of, or was submitted from inside it.
func (s *Within) reaches(ctx context.Context, from *federation.Job, other federation.JobID) bool {
	if other == from.ID || other == from.Group() {
		return true
	}
	key, err := s.Store.KeyOf(ctx, other)
	return err == nil && strings.HasPrefix(key, federation.KeyInside(from.ID))
}
