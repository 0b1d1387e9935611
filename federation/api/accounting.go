package api

import (
	"encoding/json"
	"net/http"

	"fsub/federation"
	"fsub/federation/api/answer"
	"fsub/federation/api/identity"
	"fsub/federation/api/restd"
	v1 "fsub/federation/api/v1"
	"fsub/federation/spending"
	"fsub/slurm/wire"
)

// accounting is GET /fed/v1/accounting: the same for sacct, which wants uids too.
func (s *Server) accounting(w http.ResponseWriter, r *http.Request, c identity.Caller, q v1.AccountingQuery) error {
	v := s.lister.View()
	pages, warnings, err := s.lister.Account(r.Context(), v, r.URL.Query(), c)
	if err != nil {
		return err
	}
	out := answer.NewList(w, "jobs")
	var spent spending.Spendings
	if q.Cost {
		spent = s.lister.Spent(r.Context())
	}
	for list, err := range pages {
		if err == nil {
			err = s.addAccounting(r, out, v, list, func(i int) *federation.Money {
				if !q.Cost {
					return nil
				}
				return new(list[i].Cost(spent))
			})
		}
		if err != nil {
			return out.Fail(err)
		}
		if err := out.Send(); err != nil {
			return err
		}
	}
	resp := v1.AccountingResponse{Reply: s.restd.Reply(r, c), Jobs: []v1.AccountingJob{}}
	resp.Warnings = append(resp.Warnings, warnings...)
	rest, err := json.Marshal(resp)
	if err != nil {
		return out.Fail(err)
	}
	return out.End(rest)
}

// addAccounting adds a page of the listing. cost is what the ith of it has come to; nil: nobody has asked.
func (s *Server) addAccounting(r *http.Request, out *answer.List, v *restd.View, list []restd.Part, cost func(i int) *federation.Money) error {
	jobs := make([]v1.AccountingJob, len(list))
	for i := range list {
		j := list[i].Job
		jobs[i] = v1.AccountingJob{DBJob: v.DBRecord(&list[i]), UserID: j.UID, GroupID: j.GID, CancelledBy: list[i].CancelledBy(), Cost: cost(i)}
	}
	if err := s.lister.AddUsage(r.Context(), list, func(i int) *wire.DBJob { return &jobs[i].DBJob }); err != nil {
		return err
	}
	for i := range jobs {
		jobs[i].StepsCancelledBy = s.lister.WhoKilled(jobs[i].Steps)
		text, err := json.Marshal(&jobs[i])
		if err != nil {
			return err
		}
		out.Add(text)
	}
	return nil
}
