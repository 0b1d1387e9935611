package submission

import (
	"context"
	"slices"

	"fsub/federation"
	"fsub/federation/action"
	"fsub/federation/api/identity"
	v1 "fsub/federation/api/v1"
	"fsub/sbatch"
)

// asOne bounds the tasks of which each gets a request of its own, so that the answer waits for its site.
const asOne = 64

// wholeOf is the array that a number means whose tasks slurmctld changes, holds, releases and requeues each by itself, and names those that it refuses; nil for all else. The
// limit of tasks that run at once is one for all.
func (s *Actions) wholeOf(kind action.Kind, job *federation.Job, tasks federation.TaskSet, known []federation.Task, parts map[int]*federation.Job, req *v1.ActRequest) *arrayTasks {
	spread := job.Whole != nil && job.Whole.Spread || job.Spec.Array != "" && job.Site == "" // the controller may not have seen it yet
	switch {
	case tasks.Len() > 0 || !spread || len(parts) == 0 && job.State.Ended():
		return nil
	case job.State.Ended() && job.End.Before(s.Now().Add(-s.Keep)):
		return nil
	case kind != action.Update && kind != action.Hold && kind != action.Release && !requeues(kind):
		return nil
	case slices.ContainsFunc(req.Change, func(c sbatch.Change) bool { return c.Option == "array-limit" }):
		return nil
	}
	return newArrayTasks(job, known, parts)
}

// permitWhole is permitTasks of what waits of an array and of its tasks whose records are still there. What would be many requests is one about the array.
func (s *Actions) permitWhole(ctx context.Context, c identity.Caller, kind action.Kind, a *arrayTasks, req *v1.ActRequest) ([]*request, *tasksError) {
	live := 0
	var there []int
	for index, p := range a.parts {
		switch {
		case !p.State.Ended():
			live++
		case p.End.Before(s.Now().Add(-s.Keep)): // slurmctld would have forgotten it
			continue
		}
		there = append(there, index)
	}
	jobs := federation.Tasks(there...)
	ask, fate := s.permitTasks(ctx, c, kind, a, a.waiting.Or(&jobs), req)
	if len(ask) <= asOne {
		return ask, fate
	}
	return a.together(ask, live), fate
}

// together makes one request of those about what waits of an array, and of its tasks that have not ended, of which there are live.
func (a *arrayTasks) together(ask []*request, live int) []*request {
	var ended []*request // each runs again as a job of its own
	var some []int
	one := &request{job: a.job}
	for _, r := range ask {
		switch {
		case r.job == a.job:
			one.tasks = r.tasks
		case r.job.State.Ended():
			ended = append(ended, r)
		default:
			some = append(some, r.job.Part.Index)
		}
	}
	jobs := federation.Tasks(some...)
	all := len(some) == live && one.tasks.Len() == a.waiting.Len()
	if one.tasks = one.tasks.Or(&jobs); one.tasks.Len() == 0 {
		return ended
	}
	if all {
		one.tasks, one.means = federation.TaskSet{}, one.tasks
	}
	return append(ended, one)
}

// WithParts adds the parts among jobs to the tasks that an array has itself, in order of their index.
func WithParts(own []federation.Task, jobs []federation.Job) []federation.Task {
	parts := map[int]bool{}
	var all []federation.Task
	for i := range jobs {
		if jobs[i].Part != nil {
			parts[jobs[i].Part.Index] = true
			all = append(all, jobs[i].Task())
		}
	}
	for _, t := range own {
		if !parts[t.Index] && t.State.Ended() {
			all = append(all, t)
		}
	}
	slices.SortFunc(all, func(a, b federation.Task) int { return a.Index - b.Index })
	return all
}
