package sacct

import (
	"fmt"
	"strconv"
	"strings"

	"fsub/cmd/internal/option"
	"fsub/cmd/internal/show"
	v1 "fsub/federation/api/v1"
	"fsub/slurm/hostlist"
)

// ref is a job, a task, a component or a step as --jobs names it.
type ref struct {
	id        int64
	task      int64  // -1: the whole job
	component int64  // of a heterogeneous job, -1: all
	step      string // "": all
}

// job is what the daemon is asked for: the ref without its component and step.
func (r ref) job() string {
	id := strconv.FormatInt(r.id, 10)
	if r.task >= 0 {
		return id + "_" + strconv.FormatInt(r.task, 10)
	}
	return id
}

// has reports whether j is what r names. The tasks that have not started have one record, which no
// task's ID names.
func (r ref) has(j *v1.AccountingJob, wholeHet bool) bool {
	switch {
	case r.task >= 0:
		return j.Array.JobID == r.id && j.Array.TaskID.Set && j.Array.TaskID.Number == r.task
	case r.component >= 0 && !wholeHet:
		return j.Het.JobID == r.id && j.Het.JobOffset.Value() == r.component
	}
	return j.Array.JobID == r.id || j.Het.JobID == r.id || j.JobID == r.id
}

// setJobs reads the list of --jobs. Its error is a whole line for stderr.
func (o *options) setJobs(v option.Value) error {
	for _, text := range show.OwnTasks(o.env, hostlist.Split(v.Text)) {
		r, err := parseRef(text)
		if err != nil {
			return err
		}
		o.refs = append(o.refs, r)
	}
	return nil
}

// parseRef reads "17", "17_3", "17+1", with ".batch", ".extern", ".interactive" or ".0" after it.
func parseRef(text string) (ref, error) {
	r := ref{task: -1, component: -1}
	base, step, hasStep := strings.Cut(text, ".")
	end := strings.IndexAny(base, "_+")
	digits := base
	if end >= 0 {
		digits = base[:end]
	}
	id, err := strconv.ParseUint(digits, 10, 32)
	if err != nil || id == 0 {
		return r, fmt.Errorf("sacct: fatal: Bad job/step specified: %s", text)
	}
	r.id = int64(id)
	if end >= 0 {
		n, err := strconv.ParseUint(base[end+1:], 10, 31)
		switch {
		case err != nil && base[end] == '_':
			return r, fmt.Errorf("sacct: fatal: Bad job array element specified: %s", digits)
		case err != nil:
			return r, fmt.Errorf("sacct: fatal: Bad hetjob offset specified: %s", digits)
		case base[end] == '_':
			r.task = int64(n)
		default:
			r.component = int64(n)
		}
	}
	if !hasStep {
		return r, nil
	}
	switch n, err := strconv.ParseUint(step, 10, 32); {
	case step == "batch", step == "extern", step == "interactive":
		r.step = step
	case err != nil:
		return r, fmt.Errorf("sacct: fatal: Bad step specified: %s", digits)
	case n < 0xfffffff0: // the numbers above are Slurm's own; NO_VAL is "all"
		r.step = strconv.FormatUint(n, 10)
	}
	return r, nil
}
