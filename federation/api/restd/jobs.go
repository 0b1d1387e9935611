package restd

import (
	"net/http"
	"strconv"
	"time"

	"fsub/federation"
	"fsub/federation/api/answer"
	"fsub/federation/api/identity"
	"fsub/slurm/wire"
)

// jobs is GET /jobs.
func (s *Server) jobs(w http.ResponseWriter, r *http.Request, c identity.Caller) error {
	f, err := ReadFilter(r.URL.Query(), c)
	if err != nil {
		return err
	}
	resp := wire.JobsResponse{Reply: s.Reply(r, c)}
	now := s.Now()
	since, err := strconv.ParseInt(r.URL.Query().Get("update_time"), 10, 64)
	if err == nil && since > 0 {
		same, err := s.unchanged(r.Context(), since)
		if err != nil {
			return err
		}
		if same {
			resp.LastUpdate, resp.LastBackfill = wire.Num(since), wire.Num(since)
			resp.Warnings = append(resp.Warnings, wire.Warning{Description: "No change since update_time", Source: "GET " + r.URL.Path})
			return write(w, r, resp)
		}
	}
	resp.Warnings = append(resp.Warnings, s.Lister.UnknownUsers(&f)...)
	return s.writeJobs(w, r, &f, resp, now)
}

// job is GET /job/{id}.
func (s *Server) job(w http.ResponseWriter, r *http.Request, c identity.Caller) error {
	f, err := ReadFilter(r.URL.Query(), c)
	if err != nil {
		return err
	}
	id, tasks, err := ParseRef(r.PathValue("id"))
	if err != nil {
		return err
	}
	f.Refs = nil
	f.Add(id, tasks)
	return s.writeJobs(w, r, &f, wire.JobsResponse{Reply: s.Reply(r, c)}, s.Now())
}

// writeJobs answers with the jobs that f selects. Where all that was asked for is one job, that it is not known is an error.
func (s *Server) writeJobs(w http.ResponseWriter, r *http.Request, f *Filter, resp wire.JobsResponse, now time.Time) error {
	v := s.Lister.Foretelling(r.Context())
	v.Expand = !newer(r, "v0.0.43")
	q := f.Query(s.Users)
	q.EndedAfter = now.Add(-s.Keep)
	log, err := s.Store.Changes(r.Context(), 0, 0)
	if err != nil {
		return answer.OfStore(err, answer.NoContact)
	}
	if r.PathValue("id") != "" {
		known, err := s.Store.ListJobs(r.Context(), federation.JobQuery{IDs: q.IDs, EndedAfter: q.EndedAfter})
		if err != nil {
			return answer.OfStore(err, answer.NoContact)
		}
		if len(known) == 0 {
			return answer.InvalidJobID
		}
	}
	if len(q.IDs) == 0 && q.User == "" && q.Name == "" && !q.Live {
		s.marks.add(now.Unix(), log.Mark)
	}
	resp.LastUpdate, resp.LastBackfill = wire.Time(now), wire.Time(now)
	short := r.URL.Query().Get("sparse") != ""
	records := func(list []Part) ([]any, error) {
		out := make([]any, len(list))
		for i := range list {
			job := v.Record(&list[i])
			if out[i] = &job; short {
				out[i] = sparse(&job)
			}
		}
		return out, nil
	}
	return writePages(w, r, s.Lister.Pages(r.Context(), v, f, q), records, func(n int) any {
		if short {
			return resp.Reply
		}
		if n == 0 {
			resp.Warnings = append(resp.Warnings, wire.Warning{Description: "Zero jobs to dump"})
		}
		return resp
	})
}

// jobsState is GET /jobs/state: the cheap poll.
func (s *Server) jobsState(w http.ResponseWriter, r *http.Request, c identity.Caller) error {
	f, err := ReadFilter(r.URL.Query(), c)
	if err != nil {
		return err
	}
	q := f.Query(s.Users)
	q.EndedAfter = s.Now().Add(-s.Keep)
	records := func(list []Part) ([]any, error) {
		out := make([]any, len(list))
		for i := range list {
			out[i] = wire.JobStateRow{JobID: wire.Text(list[i].Name()), State: list[i].States()}
		}
		return out, nil
	}
	return writePages(w, r, s.Lister.Pages(r.Context(), s.Lister.View(), &f, q), records, func(int) any { return wire.JobsStateResponse{Reply: s.Reply(r, c)} })
}
