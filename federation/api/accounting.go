package api

import (
	"net/http"

	"fsub/federation/api/answer"
	"fsub/federation/api/identity"
	v1 "fsub/federation/api/v1"
	"fsub/slurm/wire"
)

// accounting is GET /fed/v1/accounting: the same for sacct, which wants uids too.
func (s *Server) accounting(w http.ResponseWriter, r *http.Request, c identity.Caller) error {
	v := s.lister.View()
	list, warnings, err := s.lister.Account(r.Context(), v, r.URL.Query())
	if err != nil {
		return err
	}
	resp := v1.AccountingResponse{Reply: s.restd.Reply(r, c), Jobs: make([]v1.AccountingJob, len(list))}
	resp.Warnings = append(resp.Warnings, warnings...)
	for i := range list {
		j := list[i].Job
		resp.Jobs[i] = v1.AccountingJob{DBJob: v.DBRecord(&list[i]), UserID: j.UID, GroupID: j.GID, CancelledBy: list[i].CancelledBy()}
	}
	if err := s.lister.AddUsage(r.Context(), list, func(i int) *wire.DBJob { return &resp.Jobs[i].DBJob }); err != nil {
		return err
	}
	for i := range resp.Jobs {
		resp.Jobs[i].StepsCancelledBy = s.lister.WhoKilled(resp.Jobs[i].Steps)
	}
	return answer.JSON(w, resp)
}
