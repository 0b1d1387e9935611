package api

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"fsub/federation"
	"fsub/federation/api/identity"
	v1 "fsub/federation/api/v1"
	"fsub/slurm/hostlist"
	"fsub/slurm/wire"
)

// dbJobs is GET /slurmdb/.../jobs and /job/{id}: every job that was ever accepted, as slurmdbd would have recorded it. An unknown
// one is an empty list. Filters: job_id (or step), users, job_name, partition, account, qos, state, start_time, end_time.
func (s *restd) dbJobs(w http.ResponseWriter, r *http.Request, c identity.Caller) error {
	q := r.URL.Query()
	if id := r.PathValue("id"); id != "" {
		q.Set("job_id", id)
	}
	v := s.lister.view()
	list, warnings, err := s.lister.account(r.Context(), v, q)
	if err != nil {
		return err
	}
	resp := wire.DBJobsResponse{Reply: s.reply(r, c), Jobs: make(wire.List[wire.DBJob], len(list))}
	resp.Warnings = append(resp.Warnings, warnings...)
	for i := range list {
		resp.Jobs[i] = v.dbRecord(&list[i])
	}
	if err := s.lister.addUsage(r.Context(), list, func(i int) *wire.DBJob { return &resp.Jobs[i] }); err != nil {
		return err
	}
	for i := range resp.Jobs {
		s.lister.whoKilled(resp.Jobs[i].Steps)
	}
	return writeJSON(w, resp)
}

// accounting is GET /fed/v1/accounting: the same for sacct, which wants uids too.
func (s *Server) accounting(w http.ResponseWriter, r *http.Request, c identity.Caller) error {
	v := s.lister.view()
	list, warnings, err := s.lister.account(r.Context(), v, r.URL.Query())
	if err != nil {
		return err
	}
	resp := v1.AccountingResponse{Reply: s.restd.reply(r, c), Jobs: make([]v1.AccountingJob, len(list))}
	resp.Warnings = append(resp.Warnings, warnings...)
	for i := range list {
		j := list[i].job
		resp.Jobs[i] = v1.AccountingJob{DBJob: v.dbRecord(&list[i]), UserID: j.UID, GroupID: j.GID}
		if j.Cancel && list[i].state == federation.Cancelled {
			resp.Jobs[i].CancelledBy = &j.CancelBy
		}
	}
	if err := s.lister.addUsage(r.Context(), list, func(i int) *wire.DBJob { return &resp.Jobs[i].DBJob }); err != nil {
		return err
	}
	for i := range resp.Jobs {
		resp.Jobs[i].StepsCancelledBy = s.lister.whoKilled(resp.Jobs[i].Steps)
	}
	return writeJSON(w, resp)
}

// account reads what the query of an accounting listing selects, in order of the jobs.
func (s *lister) account(ctx context.Context, v *view, q url.Values) ([]part, []wire.Warning, error) {
	f, err := readFilter(q)
	if err != nil {
		return nil, nil, err
	}
	win, err := readWindow(q, s.now())
	if err != nil {
		return nil, nil, err
	}
	win.states, f.states = f.states, nil // the window has its own meaning of states
	query := f.query(s.users)
	query.EndedAfter = win.from
	list, err := s.list(ctx, v, &f, query)
	if err != nil {
		return nil, nil, err
	}
	if q.Get("duplicates") != "" {
		if list, err = s.withEarlier(ctx, list); err != nil {
			return nil, nil, err
		}
	}
	list = slices.DeleteFunc(list, func(p part) bool { return !win.has(&p, len(f.refs) > 0) })
	slices.SortStableFunc(list, func(a, b part) int { return cmp.Compare(cmp.Or(a.array, a.job.ID), cmp.Or(b.array, b.job.ID)) })
	return list, s.unknownUsers(&f), nil
}

// window is the time that a listing of the accounting is about. A zero time is no bound.
type window struct {
	from, to time.Time
	states   []string
}

func readWindow(q url.Values, now time.Time) (window, error) {
	var win window
	for name, into := range map[string]*time.Time{"start_time": &win.from, "end_time": &win.to} {
		text := q.Get(name)
		if text == "" {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimPrefix(text, "uts"), 10, 64)
		if err != nil {
			return win, badBody(name + " must be a Unix time: " + strconv.Quote(text))
		}
		*into = time.Unix(n, 0)
	}
	if win.to.IsZero() {
		win.to = now
	}
	return win, nil
}

// has reports whether p belongs to the window, as sacct takes it. Without states: it was there at some time of the window, from
// when it could have started (a job asked for by its ID: from its submission). With states: it was in one of them then,
// which for an end means that it ended then.
func (w window) has(p *part, byID bool) bool {
	from, to, start, end := seconds(w.from), seconds(w.to), seconds(p.start), seconds(p.end)
	began := max(p.job.Submit.Unix(), seconds(p.job.Spec.Begin))
	ended := p.state.Ended()
	if byID {
		began = p.job.Submit.Unix()
	}
	if began > to || !byID && p.job.Held != federation.NotHeld || ended && end < from {
		return false
	}
	if len(w.states) == 0 {
		return true
	}
	for _, state := range w.states {
		switch {
		case state == string(p.state):
			if !ended || end <= to {
				return true
			}
		case state == "RUNNING" && p.state != federation.Pending:
			if start != 0 && start <= to && (!ended || end > from) {
				return true
			}
		case state == "PENDING" && (byID || from != 0) && start > from && began <= to:
			return true // it waited at the beginning of the window
		}
	}
	return false
}

// seconds is t in Unix time, 0 for the zero time: sacct knows no fractions of a second.
func seconds(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Unix()
}

// dbRecord is p as slurmdbd would have recorded it. Comment and file names are there from the beginning.
func (v *view) dbRecord(p *part) wire.DBJob {
	j, sp := p.job, p.job.Spec
	z := v.sizeOf(j, p.nodes)
	job := v.record(p)
	w := wire.DBJob{
		Account: job.Account, Cluster: job.Cluster, Constraints: sp.Constraint, Name: sp.Name, User: j.User, Group: job.GroupName,
		JobID: int64(p.id), Partition: job.Partition, QOS: job.QOS, QOSReq: sp.QOS, Priority: job.Priority, Hold: job.Hold,
		ExitCode: job.ExitCode, DerivedExitCode: job.DerivedExitCode, RestartCnt: int64(p.restarts), WorkDir: sp.WorkDir,
		Nodes: cmp.Or(p.nodes, "None assigned"),
		State: wire.DBState{Current: dbStates(p.state), Reason: job.StateReason},
	}
	w.Comment.Job, w.SubmitLine = sp.Comment, sp.SubmitLine
	w.Association = wire.AssocShort{Account: w.Account, Cluster: w.Cluster, User: w.User, ID: v.associationOf(j)}
	w.Het.JobOffset = wire.Number{}
	if job.HetJobID.Value() != 0 {
		w.Het.JobID, w.Het.JobOffset = job.HetJobID.Value(), job.HetJobOffset
	}
	if p.array != 0 {
		w.Array.JobID, w.Array.Task, w.Array.TaskID = int64(p.array), p.pending, job.ArrayTaskID
		w.Array.Limits.Max.Running.Tasks = int64(p.limit)
	}
	if p.state == federation.Cancelled && j.Cancel {
		w.KillRequestUser, _ = v.users.UserName(j.CancelBy)
		w.KillRequestUser = cmp.Or(w.KillRequestUser, strconv.Itoa(int(j.CancelBy)))
	}
	w.Required.CPUs, w.Required.MemoryPerCPU, w.Required.MemoryPerNode = int64(z.CPUs), job.MemoryPerCPU, job.MemoryPerNode
	w.Reservation.Name = sp.Reservation
	w.TRES.Requested = z.list()
	if p.nodes != "" {
		w.TRES.Allocated, w.AllocationNodes = v.allocated(z, j.Site, firstNode(p.nodes)).list(), int64(z.Nodes)
	}
	w.Time = v.dbTime(p, &job)
	w.StdOutExpanded, w.StdErrExpanded, w.StdInExpanded = job.StdOutExpanded, job.StdErrExpanded, job.StdInExpanded
	w.StdOut, w.StdErr, w.StdIn = job.StdOut, job.StdErr, job.StdIn
	if stopped(p.state) { // slurmdbd has the signal with the batch step
		w.ExitCode = exitCode(0)
	}
	if p.state != federation.Pending { // slurmdbd keeps why a job waited, not how it ended
		w.State.Reason = "None"
	}
	if sp.Error == "" { // slurmdbd has no name where none was given
		w.StdErrExpanded = ""
	}
	if !p.start.IsZero() && p.nodes != "" && job.HetJobOffset.Value() == 0 { // the script runs in the first component
		w.Steps = wire.List[wire.DBStep]{batchStep(p, &w)}
	}
	return w
}

// dbState is a state as the accounting knows it: there is nothing between PENDING, RUNNING and the end.
func dbState(s federation.State) federation.State {
	switch s {
	case federation.Configuring, federation.Completing:
		return federation.Running
	}
	return s
}

// dbStates is a state as slurmrestd lists it. That of a run which was requeued is a flag of one that waits.
func dbStates(s federation.State) wire.Strings {
	if s == federation.Requeued {
		return wire.Strings{wire.StatePending, wire.FlagRequeued}
	}
	return wire.Strings{string(dbState(s))}
}

func (v *view) dbTime(p *part, job *wire.Job) wire.DBTime {
	t := wire.DBTime{Submission: job.SubmitTime.Value(), Eligible: job.EligibleTime.Value(), Limit: job.TimeLimit}
	until := v.now
	if p.state.Ended() && !p.end.IsZero() {
		t.End, until = p.end.Unix(), p.end
	}
	if !p.start.IsZero() && p.state != federation.Pending {
		t.Start = p.start.Unix()
		t.Elapsed, t.Suspended = p.times(p.start, until)
		t.Planned = wire.Num(max(t.Start-t.Eligible, 0))
	}
	return t
}

// times are for how many seconds a job has run until then, and was suspended. slurmdbd counts whole seconds of the clock.
func (p *part) times(start, until time.Time) (ran, suspended int64) {
	all := max(until.Unix()-start.Unix(), 0)
	suspended = min(int64(p.suspension.Suspended(start, until, p.state == federation.Suspended)/time.Second), all)
	return all - suspended, suspended
}

// stopped reports whether a job was ended from without: slurmdbd writes its record before it is known how its script ended.
func stopped(s federation.State) bool {
	return s == federation.Cancelled || s == federation.Timeout || s == federation.Preempted || s == federation.Requeued
}

// batchStep is the record of the batch script of a job that has started: it ran as long as the job, on its first node. What
// only the site measured (memory, CPU time) is not in it.
func batchStep(p *part, w *wire.DBJob) wire.DBStep {
	var st wire.DBStep
	st.Step.ID, st.Step.Name = wire.Text(p.name()+".batch"), "batch"
	st.State, st.ExitCode = w.State.Current, w.ExitCode
	if stopped(p.state) {
		st.State, st.ExitCode = wire.Strings{wire.StateCancelled}, exitCode(15)
	}
	st.Time.Elapsed, st.Time.Suspended = w.Time.Elapsed, w.Time.Suspended
	st.Time.Start = wire.Num(w.Time.Start)
	st.Time.End = wire.Num(w.Time.End)
	first := firstNode(p.nodes)
	st.Nodes.Count, st.Nodes.Range, st.Nodes.List = 1, hostlist.Compress([]string{first}), wire.Strings{first}
	st.Tasks.Count = 1
	st.CPU.RequestedFrequency.Min, st.CPU.RequestedFrequency.Max, st.CPU.Governor, st.Task.Distribution = wire.Num(0), wire.Num(0), "0", "Unknown"
	return st
}
