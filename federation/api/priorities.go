package api

import (
	"net/http"

	"fsub/federation"
	"fsub/federation/api/answer"
	"fsub/federation/api/identity"
	"fsub/federation/api/restd"
	v1 "fsub/federation/api/v1"
)

// priorities is GET /fed/v1/priorities: what the priority of each waiting job is made of, for sprio.
func (s *Server) priorities(w http.ResponseWriter, r *http.Request, c identity.Caller, q v1.ChosenJobs) error {
	f, err := restd.ReadFilter(v1.URLQuery(&q), c)
	if err != nil {
		return err
	}
	f.States = []string{string(federation.Pending)}
	v, query := s.lister.View(), f.Query(s.users)
	query.Live = true
	out := v1.Priorities{Jobs: []v1.Priority{}, Reply: s.restd.Reply(r, c)}
	out.Warnings = append(out.Warnings, s.lister.UnknownUsers(&f)...)
	for list, err := range s.lister.Pages(r.Context(), v, &f, query) {
		if err != nil {
			return err
		}
		for i := range list {
			j := v.Record(&list[i])
			p := v1.Priority{Job: federation.JobID(j.JobID), Cluster: j.Cluster, Partition: j.Partition, User: j.UserName, Account: j.Account, QOS: j.QOS,
				Priority: j.Priority.Value(), Nice: j.Nice, Parts: s.cfg.Controller.Priority(list[i].Job)}
			if len(p.Parts) > 0 {
				p.Priority = p.Sum()
			}
			out.Jobs = append(out.Jobs, p)
		}
	}
	return answer.JSON(w, out)
}
