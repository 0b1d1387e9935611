package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	"fsub/federation"
	"fsub/federation/action"
	"fsub/federation/api/answer"
	"fsub/federation/api/identity"
	"fsub/federation/api/queue"
	"fsub/federation/api/submission"
	v1 "fsub/federation/api/v1"
)

// act is POST /fed/v1/jobs/{cancel,signal,hold,release,...}.
func (s *Server) act(kind action.Kind) answer.Handler {
	return func(w http.ResponseWriter, r *http.Request, c identity.Caller) error {
		body, err := answer.ReadBody(r)
		if err != nil {
			return err
		}
		defer answer.PutBody(body)
		var req v1.ActRequest
		if err := json.Unmarshal(body.Bytes(), &req); err != nil {
			return answer.BadBody(err.Error())
		}
		if len(req.Jobs) > submission.MaxJobs {
			return answer.BadBody(fmt.Sprintf("%d jobs in one request, at most %d are allowed", len(req.Jobs), submission.MaxJobs))
		}
		errs, err := s.actions.Do(r.Context(), c, kind, req)
		if err != nil {
			return err
		}
		resp := v1.ActResponse{Results: make([]v1.ActResult, len(req.Jobs))}
		for i, ref := range req.Jobs {
			resp.Results[i].ID = ref.ID
			if errs[i] != nil {
				e := answer.OnWire(errs[i])
				resp.Results[i].Error = &e
				resp.Results[i].Tasks = submission.ResultsOf(errs[i])
			}
		}
		return answer.JSON(w, resp)
	}
}

// submit is POST /fed/v1/job. It must stay cheap: no site is asked, and nothing is read from the store but, after some seconds in which nobody else has read it, its log.
func (s *Server) submit(w http.ResponseWriter, r *http.Request, c identity.Caller) error {
	body, err := answer.ReadBody(r)
	if err != nil {
		return err
	}
	defer answer.PutBody(body)
	var req v1.SubmitRequest
	if err := decodeSubmit(body.Bytes(), &req); err != nil {
		return answer.BadBody(err.Error())
	}
	called := calls{s.cfg.Now, s.getOptions}
	if err := called.read(r.Context(), c, &req); err != nil {
		return err
	}
	job := &federation.Job{
		User: c.Name, UID: c.UID, GID: c.GID,
		Spec:       &req.Spec,
		SubmitHost: req.SubmitHost,
	}
	if req.TestOnly {
		resp, err := s.gate.Try(r.Context(), c, job, &req.Payload, req.Explain)
		if err != nil {
			return err
		}
		return answer.JSON(w, resp)
	}
	mark := int64(queue.Lists{Queue: s.queue}.Recent(r.Context()))
	named, err := s.gate.Accept(r.Context(), c, job, &req.Payload, r.Header.Get(submission.HeaderKey))
	if err != nil {
		return err
	}
	if named.Again {
		mark = 0
	}
	note, array := s.gate.Mail.Note(job), ""
	if req.Call != nil {
		array = req.Spec.Array
	}
	if named.Answer != "" || len(named.Warnings) > 0 || note != "" || array != "" {
		return answer.JSON(w, v1.SubmitResponse{JobID: job.ID, Mark: mark, Array: array, Cluster: named.Answer, Warnings: named.Warnings, Note: note})
	}
	writeJobID(w, job.ID, mark)
	return nil
}

// writeJobID writes a v1.SubmitResponse.
func writeJobID(w http.ResponseWriter, id federation.JobID, mark int64) {
	b := make([]byte, 0, 64)
	b = append(b, `{"job_id":`...)
	b = strconv.AppendUint(b, uint64(id), 10)
	if mark != 0 {
		b = strconv.AppendInt(append(b, `,"mark":`...), mark, 10)
	}
	b = append(b, "}\n"...)
	h := w.Header()
	h["Content-Type"] = jsonType
	w.Write(b)
}

var jsonType = []string{"application/json"}
