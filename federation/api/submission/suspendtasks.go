package submission

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"fsub/federation"
	"fsub/federation/api/answer"
	v1 "fsub/federation/api/v1"
	"fsub/slurm/hostlist"
)

// unit is what a request about suspension is about: a job, or a task of an array.
type unit struct {
	job     *federation.Job
	task    int      // -1: it is none
	written *written // nil: refused
	err     error
}

// written is a request as the store has taken it, or why it has not.
type written struct {
	seq int64
	err error
}

// unitsOf spells out references. It fails if that makes more tasks than one request may name.
func unitsOf(refs []v1.JobRef, jobs map[federation.JobID]federation.Job) ([][]unit, error) {
	parts := partsOf(jobs)
	var total TaskCount
	var array *spelled // of the job before: the same array is spelled out once
	units := make([][]unit, len(refs))
	for _, i := range inOrderOfJob(refs) {
		ref := refs[i]
		job, ok := jobs[ref.ID]
		switch {
		case !ok:
			units[i] = []unit{{task: -1, err: answer.InvalidJobID}}
			continue
		case job.Whole == nil:
			units[i] = []unit{{task: -1, job: &job}}
			continue
		case array == nil || array.job.ID != ref.ID:
			array = spell(&job, parts[ref.ID])
		}
		tasks := ref.Tasks
		if tasks.Len() == 0 {
			tasks = array.all
		}
		if err := total.Add(tasks.Len()); err != nil {
			return nil, err
		}
		units[i] = array.units(&tasks)
	}
	return units, nil
}

// partsOf are those of jobs that are tasks, by array and index.
func partsOf(jobs map[federation.JobID]federation.Job) map[federation.JobID]map[int]*federation.Job {
	parts := map[federation.JobID]map[int]*federation.Job{}
	for _, p := range jobs {
		if p.Part == nil {
			continue
		}
		if parts[p.Part.Array] == nil {
			parts[p.Part.Array] = map[int]*federation.Job{}
		}
		parts[p.Part.Array][p.Part.Index] = &p
	}
	return parts
}

// spelled is an array with all of its tasks, and those of them that wait. These have no job of their own.
type spelled struct {
	job          *federation.Job
	parts        map[int]*federation.Job
	all, waiting federation.TaskSet
}

func spell(job *federation.Job, parts map[int]*federation.Job) *spelled {
	a := &spelled{job: job, parts: parts}
	if array, err := federation.ReadArray(job.Spec.Array); err == nil { // checked when it was submitted
		a.waiting = array.Set()
	}
	of := federation.Tasks(slices.Collect(maps.Keys(parts))...)
	a.all = a.waiting.Or(&of)
	return a
}

func (a *spelled) units(tasks *federation.TaskSet) []unit {
	list := make([]unit, 0, tasks.Len())
	for i := range tasks.All() {
		u := unit{task: i, job: a.parts[i]}
		if u.job == nil {
			if a.waiting.Has(i) {
				u.job = a.job // as a whole: it waits, or is at a site that takes arrays whole
			} else {
				u.err = answer.InvalidJobID
			}
		}
		list = append(list, u)
	}
	return list
}

// outcome is what became of the units of a reference. Slurm lists the tasks of an array where any of them is refused.
func (s *Actions) outcome(units []unit) error {
	ctl, _ := s.Controller.(interface{ Refusal(seq int64) error })
	var e tasksError
	for i := range units {
		u := &units[i]
		if u.written != nil {
			u.err = u.written.err
		}
		if u.err == nil && u.written != nil && ctl != nil {
			u.err = ctl.Refusal(u.written.seq)
		}
		if u.task < 0 {
			return u.err
		}
		e.add(federation.Tasks(u.task), u.err)
	}
	return e.orNil()
}

// tasksError is a refusal for some tasks of an array.
type tasksError struct{ groups []taskGroup }

// taskGroup are tasks of one fate.
type taskGroup struct {
	sets  []federation.TaskSet
	tasks []int // all of them, in order, once they are told
	err   error
}

// add notes what became of tasks; nil is that it was done.
func (e *tasksError) add(tasks federation.TaskSet, err error) {
	if tasks.Len() == 0 {
		return
	}
	text := func(err error) string {
		if err == nil {
			return ""
		}
		return answer.OnWire(err).Text
	}
	for i := range e.groups {
		if g := &e.groups[i]; errors.Is(err, g.err) || text(g.err) == text(err) {
			g.sets = append(g.sets, tasks)
			return
		}
	}
	e.groups = append(e.groups, taskGroup{sets: []federation.TaskSet{tasks}, err: err})
}

// orNil is e with its tasks in order; nil if no task is refused.
func (e *tasksError) orNil() error {
	failed := false
	for i := range e.groups {
		failed = failed || e.groups[i].err != nil
	}
	if !failed {
		return nil
	}
	for i := range e.groups {
		g := &e.groups[i]
		for k := range g.sets {
			g.tasks = slices.AppendSeq(g.tasks, g.sets[k].All())
		}
		slices.Sort(g.tasks)
	}
	slices.SortFunc(e.groups, func(a, b taskGroup) int { return a.tasks[0] - b.tasks[0] })
	return e
}

func (e *tasksError) Error() string {
	var out []string
	for _, g := range e.groups {
		if g.err != nil {
			out = append(out, "tasks "+federation.FormatArray(g.tasks, 0)+": "+g.err.Error())
		}
	}
	return strings.Join(out, "; ")
}

func (e *tasksError) Unwrap() error {
	for _, g := range e.groups {
		if g.err != nil {
			return g.err
		}
	}
	return nil
}

// ResultsOf is a refusal task by task; nil where it is not one of some tasks of an array.
func ResultsOf(err error) (list []v1.TaskResult) {
	var e *tasksError
	if !errors.As(err, &e) {
		return nil
	}
	for _, g := range e.groups {
		r := v1.TaskResult{Tasks: hostlist.Ranges(g.tasks)} // without steps, as Slurm writes them here
		if g.err != nil {
			w := answer.OnWire(g.err)
			r.Error = &w
		}
		list = append(list, r)
	}
	return list
}
