package api

import (
	"cmp"
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"fsub/federation"
	"fsub/federation/api/identity"
	"fsub/slurm/wire"
)

// list reads the parts of all jobs that f selects, among those that slurmctld would still hold: live ones, and those that
// ended within MinJobAge.
func (s *lister) list(ctx context.Context, v *view, f *jobFilter, q federation.JobQuery) (out []part, err error) {
	jobs, err := s.store.Jobs(ctx, q)
	if err != nil {
		return nil, ofStore(err, errNoContact)
	}
	var arrays []federation.JobID
	selected := jobs[:0]
	for _, j := range jobs {
		if !f.job(v, &j) {
			continue
		}
		selected = append(selected, j)
		if j.Spec.Array != "" || j.Whole != nil {
			arrays = append(arrays, j.ID)
		}
	}
	var tasks map[federation.JobID][]federation.Task
	if len(arrays) > 0 {
		if tasks, err = s.store.TasksOf(ctx, arrays); err != nil {
			return nil, ofStore(err, errNoContact)
		}
	}
	for i := range selected {
		for _, p := range parts(&selected[i], tasks[selected[i].ID]) {
			if f.part(&p) {
				out = append(out, p)
			}
		}
	}
	return out, nil
}

// jobs is GET /jobs.
func (s *restd) jobs(w http.ResponseWriter, r *http.Request, c identity.Caller) error {
	f, err := readFilter(r.URL.Query())
	if err != nil {
		return err
	}
	resp := wire.JobsResponse{Reply: s.reply(r, c)}
	now := s.now()
	since, err := strconv.ParseInt(r.URL.Query().Get("update_time"), 10, 64)
	if err == nil && since > 0 {
		same, err := s.unchanged(r.Context(), since)
		if err != nil {
			return err
		}
		if same {
			resp.LastUpdate, resp.LastBackfill = wire.Num(since), wire.Num(since)
			resp.Warnings = append(resp.Warnings, wire.Warning{Description: "No change since update_time", Source: "GET " + r.URL.Path})
			return writeJSON(w, resp)
		}
	}
	resp.Warnings = append(resp.Warnings, s.lister.unknownUsers(&f)...)
	return s.writeJobs(w, r, &f, resp, now)
}

// unknownUsers warns of users in a filter that this machine does not have: the small commands cannot ask the user
// database themselves.
func (s *lister) unknownUsers(f *jobFilter) []wire.Warning {
	var out []wire.Warning
	for _, u := range f.users {
		var err error
		if uid, numErr := strconv.ParseUint(u, 10, 32); numErr == nil {
			_, err = s.users.UserName(uint32(uid))
		} else {
			_, _, err = s.users.UserIDs(u)
		}
		if err != nil {
			out = append(out, wire.Warning{Description: "Invalid user: " + u, Source: "users"})
		}
	}
	return out
}

// job is GET /job/{id}.
func (s *restd) job(w http.ResponseWriter, r *http.Request, c identity.Caller) error {
	f, err := readFilter(r.URL.Query())
	if err != nil {
		return err
	}
	id, tasks, err := parseRef(r.PathValue("id"))
	if err != nil {
		return err
	}
	f.refs = nil
	f.add(id, tasks)
	return s.writeJobs(w, r, &f, wire.JobsResponse{Reply: s.reply(r, c)}, s.now())
}

// writeJobs answers with the jobs that f selects. Where all that was asked for is one job, that it is not known is an error.
func (s *restd) writeJobs(w http.ResponseWriter, r *http.Request, f *jobFilter, resp wire.JobsResponse, now time.Time) error {
	v := s.lister.view()
	v.expand = !newer(r, "v0.0.43")
	q := f.query(s.users)
	q.EndedAfter = now.Add(-s.keep)
	log, err := s.store.Changes(r.Context(), 0, 0)
	if err != nil {
		return ofStore(err, errNoContact)
	}
	list, err := s.lister.list(r.Context(), v, f, q)
	if err != nil {
		return err
	}
	if len(list) == 0 && r.PathValue("id") != "" {
		known, err := s.store.Jobs(r.Context(), federation.JobQuery{IDs: q.IDs, EndedAfter: q.EndedAfter})
		if err != nil {
			return ofStore(err, errNoContact)
		}
		if len(known) == 0 {
			return errInvalidJobID
		}
	}
	if len(q.IDs) == 0 && q.User == "" && q.Name == "" && !q.Live {
		s.marks.add(now.Unix(), log.Mark)
	}
	resp.LastUpdate, resp.LastBackfill = wire.Time(now), wire.Time(now)
	if r.URL.Query().Get("sparse") == "" {
		if len(list) == 0 {
			resp.Warnings = append(resp.Warnings, wire.Warning{Description: "Zero jobs to dump"})
		}
		return streamJobs(w, v, list, &resp)
	}
	resp.Jobs = make(wire.List[wire.Job], len(list))
	for i := range list {
		resp.Jobs[i] = v.record(&list[i])
	}
	return writeJSON(w, struct {
		Jobs any `json:"jobs"`
		wire.Reply
	}{sparse(resp.Jobs), resp.Reply})
}

// jobsState is GET /jobs/state: the cheap poll.
func (s *restd) jobsState(w http.ResponseWriter, r *http.Request, c identity.Caller) error {
	f, err := readFilter(r.URL.Query())
	if err != nil {
		return err
	}
	q := f.query(s.users)
	q.EndedAfter = s.now().Add(-s.keep)
	list, err := s.lister.list(r.Context(), s.lister.view(), &f, q)
	if err != nil {
		return err
	}
	resp := wire.JobsStateResponse{Reply: s.reply(r, c), Jobs: make(wire.List[wire.JobStateRow], len(list))}
	for i := range list {
		resp.Jobs[i] = wire.JobStateRow{JobID: wire.Text(list[i].name()), State: list[i].states()}
	}
	return writeJSON(w, resp)
}

// name is p as squeue calls it, without the limit of an array: "17", "17_3", "17_[4-9]".
func (p *part) name() string {
	id := cmp.Or(p.array, p.job.ID).String()
	switch {
	case len(p.job.Spec.Het) > 0:
		return id + "+0"
	case p.job.Component != nil:
		return p.job.Component.Leader.String() + "+" + strconv.Itoa(p.job.Component.Offset)
	case p.task != nil:
		return id + "_" + strconv.Itoa(p.task.Index)
	case p.pending != "":
		list, _, _ := strings.Cut(p.pending, "%")
		return id + "_[" + list + "]"
	}
	return id
}
