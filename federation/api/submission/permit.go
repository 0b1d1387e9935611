package submission

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"fsub/federation"
	"fsub/federation/action"
	"fsub/federation/api/answer"
	"fsub/federation/api/identity"
	v1 "fsub/federation/api/v1"
	"fsub/sbatch"
)

// mayAct reports whether c may act on job: as its user, as a coordinator of the account that it was submitted under, or as an operator.
func mayAct(c identity.Caller, job *federation.Job) bool {
	return c.MayActFor(job.UID, job.TreeAccount) && c.Reaches(uint32(job.ID), uint32(job.Group()))
}

// AccountOf is the account that a job runs under, or asks for; "": its user's default one.
func AccountOf(job *federation.Job) string { return cmp.Or(job.Account, job.Spec.Account) }

// Permit says why c may not do kind to job, nil if he may. What is refused for whose job it is names that; the rest is in Slurm's words.
func (s *Actions) Permit(ctx context.Context, c identity.Caller, kind action.Kind, job *federation.Job, change []sbatch.Change) error {
	if !mayAct(c, job) {
		account := cmp.Or(job.TreeAccount, "its account")
		return &federation.SlurmError{Kind: federation.ErrDenied, Alone: true, Text: fmt.Sprintf("it is %s's: only %[1]s, coordinators of %s and operators may %s it", job.User, account, kind)}
	}
	if kind == action.Move {
		return permit(c, action.Cancel, job)
	}
	return s.permitAct(ctx, c, kind, job, &v1.ActRequest{Change: change})
}

// permit says in Slurm's words why c may not do kind to job; nil if it may.
func permit(c identity.Caller, kind action.Kind, job *federation.Job) error {
	if !mayAct(c, job) {
		if kind == action.Hold || kind == action.Release {
			return answer.NotYourJob
		}
		return answer.Denied
	}
	// An operator may cancel once more: that ends a job whose site has left the federation.
	again := kind == action.Signal || kind == action.Cancel && c.Role >= identity.RoleOperator
	if job.State.Ended() || job.Cancel && !again {
		if kind == action.Hold || kind == action.Release {
			return answer.JobFinished
		}
		return answer.AlreadyDone
	}
	switch kind {
	case action.Signal:
		if job.State == federation.Pending || job.State == federation.Suspended {
			return answer.TryLater
		}
	case action.Release: // of what runs there is nothing to release, and as in Slurm that is no error; nor is a hold
		if job.Held == federation.HeldAdmin && c.Role < identity.RoleOperator {
			return answer.Denied
		}
	}
	return nil
}

// ofLiveTasks is a job as far as what lives of it goes: that an array's waiting tasks were cancelled says nothing of those that run.
func ofLiveTasks(job *federation.Job, parts map[int]*federation.Job) *federation.Job {
	if !job.Cancel || job.State.Ended() || job.Whole == nil || !job.Whole.Spread {
		return job
	}
	for _, p := range parts {
		if !p.State.Ended() && !p.Cancel {
			live := *job
			live.Cancel = false
			return &live
		}
	}
	return job
}

// arrayTasks are the tasks of one array.
type arrayTasks struct {
	job           *federation.Job
	parts         map[int]*federation.Job // those that are jobs
	waiting, gone federation.TaskSet      // what still waits, or was cancelled while it did
	ended         map[int]bool            // by index, of those that have a record: also of one that was taken out of the array when it ended
}

// newArrayTasks reads the tasks of job, of which known have a record and parts are jobs. A job that is no array has none.
func newArrayTasks(job *federation.Job, known []federation.Task, parts map[int]*federation.Job) *arrayTasks {
	a := &arrayTasks{job: job, parts: parts, waiting: job.Waiting(), ended: make(map[int]bool, len(known))}
	a.gone = job.CancelledSet()
	if a.waiting.Len() == 0 && job.Spec.Array != "" {
		array, _ := federation.ReadArray(job.Spec.Array) // checked when it was submitted
		left := array.Set()
		a.gone = a.gone.Or(&left)
	}
	var over []int
	for _, t := range known {
		a.ended[t.Index] = t.State.Ended()
		if t.State.Ended() && a.waiting.Has(t.Index) { // an earlier version has left it in the array
			over = append(over, t.Index)
		}
	}
	if len(over) > 0 {
		ended := federation.Tasks(over...)
		a.waiting = a.waiting.Minus(&ended)
	}
	return a
}

// countTasks refuses references that name too many tasks. All that wait of an array are one, and for a cancel any of those that wait, or were cancelled so
// before: nothing is done to each of them.
func countTasks(kind action.Kind, refs []v1.JobRef, jobs map[federation.JobID]federation.Job) error {
	var total TaskCount
	counted := map[federation.JobID]bool{}
	for _, ref := range refs {
		n := ref.Tasks.Len()
		if job, ok := jobs[ref.ID]; ok && n > 1 && !counted[ref.ID] {
			counted[ref.ID] = true
			one := job.Waiting()
			if kind == action.Cancel {
				gone := job.CancelledSet()
				one = one.Or(&gone)
				one = one.Both(&ref.Tasks)
			}
			if one.Len() > 0 && ref.Tasks.Covers(&one) {
				n -= one.Len() - 1
			}
		}
		if err := total.Add(n); err != nil {
			return err
		}
	}
	return nil
}

// spelledOut bounds the tasks that an answer names beside those that were asked for: Slurm's own MaxArraySize is as large.
const spelledOut = 1001

// permitTasks asks for each task whether kind may be done to it. What is to be asked of the controller speaks of tasks that are jobs by their own
// numbers, as its answer waits for these; the rest is refused.
func (s *Actions) permitTasks(ctx context.Context, c identity.Caller, kind action.Kind, a *arrayTasks, tasks federation.TaskSet, req *v1.ActRequest) (ask []*request, refused *tasksError) {
	waiting, gone := *a.job, *a.job // what all tasks are like that wait, or have ended without having been a job
	waiting.State, waiting.Cancel = federation.Pending, false
	gone.State, gone.End, gone.Part = federation.Cancelled, s.Now(), &federation.ArrayPart{}
	refused = &tasksError{}
	var still error // why nothing can be done to those that wait
	rest := &request{job: a.job, tasks: a.waiting.Both(&tasks)}
	if rest.tasks.Len() > 0 {
		if still = s.permitAct(ctx, c, kind, &waiting, req); still != nil {
			refused.add(rest.tasks, still)
		} else {
			ask = append(ask, rest)
		}
	}
	if cancelled := a.gone.Both(&tasks); cancelled.Len() > 0 {
		refused.add(cancelled, cmp.Or(s.permitAct(ctx, c, kind, &gone, req), error(answer.InvalidJobID)))
	}
	others := tasks.Minus(&a.gone)
	for t := range others.Without(&a.waiting) {
		p, err := a.parts[t], error(answer.InvalidJobID)
		if _, known := a.ended[t]; p != nil {
			err = s.permitAct(ctx, c, kind, p, req)
		} else if known {
			err = cmp.Or(s.permitAct(ctx, c, kind, &gone, req), err)
		}
		if err != nil {
			refused.add(federation.Tasks(t), err)
		} else {
			ask = append(ask, &request{job: p})
		}
	}
	if still != nil && requeues(kind) && a.waiting.Len() <= spelledOut { // Slurm refuses their record, and names all that it stands for
		refused.add(federation.Tasks(slices.Collect(a.waiting.Without(&tasks))...), still)
	}
	return ask, refused
}

// permit refuses tasks that the array does not have, and a list of tasks that have all ended.
func (a *arrayTasks) permit(tasks *federation.TaskSet) error {
	some := a.waiting.Both(tasks)
	live := some.Len() > 0
	others := tasks.Minus(&a.gone)
	for t := range others.Without(&a.waiting) {
		ended, known := a.ended[t]
		if !known {
			return answer.InvalidJobID
		}
		live = live || known && !ended
	}
	if !live {
		return answer.AlreadyDone
	}
	return nil
}
