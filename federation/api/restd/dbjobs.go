package restd

import (
	"net/http"

	"fsub/federation/api/identity"
	"fsub/slurm/wire"
)

// dbJobs is GET /slurmdb/.../jobs and /job/{id}: every job that was ever accepted, as slurmdbd would have recorded it. An unknown
// one is an empty list. Filters: job_id (or step), users, job_name, partition, account, qos, state, start_time, end_time.
func (s *Server) dbJobs(w http.ResponseWriter, r *http.Request, c identity.Caller) error {
	q := r.URL.Query()
	if id := r.PathValue("id"); id != "" {
		q.Set("job_id", id)
	}
	v := s.Lister.View()
	pages, warnings, err := s.Lister.Account(r.Context(), v, q, c)
	if err != nil {
		return err
	}
	records := func(list []Part) ([]any, error) {
		jobs := make([]wire.DBJob, len(list))
		out := make([]any, len(list))
		for i := range list {
			jobs[i] = v.DBRecord(&list[i])
			out[i] = &jobs[i]
		}
		if err := s.Lister.AddUsage(r.Context(), list, func(i int) *wire.DBJob { return &jobs[i] }); err != nil {
			return nil, err
		}
		for i := range jobs {
			s.Lister.WhoKilled(jobs[i].Steps)
		}
		return out, nil
	}
	return writePages(w, r, pages, records, func(int) any {
		resp := wire.DBJobsResponse{Reply: s.Reply(r, c)}
		resp.Warnings = append(resp.Warnings, warnings...)
		return resp
	})
}
