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
	list, warnings, err := s.Lister.Account(r.Context(), v, q)
	if err != nil {
		return err
	}
	resp := wire.DBJobsResponse{Reply: s.Reply(r, c), Jobs: make(wire.List[wire.DBJob], len(list))}
	resp.Warnings = append(resp.Warnings, warnings...)
	for i := range list {
		resp.Jobs[i] = v.DBRecord(&list[i])
	}
	if err := s.Lister.AddUsage(r.Context(), list, func(i int) *wire.DBJob { return &resp.Jobs[i] }); err != nil {
		return err
	}
	for i := range resp.Jobs {
		s.Lister.WhoKilled(resp.Jobs[i].Steps)
	}
	return write(w, r, resp)
}
