package api

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"fsub/federation"
	"fsub/federation/api/identity"
	v1 "fsub/federation/api/v1"
	"fsub/slurm/wire"
)

// killJob is DELETE /job/{id}[?signal=USR1&flags=BATCH_JOB]. As with slurmrestd a refusal is in status[], under HTTP 200.
func (s *restd) killJob(w http.ResponseWriter, r *http.Request, c identity.Caller) error {
	q := r.URL.Query()
	return s.kill(w, r, c, []string{r.PathValue("id")}, q.Get("signal"), upper(csv(q, "flags")))
}

// killJobs is DELETE /jobs/: the jobs named in the body, or all those of the caller that match it.
func (s *restd) killJobs(w http.ResponseWriter, r *http.Request, c identity.Caller) error {
	body, err := s.bodies.read(w, r)
	if err != nil {
		return err
	}
	defer putBody(body)
	var req wire.KillJobs
	if err := json.Unmarshal(body.Bytes(), &req); err != nil {
		return badBody(err.Error())
	}
	refs := req.Jobs
	if len(refs) == 0 {
		if refs, err = s.matching(r, &req); err != nil {
			return err
		}
	}
	if len(refs) > maxActs {
		return badBody(fmt.Sprintf("%d jobs in one request, at most %d are allowed", len(refs), maxActs))
	}
	return s.kill(w, r, c, refs, req.Signal, upper(slices.Clone(req.Flags)))
}

// matching names the live jobs that match every field of req that is set; at least one must be.
func (s *restd) matching(r *http.Request, req *wire.KillJobs) ([]string, error) {
	f := jobFilter{states: upper(slices.Clone(req.JobState))}
	for _, set := range []struct {
		list *[]string
		text string
	}{{&f.users, cmp.Or(string(req.UserID), req.UserName)}, {&f.names, req.JobName}, {&f.partitions, req.Partition},
		{&f.accounts, req.Account}, {&f.qos, req.QOS}} {
		if set.text != "" {
			*set.list = strings.Split(set.text, ",")
		}
	}
	if len(f.states)+len(f.users)+len(f.names)+len(f.partitions)+len(f.accounts)+len(f.qos) == 0 {
		return nil, badBody("no job and no filter given")
	}
	q := f.query(s.users)
	q.Live = true
	list, err := s.lister.list(r.Context(), s.lister.view(), &f, q)
	var refs []string
	for i := range list {
		if !list[i].state.Ended() {
			refs = append(refs, list[i].name())
		}
	}
	return refs, err
}

// kill cancels or signals jobs and answers with the refusals.
func (s *restd) kill(w http.ResponseWriter, r *http.Request, c identity.Caller, refs []string, signal string, flags []string) error {
	resp := wire.KillJobsResponse{Reply: s.reply(r, c)}
	req := v1.ActRequest{Signal: federation.Signal{
		Name: strings.TrimPrefix(strings.ToUpper(signal), "SIG"), Batch: slices.Contains(flags, wire.KillBatch), Full: slices.Contains(flags, wire.KillFull),
	}}
	kind := federation.RequestSignal
	if n := req.Signal.Name; (n == "" || n == "KILL" || n == "9") && !req.Signal.Batch {
		kind = federation.RequestCancel
	}
	var names []string
	var total taskCount
	for _, text := range refs {
		id, tasks, err := parseRef(text)
		if err != nil {
			resp.Status = append(resp.Status, killStatus(text, 0, err))
			continue
		}
		if err := total.add(tasks.Len()); err != nil {
			return err
		}
		req.Jobs = append(req.Jobs, v1.JobRef{ID: id, Tasks: tasks.Indices()})
		names = append(names, text)
	}
	errs, err := s.actions.actOn(r.Context(), c, kind, req)
	if err != nil {
		return err
	}
	for i, err := range errs {
		if errors.Is(err, federation.ErrUnavailable) {
			return err
		}
		if err != nil {
			resp.Status = append(resp.Status, killStatus(names[i], req.Jobs[i].ID, err))
		}
	}
	return writeJSON(w, resp)
}

func killStatus(name string, id federation.JobID, err error) wire.KillStatus {
	e := wireError(err)
	return wire.KillStatus{StepID: name, JobID: wire.Num(int64(id)), Error: wire.KillError{Text: e.Text, Code: e.Number, Message: e.Text}}
}

// updateJob is POST /job/{id}. Fields that it cannot change are refused by name.
func (s *restd) updateJob(w http.ResponseWriter, r *http.Request, c identity.Caller) error {
	body, err := s.bodies.read(w, r)
	if err != nil {
		return err
	}
	defer putBody(body)
	var fields map[string]json.RawMessage
	var desc wire.JobDesc
	if err := errors.Join(json.Unmarshal(body.Bytes(), &fields), json.Unmarshal(body.Bytes(), &desc)); err != nil {
		return badBody(err.Error())
	}
	kind, changes, err := restUpdate(fields, &desc)
	if err != nil {
		return err
	}
	id, tasks, err := parseRef(r.PathValue("id"))
	if err != nil {
		return err
	}
	errs, err := s.actions.actOn(r.Context(), c, kind, v1.ActRequest{Jobs: []v1.JobRef{{ID: id, Tasks: tasks.Indices()}}, Change: changes})
	if err == nil {
		err = errs[0]
	}
	if err != nil {
		return err
	}
	return writeJSON(w, wire.JobUpdateResponse{Reply: s.reply(r, c)})
}

// updateKind reads what an update asks for: hold true or false, or priority 0 and INFINITE, which mean the same.
func updateKind(fields map[string]json.RawMessage, desc *wire.JobDesc) (federation.RequestKind, error) {
	for name := range fields {
		if name != "hold" && name != "priority" && name != "job_id" {
			return "", notSupported(fmt.Sprintf("field %q of a job cannot be changed yet; only hold can", name))
		}
	}
	hold := desc.Hold != nil && *desc.Hold
	if desc.Hold == nil {
		switch {
		case desc.Priority.Infinite:
		case desc.Priority.Set && desc.Priority.Number == 0:
			hold = true
		default:
			return "", notSupported("a job's priority cannot be changed yet; 0 and INFINITE hold and release")
		}
	}
	if hold {
		return federation.RequestHold, nil
	}
	return federation.RequestRelease, nil
}

// notSupported is Slurm's refusal of what it was not built for, with the reason. The number is SLURM_ERROR.
func notSupported(detail string) error {
	return &federation.SlurmError{Kind: federation.ErrInvalid, Number: -1, Text: "Requested operation not supported on this system", Detail: detail}
}
