package api

import (
	"encoding/json"
	"net/http"

	"fsub/federation/api/answer"
	"fsub/federation/api/identity"
	"fsub/federation/api/listing"
	v1 "fsub/federation/api/v1"
	"fsub/slurm/wire"
)

// accounting is GET /fed/v1/accounting: the same for sacct, which wants uids too.
func (s *Server) accounting(w http.ResponseWriter, r *http.Request, c identity.Caller) error {
	v := s.lister.View()
	pages, warnings, err := s.lister.Account(r.Context(), v, r.URL.Query())
	if err != nil {
		return err
	}
	out := answer.NewList(w, "jobs")
	for list, err := range pages {
		if err == nil {
			err = s.addAccounting(r, out, v, list)
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

// addAccounting adds a page of the listing.
func (s *Server) addAccounting(r *http.Request, out *answer.List, v *listing.View, list []listing.Part) error {
	jobs := make([]v1.AccountingJob, len(list))
	for i := range list {
		j := list[i].Job
		jobs[i] = v1.AccountingJob{DBJob: v.DBRecord(&list[i]), UserID: j.UID, GroupID: j.GID, CancelledBy: list[i].CancelledBy()}
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
