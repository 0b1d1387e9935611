package cloud

import (
	"cmp"
	"slices"
	"strconv"

	"fsub/cloud/agentapi"
	"fsub/federation"
	"fsub/slurm/hostlist"
)

// Steps implements federation.StepTeller. They are kept in memory until their run ends, so that a job may have any number of them.
func (d *Driver) Steps(jobs []federation.JobID, ended bool) []federation.LiveStep {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []federation.LiveStep
	if jobs != nil {
		for _, id := range jobs {
			out = append(out, d.jobs.byID[id].liveSteps(ended)...)
		}
	} else {
		for _, j := range d.jobs.byID {
			out = append(out, j.liveSteps(ended)...)
		}
	}
	slices.SortFunc(out, func(a, b federation.LiveStep) int {
		return cmp.Or(cmp.Compare(a.Job, b.Job), cmp.Compare(stepNumber(a.ID), stepNumber(b.ID)))
	})
	return out
}

// stepNumber is -1 of the batch script, which is listed first.
func stepNumber(id string) int {
	n, err := strconv.Atoi(id)
	if err != nil {
		return -1
	}
	return n
}

// liveSteps are the steps of a job. j may be nil.
func (j *job) liveSteps(ended bool) (list []federation.LiveStep) {
	var steps []agentapi.Step
	switch {
	case j == nil:
	case j.run != nil:
		steps = j.run.steps
	case ended && !j.End.IsZero():
		steps = j.Steps
	}
	for i := range steps {
		if s := &steps[i]; ended || s.State == string(federation.Running) && s.ID != "batch" {
			list = append(list, federation.LiveStep{Job: j.id(), Step: stepOf(s), Limit: s.Limit, SrunHost: s.SrunHost, SrunPID: s.SrunPID})
		}
	}
	return list
}

// tellSteps takes in what the head's agent says of a run's steps: all of them at the end, before that those that have changed.
func (r *run) tellSteps(s agentapi.Status) {
	if s.State == agentapi.RunEnded && len(s.Steps) > 0 {
		r.steps, r.stepAt = nil, nil
	}
	if r.stepAt == nil {
		r.stepAt = make(map[string]int, len(s.Steps))
		for i := range r.steps {
			r.stepAt[r.steps[i].ID] = i
		}
	}
	for _, step := range s.Steps {
		i, known := r.stepAt[step.ID]
		if known {
			r.steps[i] = step
			continue
		}
		r.stepAt[step.ID] = len(r.steps)
		r.steps = append(r.steps, step)
	}
}

// stepsAtEnd are a run's steps for the records. One whose end nobody has told went with its machine.
func (r *run) stepsAtEnd() []agentapi.Step {
	list := slices.Clone(r.steps)
	for i := range list {
		if s := &list[i]; s.End.IsZero() {
			s.State, s.End = string(federation.Cancelled), r.End.At
			if s.End.Before(s.Start) {
				s.End = s.Start
			}
		}
	}
	slices.SortStableFunc(list, func(a, b agentapi.Step) int { return cmp.Compare(stepNumber(a.ID), stepNumber(b.ID)) })
	return list
}

// nodeCount is how many names a hostlist has.
func nodeCount(list string) int {
	names, err := hostlist.Expand(list)
	if err != nil {
		return 0
	}
	return len(names)
}
