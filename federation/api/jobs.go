package api

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"fsub/federation"
	"fsub/slurm/wire"
)

// jobFilter selects jobs of a listing. Beside slurmrestd's own update_time the commands pass, so that asking for
// one job does not cost a listing of all: job_id, users, states, name, partition, account, qos (lists with commas).
type jobFilter struct {
	refs       map[federation.JobID]map[int]bool // nil map of tasks: all of the job
	users      []string                          // names or uids
	states     []string                          // Slurm's long names
	names      []string
	partitions []string
	accounts   []string
	qos        []string
	clusters   []string // sites, or the federation for the jobs that have none
	live       bool     // not those that have ended
}

func readFilter(q url.Values) (jobFilter, error) {
	f := jobFilter{
		users: csv(q, "users", "user"), states: upper(csv(q, "states", "state")), names: csv(q, "name", "job_name"),
		partitions: csv(q, "partition"), accounts: csv(q, "account"), qos: csv(q, "qos"),
		clusters: csv(q, "cluster"), live: q.Get("live") != "",
	}
	var total taskCount
	for _, text := range splitRefs(strings.Join(append(q["job_id"], q["step"]...), ",")) {
		id, tasks, err := parseRef(text)
		if err != nil {
			return f, err
		}
		if err := total.add(tasks); err != nil {
			return f, err
		}
		f.add(id, tasks)
	}
	return f, nil
}

// add selects tasks of a job, all of it if there are none.
func (f *jobFilter) add(id federation.JobID, tasks []int) {
	if f.refs == nil {
		f.refs = map[federation.JobID]map[int]bool{}
	}
	have, known := f.refs[id]
	if len(tasks) == 0 || known && have == nil {
		f.refs[id] = nil
		return
	}
	if have == nil {
		have = map[int]bool{}
		f.refs[id] = have
	}
	for _, t := range tasks {
		have[t] = true
	}
}

// query is the part of f that the store can answer.
func (f *jobFilter) query(users Users) federation.JobQuery {
	var q federation.JobQuery
	for id := range f.refs {
		q.IDs = append(q.IDs, id)
	}
	slices.Sort(q.IDs)
	if len(f.users) == 1 {
		q.User = f.users[0]
		if uid, err := strconv.ParseUint(q.User, 10, 32); err == nil {
			q.User, _ = users.UserName(uint32(uid)) // unknown: all, and none matches
		}
	}
	if len(f.names) == 1 {
		q.Name = f.names[0]
	}
	// A task may wait while its array has ended in part, but not when it has ended.
	q.Live = f.live || len(f.states) > 0 && !slices.ContainsFunc(f.states, func(s string) bool { return federation.State(s).Ended() })
	return q
}

// job reports whether j is selected, state and tasks aside.
func (f *jobFilter) job(v *view, j *federation.Job) bool {
	return (len(f.users) == 0 || slices.Contains(f.users, j.User) || slices.Contains(f.users, strconv.Itoa(int(j.UID)))) &&
		oneOf(f.names, j.Spec.Name) && oneOf(f.partitions, v.partitionOf(j)) &&
		oneOf(f.accounts, anyOf(j.Account, j.Spec.Account)) && oneOf(f.qos, anyOf(j.Spec.QOS, "normal")) &&
		oneOf(f.clusters, anyOf(string(j.Site), v.cluster))
}

// part reports whether a part of a selected job is selected. Of tasks that have not started, those not asked for are taken away.
func (f *jobFilter) part(p *part) bool {
	if f.live && p.state.Ended() || len(f.states) > 0 && !slices.Contains(f.states, string(p.state)) && !slices.ContainsFunc(p.states(), func(s string) bool { return slices.Contains(f.states, s) }) {
		return false
	}
	if _, asked := f.refs[p.job.ID]; asked && p.job.Part != nil {
		return true // by its own number
	}
	tasks := f.refs[cmp.Or(p.array, p.job.ID)]
	if len(tasks) == 0 || p.array == 0 {
		return true
	}
	if p.task != nil {
		return tasks[p.task.Index]
	}
	return true
}

func oneOf(list []string, s string) bool { return len(list) == 0 || slices.Contains(list, s) }

func anyOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func csv(q url.Values, names ...string) []string {
	var out []string
	for _, name := range names {
		for _, v := range q[name] {
			for item := range strings.SplitSeq(v, ",") {
				if item != "" {
					out = append(out, item)
				}
			}
		}
	}
	return out
}

func upper(list []string) []string {
	for i := range list {
		list[i] = strings.ToUpper(list[i])
	}
	return list
}

// splitRefs cuts a list of jobs at its commas, but not within brackets: "17,18_[1,3]".
func splitRefs(text string) []string {
	depth := 0
	return strings.FieldsFunc(text, func(c rune) bool {
		switch c {
		case '[':
			depth++
		case ']':
			depth--
		}
		return c == ',' && depth == 0
	})
}

// parseRef reads one job as Slurm writes it: "17", "17_3", "17_[1-3]", "17+1" (a component). A step after it is left out of account.
func parseRef(text string) (federation.JobID, []int, error) {
	base, _, _ := strings.Cut(text, ".")
	idText, taskText, hasTask := strings.Cut(base, "_")
	idText, component, isComponent := strings.Cut(idText, "+")
	n, err := strconv.ParseUint(idText, 10, 32)
	if isComponent && err == nil {
		var offset uint64
		offset, err = strconv.ParseUint(component, 10, 8)
		n += offset
	}
	if err != nil || n == 0 {
		return 0, nil, detailed(errInvalidJobID, fmt.Sprintf("no job %q", text))
	}
	if !hasTask {
		return federation.JobID(n), nil, nil
	}
	indices, err := federation.ArrayIndices(taskText)
	if err != nil {
		return 0, nil, detailed(errInvalidJobID, fmt.Sprintf("no job %q", text))
	}
	return federation.JobID(n), indices, nil
}

// list reads the parts of all jobs that f selects, among those that slurmctld would still hold: live ones, and those that
// ended within MinJobAge. rev is the highest of any job that was read.
func (s *Server) list(ctx context.Context, v *view, f *jobFilter, q federation.JobQuery) (out []part, rev int64, err error) {
	jobs, err := s.cfg.Store.Jobs(ctx, q)
	if err != nil {
		return nil, 0, ofStore(err, errNoContact)
	}
	var arrays []federation.JobID
	selected := jobs[:0]
	for _, j := range jobs {
		rev = max(rev, j.Rev)
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
		if tasks, err = s.cfg.Store.TasksOf(ctx, arrays); err != nil {
			return nil, 0, ofStore(err, errNoContact)
		}
	}
	for i := range selected {
		for _, p := range parts(&selected[i], tasks[selected[i].ID]) {
			if f.part(&p) {
				out = append(out, p)
			}
		}
	}
	return out, rev, nil
}

// jobs is GET /jobs.
func (s *Server) jobs(w http.ResponseWriter, r *http.Request, c Caller) error {
	f, err := readFilter(r.URL.Query())
	if err != nil {
		return err
	}
	resp := wire.JobsResponse{Reply: s.reply(r, c)}
	now := s.cfg.Now()
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
	resp.Warnings = append(resp.Warnings, s.unknownUsers(&f)...)
	return s.writeJobs(w, r, &f, resp, now)
}

// unknownUsers warns of users in a filter that this machine does not have: the small commands cannot ask the user
// database themselves.
func (s *Server) unknownUsers(f *jobFilter) []wire.Warning {
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
func (s *Server) job(w http.ResponseWriter, r *http.Request, c Caller) error {
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
	return s.writeJobs(w, r, &f, wire.JobsResponse{Reply: s.reply(r, c)}, s.cfg.Now())
}

// writeJobs answers with the jobs that f selects. Where all that was asked for is one job, that it is not known is an error.
func (s *Server) writeJobs(w http.ResponseWriter, r *http.Request, f *jobFilter, resp wire.JobsResponse, now time.Time) error {
	v := s.view()
	v.expand = !newer(r, "v0.0.43")
	q := f.query(s.users)
	q.EndedAfter = now.Add(-s.cfg.MinJobAge)
	list, rev, err := s.list(r.Context(), v, f, q)
	if err != nil {
		return err
	}
	if len(list) == 0 && r.PathValue("id") != "" {
		known, err := s.cfg.Store.Jobs(r.Context(), federation.JobQuery{IDs: q.IDs, EndedAfter: q.EndedAfter})
		if err != nil {
			return ofStore(err, errNoContact)
		}
		if len(known) == 0 {
			return errInvalidJobID
		}
	}
	if len(q.IDs) == 0 && q.User == "" && q.Name == "" && !q.Live {
		s.marks.add(now.Unix(), rev)
	}
	resp.LastUpdate, resp.LastBackfill = unixNumber(now), unixNumber(now)
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
func (s *Server) jobsState(w http.ResponseWriter, r *http.Request, c Caller) error {
	f, err := readFilter(r.URL.Query())
	if err != nil {
		return err
	}
	q := f.query(s.users)
	q.EndedAfter = s.cfg.Now().Add(-s.cfg.MinJobAge)
	list, _, err := s.list(r.Context(), s.view(), &f, q)
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

// marks remember how far the store was when a listing of all jobs was made, so that update_time can be answered without
// making it again.
type marks struct {
	mu   sync.Mutex
	list []mark // in order of time
}

type mark struct{ at, rev int64 }

func (m *marks) add(at, rev int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n := len(m.list); n > 0 && m.list[n-1].at == at {
		return // the first of a second: what came later in it is a change
	}
	if len(m.list) == 256 {
		m.list = append(m.list[:0], m.list[128:]...)
	}
	m.list = append(m.list, mark{at, rev})
}

// before returns the newest mark that is not after at.
func (m *marks) before(at int64) (mark, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := len(m.list) - 1; i >= 0; i-- {
		if m.list[i].at <= at {
			return m.list[i], true
		}
	}
	return mark{}, false
}

// unchanged reports whether no job has changed since the listing that was made at since. A job that leaves the listing
// by its age alone is no change, as in slurmctld.
func (s *Server) unchanged(ctx context.Context, since int64) (bool, error) {
	m, ok := s.marks.before(since)
	if !ok {
		return false, nil
	}
	jobs, err := s.cfg.Store.Jobs(ctx, federation.JobQuery{SinceRev: m.rev, EndedAfter: s.cfg.Now().Add(-s.cfg.MinJobAge), Limit: 1})
	return err == nil && len(jobs) == 0, ofStore(err, errNoContact)
}
