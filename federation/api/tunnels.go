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
	slots    *share.Slots
	stopping <-chan struct{} // the daemon ends, or leads no longer
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
	site, err := t.reach(c, &job)
	if err != nil {
		return err
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
	tunnel.Join(ctx, here, there)
	return nil
}

// reach is the site where a job runs, if the caller may have a shell there: what is typed there is done as the job's owner, so that nobody else may, operators neither.
func (t *tunnels) reach(c identity.Caller, job *federation.Job) (driver.Connector, error) {
	site := t.sites[job.Site]
	switch {
	case c.UID != job.UID:
		return nil, answer.NotYourJob
	case job.State.Ended():
		return nil, answer.JobFinished
	case job.Site == "" || job.State == federation.Pending:
		return nil, answer.NewError(federation.ErrConflict, wire.ErrJobPending)
	case job.State == federation.Suspended:
		return nil, answer.StepNotRunning
	case site == nil:
		return nil, &federation.SlurmError{Kind: federation.ErrInvalid, Number: -1, Text: fmt.Sprintf(
			"%s is a Slurm cluster, which fed has no way into: log in there, and call srun --overlap --pty with the job's number there (fed job show %d)", job.Site, job.Number())}
	}
	return site, nil
}
