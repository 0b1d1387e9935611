package simsite

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"fsub/federation"
	"fsub/slurm/wire"
)

// getDBJobs answers /job/{id} with every row of that ID (of an array's ID: also those of its tasks), and /jobs/ with
// the rows that match the filter. An unknown ID is an empty list.
func (s *Site) getDBJobs(c *call) {
	a := wire.DBJobsResponse{Reply: s.meta(c)}
	list := s.dbd.rows
	if c.arg != "" {
		id, err := strconv.ParseUint(c.arg, 10, 32)
		if err != nil {
			s.refuse(c, errJobID, "slurmdb_jobs_get()")
			return
		}
		list = s.dbd.byID[uint32(id)]
	}
	if steps := c.query["step"]; c.arg == "" && len(steps) > 0 { // of jobs, each in a parameter of its own: a list with commas is refused
		list = nil
		for _, step := range steps {
			id, err := strconv.ParseUint(step, 10, 32)
			if err != nil {
				s.refuse(c, errJobID, "slurmdb_jobs_get()")
				return
			}
			list = append(list, s.dbd.byID[uint32(id)]...)
		}
	}
	match := dbFilter(c)
	for _, r := range list {
		if c.arg != "" || len(c.query["step"]) > 0 || match(r) {
			a.Jobs = append(a.Jobs, s.wireRecord(&r.Record))
		}
	}
	s.ok(c, &a)
}

// dbFilter understands job_name, users, account, partition, state, wckey, and submit_time, start_time and end_time (as "uts<epoch>" or a
// number); with usage_time_as_submit_time the latter two are times of submission.
func dbFilter(c *call) func(*row) bool {
	q := c.query
	in := func(key, value string) bool {
		want := q.Get(key)
		return want == "" || slices.Contains(strings.Split(want, ","), value)
	}
	at := func(key string) (time.Time, bool) {
		n, err := strconv.ParseInt(strings.TrimPrefix(q.Get(key), "uts"), 10, 64)
		return time.Unix(n, 0), err == nil
	}
	from, hasFrom := at("start_time")
	to, hasTo := at("end_time")
	submitted, hasSubmitted := at("submit_time")
	bySubmit := q.Get("usage_time_as_submit_time") == "true"
	return func(r *row) bool {
		when, end := r.Eligible, r.End
		if bySubmit {
			when, end = r.Submit, r.Submit
		}
		switch {
		case !in("job_name", r.Desc.Name), !in("wckey", r.Desc.WCKey), !in("users", r.User), hasSubmitted && r.Submit.Before(submitted), !in("account", r.Account), !in("partition", r.Part),
			!in("state", string(r.State)):
			return false
		case when.IsZero() && !hasSubmitted, hasTo && when.After(to), hasFrom && !end.IsZero() && end.Before(from):
			return false
		}
		return true
	}
}

func unix(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Unix()
}

// wireRecord is a row as slurmdbd shows it.
func (s *Site) wireRecord(r *Record) wire.DBJob {
	d := r.Desc
	w := wire.DBJob{Account: r.Account, Cluster: s.cfg.Name, Constraints: d.Constraints, ExitCode: exitCode(r.State, r.Exit),
		DerivedExitCode: exitCode(federation.Completed, 0), Extra: r.Extra, JobID: int64(r.JobID), Name: d.Name, Nodes: r.Nodes,
		Partition: r.Part, QOS: r.QOS, RestartCnt: int64(r.Restarts), User: r.User, WorkDir: d.WorkDir}
	w.Association = wire.AssocShort{Account: r.Account, Cluster: s.cfg.Name, User: r.User}
	w.WCKey.WCKey = d.WCKey
	w.Comment = wire.DBComment{Job: r.Comment, Administrator: r.Admin}
	if w.Nodes == "" {
		w.Nodes = "None assigned"
	}
	w.Array.JobID = int64(r.Array)
	if r.Task >= 0 && r.Array != 0 {
		w.Array.TaskID = wire.Num(int64(r.Task))
	}
	w.Array.Task = r.Tasks
	w.Time = wire.DBTime{Eligible: unix(r.Eligible), End: unix(r.End), Start: unix(r.Start), Submission: unix(r.Submit),
		Limit: minutes(r.Limit)}
	if !r.Start.IsZero() {
		end := r.End
		if end.IsZero() {
			end = stamp(s.now)
		}
		w.Time.Elapsed = int64(end.Sub(r.Start) / time.Second)
	}
	w.State = wire.DBState{Current: wire.Strings{string(r.State)}, Reason: "None"}
	if r.Requeued && r.State != federation.NodeFail {
		w.State.Current = append(w.State.Current, wire.FlagRequeued)
	}
	if r.Reason != "" {
		w.State.Reason = string(r.Reason)
	}
	w.TRES.Allocated = tresList(r.TRES)
	return w
}

// tresList turns "cpu=4,mem=4000M,gres/gpu:h100=4" into slurmdbd's list.
func tresList(text string) wire.List[wire.TRES] {
	var out wire.List[wire.TRES]
	ids := map[string]int64{"cpu": 1, "mem": 2, "energy": 3, "node": 4, "billing": 5}
	for item := range strings.SplitSeq(text, ",") {
		k, v, ok := strings.Cut(item, "=")
		if !ok {
			continue
		}
		n, _ := strconv.ParseInt(strings.TrimSuffix(v, "M"), 10, 64)
		t := wire.TRES{Type: k, ID: ids[k], Count: n}
		if kind, name, named := strings.Cut(k, "/"); named {
			t.Type, t.Name, t.ID = kind, name, 1001
			if strings.Contains(name, ":") {
				t.ID = 1002
			}
		}
		out = append(out, t)
	}
	return out
}

func (s *Site) getDBAssociations(c *call) {
	a := wire.AssociationsResponse{Reply: s.meta(c)}
	id := int64(1)
	for _, u := range s.cfg.Users {
		if want := c.query.Get("user"); want != "" && want != u.Name {
			continue
		}
		for i, acct := range u.Accounts {
			id++
			w := wire.Association{Account: acct, Cluster: s.cfg.Name, ID: wire.Int(id), IsDefault: i == 0, QOS: append(wire.Strings{"normal"}, u.QOS...),
				SharesRaw: 1, User: u.Name}
			a.Associations = append(a.Associations, w)
		}
	}
	s.ok(c, &a)
}

// getDBWCKeys: the site does not track them.
func (s *Site) getDBWCKeys(c *call) {
	s.ok(c, &wire.WCKeysResponse{Reply: s.meta(c)})
}
