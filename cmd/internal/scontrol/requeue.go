package scontrol

import (
	"slices"
	"strings"

	"fsub/cmd/internal/show"
	"fsub/federation"
	"fsub/slurm/wire"
)

// requeue is "requeue|requeuehold [State=SpecialExit] [Incomplete] JOBS", in any letter case. With
// the state jobs are held by requeue too.
func (c *command) requeue(verb string, words []string) int {
	incomplete := false
	words = slices.DeleteFunc(slices.Clone(words), func(w string) bool {
		switch {
		case strings.EqualFold(w, "State=SpecialExit"):
			verb = "requeuespecial"
		case is(strings.ToLower(w), "incomplete", 2):
			incomplete = true
		default:
			return false
		}
		return true
	})
	refs := c.refs(words)
	if incomplete {
		var err error
		if refs, err = c.unended(refs); err != nil {
			return 1
		}
	}
	return c.actOnRefs(verb, refs)
}

// unended returns those of refs that have not ended: of an array the tasks that run. Unknown jobs
// stay, to be reported.
func (c *command) unended(refs []ref) ([]ref, error) {
	var ids []string
	for _, r := range refs {
		if r.ok {
			ids = append(ids, r.ID.String())
		}
	}
	var q show.Query
	q.Add("job_id", strings.Join(ids, ","))
	var resp wire.JobsResponse
	if err := c.load("slurm_load_jobs", wire.Slurm(restVersion, wire.PathJobs)+q.String(), &resp); err != nil {
		return nil, err
	}
	var out []ref
	for _, r := range refs {
		known, running := partsOf(r, resp.Jobs)
		switch {
		case !known:
			out = append(out, r)
		case len(running) > 0:
			if running[0] >= 0 {
				r.Tasks, r.text = federation.TaskSetOf(running), r.ID.String()+"_["+federation.FormatArray(running, 0)+"]"
			}
			out = append(out, r)
		}
	}
	return out, nil
}

// partsOf finds a job in a listing, and those of its tasks that were asked for and run: -1 is a job
// that is not an array.
func partsOf(r ref, jobs []wire.Job) (known bool, running []int) {
	for i := range jobs {
		j := &jobs[i]
		array := federation.JobID(j.ArrayJobID.Value())
		if r.ID != array && r.ID != federation.JobID(j.JobID) {
			continue
		}
		known = true
		task := -1
		if r.ID == array {
			if !j.ArrayTaskID.Set {
				continue // tasks that wait
			}
			task = int(j.ArrayTaskID.Number)
		}
		if show.Ended(j.State) || r.Tasks.Len() > 0 && !r.Tasks.Has(task) {
			continue
		}
		running = append(running, task)
	}
	return known, running
}
