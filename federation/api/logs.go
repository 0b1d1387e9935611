package api

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"fsub/federation"
	"fsub/federation/api/answer"
	"fsub/federation/api/identity"
	"fsub/federation/api/restd"
	v1 "fsub/federation/api/v1"
	"fsub/federation/share"
	"fsub/slurm/wire"
)

// logs tells of jobs' output.
type logs struct {
	store  Store
	reader federation.LogReader // nil: every site sees its jobs' directories
	sites  func() []*federation.Site
}

// logOf is whose output a request is about.
type logOf struct {
	job     federation.Job
	task    *federation.Task    // of an array
	attempt *federation.Attempt // the newest; nil if there is none
	stderr  bool
	staged  bool
}

// getLog is GET /fed/v1/job/{id}/log.
func (s *logs) getLog(w http.ResponseWriter, r *http.Request, c identity.Caller, q v1.LogQuery) error {
	l, err := s.logOf(r, c, &q)
	if err != nil {
		return err
	}
	out := v1.Log{State: l.job.State, Reason: l.job.Reason, Site: l.job.Site, Attempt: l.job.Attempt,
		File: restd.OutputFile(&l.job, l.task, l.stderr), Staged: l.staged}
	if l.task != nil && l.task.State != "" && !out.State.Ended() {
		out.State, out.Reason = l.task.State, l.task.Reason
	}
	out.Ended = out.State.Ended()
	return answer.JSON(w, out)
}

// logPart is how much one answer carries.
const logPart = 1 << 20

// getLogText is GET /fed/v1/job/{id}/log/text.
func (s *logs) getLogText(w http.ResponseWriter, r *http.Request, c identity.Caller, q v1.LogTextQuery) error {
	l, err := s.logOf(r, c, &q.LogQuery)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	if !l.staged {
		w.Header().Set(v1.LogHeader, "none")
		return nil
	}
	task := -1
	if l.task != nil {
		task = l.task.Index
	}
	again := share.Idle(r.Context())
	p, err := s.reader.ReadLog(r.Context(), &l.job, l.attempt, task, l.stderr, q.Offset, logPart)
	again()
	switch {
	case errors.Is(err, federation.ErrNotFound):
		w.Header().Set(v1.LogHeader, "none")
		return nil
	case err != nil:
		return answer.Outage(answer.NoContact, err)
	}
	word := "wait"
	if p.More {
		word = "more"
	} else if p.Done {
		word = "done"
	}
	w.Header().Set(v1.LogHeader, word)
	_, _ = w.Write(p.Text)
	return nil
}

// logOf finds what a request asks for; it is the owner's and the operators' only.
func (s *logs) logOf(r *http.Request, c identity.Caller, q *v1.LogQuery) (*logOf, error) {
	id, err := jobID(r)
	if err != nil {
		return nil, err
	}
	l := &logOf{stderr: q.Stream == "stderr"}
	if l.job, err = s.store.Job(r.Context(), id); err != nil {
		return nil, answer.OfStore(err, answer.NoContact)
	}
	if !c.Owns(l.job.UID) || !c.Reaches(uint32(l.job.ID), uint32(l.job.Group())) {
		return nil, answer.NotYourJob
	}
	if q.Task != nil {
		if err := s.findTask(r.Context(), l, *q.Task); err != nil {
			return nil, err
		}
	}
	attempts, err := s.store.Attempts(r.Context(), l.job.ID)
	if err != nil {
		return nil, answer.OfStore(err, answer.NoContact)
	}
	if n := len(attempts); n > 0 {
		l.attempt = &attempts[n-1]
		l.staged = s.reader != nil && !s.sees(l.attempt.Site, l.job.Spec.WorkDir)
	}
	return l, nil
}

// findTask makes l about one task of its array: a job of its own if the array is spread over sites.
func (s *logs) findTask(ctx context.Context, l *logOf, index int) error {
	jobs, err := s.store.Jobs(ctx, federation.JobQuery{IDs: []federation.JobID{l.job.ID}})
	if err != nil {
		return answer.OfStore(err, answer.NoContact)
	}
	for i := range jobs {
		if p := jobs[i].Part; p != nil && p.Array == l.job.ID && p.Index == index {
			l.job = jobs[i]
			return nil
		}
	}
	tasks, err := s.store.Tasks(ctx, l.job.ID)
	if err != nil {
		return answer.OfStore(err, answer.NoContact)
	}
	for i := range tasks {
		if tasks[i].Index == index {
			l.task = &tasks[i]
			return nil
		}
	}
	if t, cancelled := l.job.CancelledTask(index); cancelled {
		l.task = &t
		return nil
	}
	if array, err := federation.ReadArray(l.job.Spec.Array); err == nil && array.Has(index) {
		l.task = &federation.Task{Job: l.job.ID, Index: index}
		return nil
	}
	return answer.Detailed(answer.NewError(federation.ErrNotFound, wire.ErrJobID), "the array has no task "+strconv.Itoa(index))
}

// sees reports whether a site has a directory; one that is not configured any more is taken to.
func (s *logs) sees(name federation.SiteName, dir string) bool {
	for _, site := range s.sites() {
		if site.Name == name {
			return site.Sees(dir)
		}
	}
	return true
}
