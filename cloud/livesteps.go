package cloud

import (
	"cmp"
	"slices"
	"strconv"

	"fsub/cloud/agentapi"
	"fsub/federation"
	"fsub/federation/driver"
	"fsub/slurm/hostlist"
)

// Steps implements driver.StepTeller. They are kept in memory until their run ends, so that a job may have any number of them.
func (d *Driver) Steps(jobs []federation.JobID, ended bool) []driver.LiveStep {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []driver.LiveStep
	if jobs != nil {
		for _, id := range jobs {
			out = append(out, d.jobs.byID[id].liveSteps(ended)...)
		}
	} else {
		for _, j := range d.jobs.byID {
			out = append(out, j.liveSteps(ended)...)
		}
	}
	slices.SortFunc(out, func(a, b driver.LiveStep) int {
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
func (j *job) liveSteps(ended bool) (list []driver.LiveStep) {
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
			list = append(list, driver.LiveStep{Job: j.id(), Number: j.Job.Number(), Step: stepOf(s), Limit: s.Limit, SrunHost: s.SrunHost, SrunPID: s.SrunPID})
		}
	}
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
