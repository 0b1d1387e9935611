package scontrol

import (
	"fmt"
	"slices"
	"strings"

	"fsub/cmd/internal/show"
	"fsub/federation"
	v1 "fsub/federation/api/v1"
	"fsub/sbatch"
	"fsub/slurm/hostlist"
	"fsub/slurm/wire"
)

// ref is a job as it was named. Text that names none is refused here, as by slurmctld.
type ref struct {
	text string
	v1.JobRef
	ok bool
}

// refs reads words of jobs, with commas in them.
func (c *command) refs(words []string) []ref {
	var out []ref
	for _, w := range words {
		for _, text := range hostlist.Split(w) {
			r := ref{text: text}
			r.JobRef, r.ok = parseRef(show.OwnTask(c.env, text))
			out = append(out, r)
		}
	}
	return out
}

func parseRef(text string) (r v1.JobRef, ok bool) {
	idText, tasks, hasTasks := strings.Cut(text, "_")
	if !digits(idText) || len(idText) > 10 {
		return r, false
	}
	for _, d := range idText {
		r.ID = r.ID*10 + federation.JobID(d-'0')
	}
	if hasTasks {
		r.Tasks = show.Tasks(tasks)
	}
	return r, r.ID != 0 && (!hasTasks || r.Tasks.Len() > 0)
}

// results asks for something to be done with jobs, all in one request. There is one result for each.
func (c *command) results(verb string, refs []ref, change []sbatch.Change) []v1.ActResult {
	out := make([]v1.ActResult, len(refs))
	req := v1.ActRequest{Change: change, AsUser: verb == "uhold"}
	if req.AsUser {
		verb = "hold"
	}
	var sent []int
	for i, r := range refs {
		if r.ok {
			req.Jobs = append(req.Jobs, r.JobRef)
			sent = append(sent, i)
		} else {
			out[i].Error = &v1.Error{Number: wire.ErrJobID, Text: wire.Strerror(wire.ErrJobID)}
		}
	}
	if len(sent) == 0 {
		return out
	}
	var resp v1.ActResponse
	if err := show.Post(c.caller, "/fed/v1/jobs/"+verb, req, &resp); err != nil {
		for _, i := range sent {
			out[i].Error = &v1.Error{Text: err.Error()}
		}
		return out
	}
	for k, i := range sent {
		if k < len(resp.Results) {
			out[i] = resp.Results[k]
		}
	}
	return out
}

// actOn is suspend, resume and top.
func (c *command) actOn(verb string, words []string) int { return c.actOnRefs(verb, c.refs(words)) }

// actOnRefs makes one complaint for each job that is refused.
func (c *command) actOnRefs(verb string, refs []ref) int {
	exit := 0
	results := c.results(verb, refs, nil)
	for i := range results {
		r := &results[i]
		if r.Error == nil {
			continue
		}
		exit = 1
		if (verb == "suspend" || verb == "resume") && refs[i].ok && r.Error.Number == wire.ErrJobID {
			r.Error.Text = "Unexpected message received" // 24.11
		}
		c.complain(refs[i], r, false)
	}
	return exit
}

// holdJobs is hold and release, of IDs or of name=NAME.
func (c *command) holdJobs(verb string, words []string) int {
	exit := 0
	for _, w := range words {
		if exit |= c.holdWord(verb, w); exit != 0 && len(words) == 1 {
			return exit
		}
	}
	return exit
}

// holdWord does one word. Slurm ends with a summary line where all that was asked for is one job,
// or jobs of one name, but where tasks are named.
func (c *command) holdWord(verb, word string) int {
	key, name, named := strings.Cut(word, "=")
	var refs []ref
	if named && (is(key, "name", 1) || is(key, "jobname", 1)) {
		var err error
		if refs, err = c.jobsNamed(name); err != nil {
			return 1
		}
	} else {
		if named && is(key, "jobid", 1) {
			word = name
		}
		refs = c.refs([]string{word})
	}
	exit := 0
	results := c.results(verb, refs, nil)
	for i := range results {
		r := &results[i]
		if r.Error == nil {
			continue
		}
		exit = 1
		if byTask := c.complain(refs[i], r, false); !byTask && !strings.Contains(refs[i].text, "_") {
			c.fail("slurm_suspend error: %s", r.Error.Text)
		}
	}
	return exit
}

// jobsNamed are the caller's jobs of a name, an array once.
func (c *command) jobsNamed(name string) ([]ref, error) {
	var q show.Query
	q.Add("name", name)
	q.Add("sparse", "1")
	var resp wire.JobsResponse
	if err := c.load("slurm_load_jobs", wire.Slurm(restVersion, wire.PathJobs)+q.String(), &resp); err != nil {
		return nil, err
	}
	var refs []ref
	for i := range resp.Jobs {
		j := &resp.Jobs[i]
		id := j.JobID
		if array := j.ArrayJobID.Value(); array != 0 {
			id = array
		}
		r := ref{text: fmt.Sprint(id), JobRef: v1.JobRef{ID: federation.JobID(id)}, ok: true}
		if !slices.ContainsFunc(refs, func(x ref) bool { return x.ID == r.ID }) {
			refs = append(refs, r)
		}
	}
	return refs, nil
}
