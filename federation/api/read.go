package api

import (
	"context"
	"net/http"
	"slices"
	"time"
	"unicode/utf8"

	"fsub/federation"
	"fsub/federation/api/answer"
	"fsub/federation/api/identity"
	"fsub/federation/api/submission"
	v1 "fsub/federation/api/v1"
	"fsub/federation/decision"
	"fsub/federation/share"
	"fsub/federation/spending"
)

// pollTime is how long GET /fed/v1/job/{id}/wait is kept open before the caller has to ask again.
const pollTime = 60 * time.Second

// getJob is GET /fed/v1/job/{id}.
func (s *Server) getJob(w http.ResponseWriter, r *http.Request, _ identity.Caller) error {
	id, err := jobID(r)
	if err != nil {
		return err
	}
	rec, err := s.record(r.Context(), id)
	if err != nil {
		return err
	}
	return answer.JSON(w, rec)
}

// record reads all that is written down of a job.
func (s *Server) record(ctx context.Context, id federation.JobID) (*v1.JobRecord, error) {
	job, err := s.cfg.Store.Job(ctx, id)
	if err != nil {
		return nil, answer.OfStore(err, answer.NoContact)
	}
	tasks, err := s.cfg.Store.Tasks(ctx, id)
	if err != nil {
		return nil, answer.OfStore(err, answer.NoContact)
	}
	if job.Whole != nil && job.Whole.Spread {
		if tasks, err = s.spreadTasks(ctx, id, tasks); err != nil {
			return nil, err
		}
	}
	attempts, err := s.cfg.Store.Attempts(ctx, id)
	if err != nil {
		return nil, answer.OfStore(err, answer.NoContact)
	}
	events, err := s.cfg.Store.Events(ctx, id)
	if err != nil {
		return nil, answer.OfStore(err, answer.NoContact)
	}
	rec := v1.RecordOf(&job, tasks, attempts, events)
	rec.Spending = s.spending(&job, attempts)
	return rec, nil
}

// spending is what a job that runs has come to, and may come to.
func (s *Server) spending(job *federation.Job, attempts []federation.Attempt) *spending.Spending {
	sites := s.cfg.Controller.Sites()
	i := slices.IndexFunc(sites, func(site *federation.Site) bool { return site.Name == job.Site })
	if i < 0 || len(attempts) == 0 {
		return nil
	}
	return spending.Of(sites[i], job, &attempts[len(attempts)-1], s.cfg.Now())
}

// spreadTasks are the tasks of an array that is spread: those with a record of their own that ended in it, and its parts.
func (s *Server) spreadTasks(ctx context.Context, id federation.JobID, own []federation.Task) ([]federation.Task, error) {
	jobs, err := s.cfg.Store.Jobs(ctx, federation.JobQuery{IDs: []federation.JobID{id}})
	if err != nil {
		return nil, answer.OfStore(err, answer.NoContact)
	}
	return submission.WithParts(own, jobs), nil
}

// waitJob is GET /fed/v1/job/{id}/wait.
func (s *Server) waitJob(w http.ResponseWriter, r *http.Request, _ identity.Caller) error {
	id, err := jobID(r)
	if err != nil {
		return err
	}
	over := time.NewTimer(pollTime)
	defer over.Stop()
	// From before the job is read, so that an end between the two is not missed.
	changed, stop, err := s.watch.job(r.Context(), id)
	if err != nil {
		return answer.OfStore(err, answer.NoContact)
	}
	defer stop()
	for {
		job, err := s.cfg.Store.Job(r.Context(), id)
		if err != nil {
			return answer.OfStore(err, answer.NoContact)
		}
		if job.State.Ended() {
			break
		}
		next := share.Idle(r.Context())
		select {
		case <-changed:
			next()
		case <-over.C:
			w.WriteHeader(http.StatusNoContent)
			return nil
		case <-s.stopping:
			w.WriteHeader(http.StatusNoContent)
			return nil
		case <-r.Context().Done():
			return nil
		}
	}
	rec, err := s.record(r.Context(), id)
	if err != nil {
		return err
	}
	return answer.JSON(w, rec)
}

// explainJob is GET /fed/v1/job/{id}/explain.
func (s *Server) explainJob(w http.ResponseWriter, r *http.Request, c identity.Caller) error {
	id, err := jobID(r)
	if err != nil {
		return err
	}
	job, err := s.cfg.Store.Job(r.Context(), id)
	if err != nil {
		return answer.OfStore(err, answer.NoContact)
	}
	if k := job.Component; k != nil && job.State == federation.Pending && job.Site == "" { // it waits with the others
		id = k.Leader
		if job, err = s.cfg.Store.Job(r.Context(), id); err != nil {
			return answer.OfStore(err, answer.NoContact)
		}
	}
	attempts, err := s.cfg.Store.Attempts(r.Context(), id)
	if err != nil {
		return answer.OfStore(err, answer.NoContact)
	}
	why := s.cfg.Controller.Explain(r.Context(), &job)
	e := v1.Explanation{Job: v1.JobOf(&job), Decision: why.Decision, Components: why.Components, Waits: why.Waits, Holdbacks: shownTo(c, &job, why.Holdbacks), KeptOff: why.KeptOff, Sooner: why.Sooner, Now: s.cfg.Now().UTC()}
	for i, w := range e.Waits {
		e.Waits[i] = w.Worded(time.UTC)
	}
	if job.State == federation.Pending {
		if s, known := s.lister.Foretold(r.Context())[id]; known {
			e.Start = &s
		}
	}
	if job.State == federation.Pending && job.Site == "" {
		e.Priority, e.PathSeconds = why.Priority, int64(why.Path.Seconds())
	}
	if n := len(attempts); n > 0 {
		last := &attempts[n-1]
		if e.Idle, e.Heartbeat, e.Moved = last.Idle, last.Heartbeat, last.Moved; job.State.Started() {
			e.Stays = last.Stays
		}
	}
	if n := len(attempts); n > 0 && len(attempts[n-1].Decision.Offers) > 0 {
		e.Chosen = attempts[n-1].Decision.Offers[0]
	}
	e.Spending = s.spending(&job, attempts)
	return answer.JSON(w, e)
}

// shownTo is what a caller may know of what keeps a job back. Limits and guarantees are everybody's to know, as the tree is and who runs what; what is spent and reserved
// of a budget is told to those alone whose jobs it keeps back, to coordinators and operators.
func shownTo(c identity.Caller, j *federation.Job, all []decision.Holdback) (out []decision.Holdback) {
	for _, h := range all {
		if h.Kind == decision.HeldByBudget && !c.MayActFor(j.UID, j.TreeAccount) {
			h = decision.Holdback{Kind: h.Kind, Text: "told to the job's user, coordinators of its account and operators"}
		}
		out = append(out, h)
	}
	return out
}

// getPayload is GET /fed/v1/job/{id}/payload: script and environment are the owner's and the operators' only.
func (s *Server) getPayload(w http.ResponseWriter, r *http.Request, c identity.Caller) error {
	id, err := jobID(r)
	if err != nil {
		return err
	}
	job, err := s.cfg.Store.Job(r.Context(), id)
	if err != nil {
		return answer.OfStore(err, answer.NoContact)
	}
	if !c.Owns(job.UID) || !c.Reaches(uint32(job.ID), uint32(job.Group())) {
		return answer.NotYourJob
	}
	p, err := s.cfg.Store.Payload(r.Context(), job.PayloadOf())
	if err != nil {
		return answer.OfStore(err, answer.NoContact)
	}
	resp := v1.PayloadResponse{Payload: p}
	if !utf8.ValidString(p.Script) {
		resp.Bytes = []byte(p.Script)
	}
	return answer.JSON(w, resp)
}
