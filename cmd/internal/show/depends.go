package show

import (
	"strconv"
	"strings"
	"time"

	"fsub/federation"
	v1 "fsub/federation/api/v1"
	"fsub/federation/depend"
	"fsub/slurm/wire"
)

// parent is a job that others wait for, or a task of an array.
type parent struct {
	array bool
	task  int // -1: none, or those that wait
	state string
	start int64
}

// Dependencies puts what has become of each condition into the dependencies of jobs, as slurmctld does: "afterok:17(failed),afterany:18(unfulfilled)". Those that are
// fulfilled are left out, and all of them of a job that has started. Where the daemon does not answer they stay as they were written.
func Dependencies(c Caller, jobs []*wire.Job, now time.Time) {
	var ids []string
	named := map[federation.JobID]bool{}
	for _, j := range jobs {
		d, err := depend.Parse(j.Dependency)
		if err != nil || !waits(j) {
			continue
		}
		for _, t := range d.Terms {
			if t.Job != 0 && !named[t.Job] {
				named[t.Job], ids = true, append(ids, t.Job.String())
			}
		}
	}
	parents, err := parentsOf(c, ids)
	for _, j := range jobs {
		switch {
		case j.Dependency == "":
		case !waits(j):
			j.Dependency = ""
		case err == nil:
			j.Dependency = dependency(j.Dependency, parents, now)
		}
	}
}

func waits(j *wire.Job) bool { return wire.BaseState(j.State) == wire.StatePending }

// parentsOf asks for jobs by their numbers, so many at a time as a request may name.
func parentsOf(c Caller, ids []string) (map[federation.JobID][]parent, error) {
	out := map[federation.JobID][]parent{}
	for len(ids) > 0 {
		n := min(len(ids), 1000)
		var q Query
		q.Add("job_id", strings.Join(ids[:n], ","))
		ids = ids[n:]
		var resp v1.AccountingResponse
		if err := Get(c, "/fed/v1/accounting"+q.String(), &resp); err != nil {
			return nil, err
		}
		for i := range resp.Jobs {
			j := &resp.Jobs[i]
			p := parent{task: -1, state: wire.BaseState(j.State.Current), start: j.Time.Start}
			id := federation.JobID(j.JobID)
			if j.Array.JobID != 0 {
				id, p.array = federation.JobID(j.Array.JobID), true
				if j.Array.TaskID.Set {
					p.task = int(j.Array.TaskID.Number)
				}
			}
			out[id] = append(out[id], p)
		}
	}
	return out, nil
}

// dependency is the text of what is not fulfilled.
func dependency(text string, parents map[federation.JobID][]parent, now time.Time) string {
	d, err := depend.Parse(text)
	if err != nil {
		return text
	}
	sep := ","
	if d.Any {
		sep = "?"
	}
	var out []string
	for _, t := range d.Terms {
		all := parents[t.Job]
		said := string(t.Kind)
		if t.Job != 0 {
			said += ":" + t.Job.String()
		}
		switch {
		case t.Task >= 0:
			said += "_" + strconv.Itoa(t.Task)
			all = ofTask(all, t.Task)
		case len(all) > 0 && all[0].array:
			said += "_*"
		}
		if t.Delay > 0 {
			said += "+" + strconv.Itoa(int(t.Delay/time.Minute))
		}
		if is := fate(&t, all, now); is != "" {
			out = append(out, said+"("+is+")")
		}
	}
	return strings.Join(out, sep)
}

// ofTask is one task of an array: while it waits, the record of those that do.
func ofTask(all []parent, task int) []parent {
	var rest []parent
	for _, p := range all {
		switch p.task {
		case task:
			return []parent{p}
		case -1:
			rest = append(rest, p)
		}
	}
	return rest
}

// fate is what has become of a condition: "unfulfilled", "failed", or "" if it is met.
func fate(t *depend.Term, all []parent, now time.Time) string {
	if t.Kind == depend.Singleton || len(all) == 0 {
		return "unfulfilled"
	}
	ended, good, began := true, true, true
	latest := int64(0)
	for _, p := range all {
		live := p.state == wire.StatePending || p.state == wire.StateRunning || p.state == wire.StateSuspended
		ended = ended && !live
		good = good && (live || p.state == string(federation.Completed))
		began = began && (p.start > 0 || !live)
		latest = max(latest, p.start)
	}
	met, never := false, false
	switch t.Kind {
	case depend.After:
		met = began && !now.Before(time.Unix(latest, 0).Add(t.Delay))
	case depend.AfterAny:
		met = ended
	case depend.AfterNotOK:
		met, never = ended && !good, ended && good
	case depend.AfterOK:
		met, never = ended && good, ended && !good
	default: // each task by itself
		met = ended && good
	}
	switch {
	case met:
		return ""
	case never:
		return "failed"
	}
	return "unfulfilled"
}
