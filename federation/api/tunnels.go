package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"fsub/federation"
	"fsub/federation/api/answer"
	"fsub/federation/api/identity"
	v1 "fsub/federation/api/v1"
	"fsub/federation/driver"
	"fsub/federation/share"
	"fsub/federation/tunnel"
	"fsub/slurm/wire"
)

// tunnelsOfUser is how many tunnels one user may have at a time.
const tunnelsOfUser = 64

// tunnels are connections between a job's owner and its machines. What goes through them is read and logged by nobody here.
type tunnels struct {
	steps    *steps
	sites    map[federation.SiteName]driver.Connector
	srun     func(federation.SiteName, string) *v1.SiteSrun // see Config.Srun
	slots    *share.Slots
	stopping <-chan struct{} // the daemon ends, or leads no longer
	idle     tunnel.Idle
}

// open is POST /fed/v1/job/{id}/tunnel. It ends with the tunnel.
func (t *tunnels) open(w http.ResponseWriter, r *http.Request, c identity.Caller) error {
	if !tunnel.Asked(r) {
		return answer.BadBody("want the header Upgrade: " + tunnel.Protocol)
	}
	id, err := jobID(r)
	if err != nil {
		return err
	}
	job, err := t.steps.numbered(r.Context(), id)
	if err != nil {
		return answer.OfStore(err, answer.NoContact)
	}
	if err := mayEnter(c, &job); err != nil {
		return err
	}
	site := t.sites[job.Site]
	if site == nil {
		return t.elsewhere(w, r, &job)
	}
	soon, cancel := context.WithTimeout(r.Context(), time.Second)
	free, err := t.slots.Take(soon, c.UID)
	cancel()
	if err != nil {
		return answer.Detailed(answer.TryLater, fmt.Sprintf("%s has %d connections to jobs, the most at one time; close some", c.Name, tunnelsOfUser))
	}
	defer free()
	defer share.Idle(r.Context())()
	id = job.ID
	if job.Component != nil {
		id = job.Component.Leader // which has the steps of all
	}
	there, err := site.Connect(r.Context(), id)
	switch {
	case errors.Is(err, federation.ErrConflict), errors.Is(err, federation.ErrNotFound):
		return answer.Detailed(answer.NewError(federation.ErrConflict, wire.ErrJobPending), "its script has not begun, or has ended")
	case err != nil:
		return answer.Outage(answer.TimedOut, err)
	}
	here, err := tunnel.Accept(w)
	if err != nil {
		return errors.Join(err, there.Close())
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
	defer cancel()
	go func() {
		select {
		case <-t.stopping:
			cancel()
		case <-ctx.Done():
		}
	}()
	t.idle.Join(ctx, here, there)
	return nil
}

// reaches reports whether users get inside their jobs at a site.
func (t *tunnels) reaches(site federation.SiteName) bool {
	return t.sites[site] != nil || t.srun != nil && t.srun(site, "") != nil
}

// mayEnter fails unless the job runs and the caller may have a shell there: what is typed there is done as the job's owner, so that nobody else may, operators neither.
func mayEnter(c identity.Caller, job *federation.Job) error {
	switch {
	case c.UID != job.UID:
		return answer.NotYourJob
	case job.State.Ended():
		return answer.JobFinished
	case job.Site == "" || job.State == federation.Pending:
		return answer.NewError(federation.ErrConflict, wire.ErrJobPending)
	case job.State == federation.Suspended:
		return answer.StepNotRunning
	}
	return nil
}

// elsewhere says how the site's own srun is called, where that is how its users get in.
func (t *tunnels) elsewhere(w http.ResponseWriter, r *http.Request, job *federation.Job) error {
	var at *v1.SiteSrun
	if t.srun != nil {
		at = t.srun(job.Site, job.User)
	}
	if at == nil {
		return &federation.SlurmError{Kind: federation.ErrInvalid, Number: -1, Text: fmt.Sprintf(
			"%s is a Slurm cluster, which fed has no way into: log in there, and call srun --overlap --pty with the job's number there (fed job show %d); an operator can set interactive for the site (docs/interactive.md)",
			job.Site, job.Number())}
	}
	leader := job.ID
	if job.Component != nil {
		leader = job.Component.Leader
	}
	attempts, err := t.steps.store.Attempts(r.Context(), leader)
	if err != nil {
		return answer.OfStore(err, answer.NoContact)
	}
	if n := len(attempts); n > 0 {
		at.Job = int64(attempts[n-1].SiteJobID)
	}
	if at.Job == 0 {
		return answer.NewError(federation.ErrConflict, wire.ErrJobPending)
	}
	return answer.JSON(w, at)
}
