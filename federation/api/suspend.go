package api

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"fsub/federation"
	v1 "fsub/federation/api/v1"
)

// suspend is POST /fed/v1/jobs/suspend and resume: for operators, as in Slurm, and for jobs at sites that can do it. Each task of an array is a job of its own there, and gets a
// request of its own.
func (s *Server) suspend(ctx context.Context, c Caller, kind federation.RequestKind, refs []v1.JobRef) ([]error, error) {
	jobs, _, err := s.jobsOf(ctx, refs)
	if err != nil {
		return nil, err
	}
	units := make([][]unit, len(refs))
	var wg sync.WaitGroup
	room := make(chan struct{}, 64) // requests that are written side by side, to share commits
	for i, ref := range refs {
		units[i] = unitsOf(ref, jobs)
		for k := range units[i] {
			u := &units[i][k]
			if u.err == nil {
				u.err = s.permitSuspend(c, kind, u.job)
			}
			if u.err != nil {
				continue
			}
			r := federation.Request{Job: u.job.ID, Kind: kind, UID: c.UID, Operator: true, Restarts: u.job.Restarts, At: s.cfg.Now().UTC()}
			if u.job.Component != nil {
				r.Job = u.job.Component.Leader // with which all are suspended
			}
			room <- struct{}{}
			wg.Go(func() {
				defer func() { <-room }()
				u.seq, u.err = s.cfg.Store.AddRequest(ctx, r)
				u.err = ofStore(u.err, errTimedOut)
			})
		}
	}
	wg.Wait()
	var seqs []int64
	for _, u := range slices.Concat(units...) {
		seqs = append(seqs, u.seq)
	}
	s.settle(ctx, seqs)
	errs := make([]error, len(refs))
	for i := range units {
		errs[i] = s.outcome(units[i])
	}
	return errs, nil
}

// permitSuspend says in Slurm's words why c may not suspend or resume a job; nil if it may.
func (s *Server) permitSuspend(c Caller, kind federation.RequestKind, job *federation.Job) error {
	switch {
	case c.Role < RoleOperator:
		return errDenied
	case job.State.Ended() && job.End.Before(s.cfg.Now().Add(-s.cfg.MinJobAge)):
		return errInvalidJobID // slurmctld would have forgotten it
	case job.State.Ended(), job.State == federation.Completing, job.Cancel:
		return errAlreadyDone
	case job.State == federation.Pending, job.Whole != nil && job.Whole.Spread: // tasks of it that wait
		return errJobPending
	case !s.cfg.Suspends[job.Site]:
		return &federation.SlurmError{Kind: federation.ErrInvalid, Number: -1, Text: fmt.Sprintf(
			"Requested operation not supported on this system: %[1]s is a Slurm cluster, whose REST API can neither suspend nor resume; have an operator of %[1]s run scontrol %[2]s there",
			job.Site, kind)}
	case kind == federation.RequestResume && job.State != federation.Suspended:
		return errNotSuspended
	case job.State == federation.Configuring:
		return errTryLater
	}
	return nil
}

// unit is what a request about suspension is about: a job, or a task of an array.
type unit struct {
	job  *federation.Job
	task int // -1: it is none
	seq  int64
	err  error
}

// unitsOf spells out a reference. Tasks that wait have no job of their own.
func unitsOf(ref v1.JobRef, jobs map[federation.JobID]federation.Job) (list []unit) {
	job, ok := jobs[ref.ID]
	switch {
	case !ok:
		return []unit{{task: -1, err: errInvalidJobID}}
	case job.Whole == nil:
		return []unit{{task: -1, job: &job}}
	}
	parts := map[int]*federation.Job{}
	for _, p := range jobs {
		if p.Part != nil && p.Part.Array == ref.ID {
			parts[p.Part.Index] = &p
		}
	}
	waiting, _ := federation.ArrayIndices(job.Spec.Array) // checked when it was submitted
	waits := map[int]bool{}
	for _, i := range waiting {
		waits[i] = true
	}
	tasks := ref.Tasks
	if len(tasks) == 0 {
		for i := range parts {
			tasks = append(tasks, i)
		}
		tasks = append(tasks, waiting...)
		slices.Sort(tasks)
		tasks = slices.Compact(tasks)
	}
	for _, i := range tasks {
		u := unit{task: i, job: parts[i]}
		switch {
		case u.job != nil:
		case waits[i]:
			u.job = &job // as a whole: it waits, or is at a site that takes arrays whole
		default:
			u.err = errInvalidJobID
		}
		list = append(list, u)
	}
	return list
}

// outcome is what became of the units of a reference. Slurm lists the tasks of an array where any of them is refused.
func (s *Server) outcome(units []unit) error {
	ctl, _ := s.cfg.Controller.(interface{ Refusal(seq int64) error })
	var e tasksError
	failed := false
	for i := range units {
		u := &units[i]
		if u.err == nil && u.seq != 0 && ctl != nil {
			u.err = ctl.Refusal(u.seq)
		}
		if u.task < 0 {
			return u.err
		}
		failed = failed || u.err != nil
		e.add(u)
	}
	if !failed {
		return nil
	}
	return &e
}

// tasksError is a refusal for some tasks of an array.
type tasksError struct{ groups []taskGroup }

// taskGroup are tasks of one fate.
type taskGroup struct {
	tasks []int
	err   error
}

func (e *tasksError) add(u *unit) {
	text := func(err error) string {
		if err == nil {
			return ""
		}
		return wireError(err).Text
	}
	for i := range e.groups {
		if g := &e.groups[i]; text(g.err) == text(u.err) {
			g.tasks = append(g.tasks, u.task)
			return
		}
	}
	e.groups = append(e.groups, taskGroup{[]int{u.task}, u.err})
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

// resultsOf is a refusal task by task; nil where it is not one of some tasks of an array.
func resultsOf(err error) (list []v1.TaskResult) {
	var e *tasksError
	if !errors.As(err, &e) {
		return nil
	}
	for _, g := range e.groups {
		r := v1.TaskResult{Tasks: federation.FormatArray(g.tasks, 0)}
		if g.err != nil {
			w := wireError(g.err)
			r.Error = &w
		}
		list = append(list, r)
	}
	return list
}
