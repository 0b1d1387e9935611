package restd

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"fsub/federation"
	"fsub/federation/action"
	"fsub/federation/api/answer"
	"fsub/federation/api/identity"
	"fsub/federation/api/submission"
	v1 "fsub/federation/api/v1"
	"fsub/federation/stored"
	"fsub/slurm/wire"
)

// killJob is DELETE /job/{id}[?signal=USR1&flags=BATCH_JOB]. As with slurmrestd a refusal is in status[], under HTTP 200, but for that of an unknown job.
func (s *Server) killJob(w http.ResponseWriter, r *http.Request, c identity.Caller) error {
	q, name := r.URL.Query(), r.PathValue("id")
	resp, err := s.kill(r, c, []string{name}, q.Get("signal"), Upper(CSV(q, "flags")))
	switch {
	case err != nil:
		return err
	case len(resp.Status) == 1 && resp.Status[0].Error.Code == wire.ErrJobID:
		return absentJob(name)
	}
	return write(w, r, resp)
}

// killJobs is DELETE /jobs/: the jobs named in the body, or all those of the caller that match it.
func (s *Server) killJobs(w http.ResponseWriter, r *http.Request, c identity.Caller) error {
	body, err := answer.ReadBody(r)
	if err != nil {
		return err
	}
	defer answer.PutBody(body)
	var req wire.KillJobs
	if err := json.Unmarshal(body.Bytes(), &req); err != nil {
		return answer.BadBody(err.Error())
	}
	refs := req.Jobs
	if len(refs) == 0 {
		if refs, err = s.matching(r, &req); err != nil {
			return err
		}
	}
	if len(refs) > submission.MaxJobs {
		return answer.BadBody(fmt.Sprintf("%d jobs in one request, at most %d are allowed", len(refs), submission.MaxJobs))
	}
	resp, err := s.kill(r, c, refs, req.Signal, Upper(slices.Clone(req.Flags)))
	if err != nil {
		return err
	}
	return write(w, r, resp)
}

// matching names the live jobs that match every field of req that is set; at least one must be.
func (s *Server) matching(r *http.Request, req *wire.KillJobs) ([]string, error) {
	f := Filter{States: Upper(slices.Clone(req.JobState))}
	for _, set := range []struct {
		list *[]string
		text string
	}{{&f.Users, cmp.Or(string(req.UserID), req.UserName)}, {&f.Names, req.JobName}, {&f.Partitions, req.Partition},
		{&f.Accounts, req.Account}, {&f.QOS, req.QOS}} {
		if set.text != "" {
			*set.list = strings.Split(set.text, ",")
		}
	}
	if len(f.States)+len(f.Users)+len(f.Names)+len(f.Partitions)+len(f.Accounts)+len(f.QOS) == 0 {
		return nil, answer.BadBody("no job and no filter given")
	}
	q := f.Query(s.Users)
	q.Live = true
	var refs []string
	for page, err := range s.Lister.Pages(r.Context(), s.Lister.View(), &f, q) {
		if err != nil {
			return nil, err
		}
		for i := range page {
			if !page[i].State.Ended() {
				refs = append(refs, page[i].Name())
			}
		}
	}
	return refs, nil
}

// kill cancels or signals jobs and answers with the refusals.
func (s *Server) kill(r *http.Request, c identity.Caller, refs []string, signal string, flags []string) (resp wire.KillJobsResponse, err error) {
	resp = wire.KillJobsResponse{Reply: s.Reply(r, c)}
	req := v1.ActRequest{Signal: stored.Signal{
		Name: strings.TrimPrefix(strings.ToUpper(signal), "SIG"), Batch: slices.Contains(flags, wire.KillBatch), Full: slices.Contains(flags, wire.KillFull),
	}}
	kind := action.Signal
	if n := req.Signal.Name; (n == "" || n == "KILL" || n == "9") && !req.Signal.Batch {
		kind = action.Cancel
	}
	var names []string
	for _, text := range refs {
		id, tasks, err := ParseRef(text)
		if err != nil {
			resp.Status = append(resp.Status, killStatus(text, 0, err))
			continue
		}
		req.Jobs = append(req.Jobs, v1.JobRef{ID: id, Tasks: tasks.Set()})
		names = append(names, text)
	}
	errs, err := s.Actions.Do(r.Context(), c, kind, req)
	if err != nil {
		return resp, err
	}
	for i, err := range errs {
		if errors.Is(err, federation.ErrUnavailable) {
			return resp, err
		}
		if err != nil {
			resp.Status = append(resp.Status, killStatus(names[i], req.Jobs[i].ID, err))
		}
	}
	return resp, nil
}

func killStatus(name string, id federation.JobID, err error) wire.KillStatus {
	e := answer.OnWire(err)
	return wire.KillStatus{StepID: name, JobID: wire.Num(int64(id)), Error: wire.KillError{Text: e.Text, Code: e.Number, Message: e.Text}}
}
