package action

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"fsub/federation"
	"fsub/federation/api/identity"
	"fsub/federation/api/refusal"
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
func (s *Actions) Permit(ctx context.Context, c identity.Caller, kind federation.RequestKind, job *federation.Job, change []sbatch.Change) error {
	if !mayAct(c, job) {
		account := cmp.Or(job.TreeAccount, "its account")
		return &federation.SlurmError{Kind: federation.ErrDenied, Alone: true, Text: fmt.Sprintf("it is %s's: only %[1]s, coordinators of %s and operators may %s it", job.User, account, kind)}
	}
	if kind == federation.RequestMove {
		return permit(c, federation.RequestCancel, job)
	}
	return s.permitAct(ctx, c, kind, job, &v1.ActRequest{Change: change})
}

// permit says in Slurm's words why c may not do kind to job; nil if it may.
func permit(c identity.Caller, kind federation.RequestKind, job *federation.Job) error {
	if !mayAct(c, job) {
		if kind == federation.RequestHold || kind == federation.RequestRelease {
			return refusal.NotYourJob
		}
		return refusal.Denied
	}
	// An operator may cancel once more: that ends a job whose site has left the federation.
	again := kind == federation.RequestSignal || kind == federation.RequestCancel && c.Role >= identity.RoleOperator
	if job.State.Ended() || job.Cancel && !again {
		if kind == federation.RequestHold || kind == federation.RequestRelease {
			return refusal.JobFinished
		}
		return refusal.AlreadyDone
	}
	switch kind {
	case federation.RequestSignal:
		if job.State == federation.Pending || job.State == federation.Suspended {
			return refusal.TryLater
		}
	case federation.RequestRelease: // of what runs there is nothing to release, and as in Slurm that is no error; nor is a hold
		if job.Held == federation.HeldAdmin && c.Role < identity.RoleOperator {
			return refusal.Denied
		}
	}
	return nil
}

// arrayTasks are the tasks of one array.
type arrayTasks struct {
	job   *federation.Job
	parts map[int]*federation.Job // those that are jobs
	array federation.Array        // what still waits
	ended map[int]bool            // by index, of those that have a record: also of one that was taken out of the array when it ended
}

// newArrayTasks reads the tasks of job, of which known have a record and parts are jobs. A job that is no array has none.
func newArrayTasks(job *federation.Job, known []federation.Task, parts map[int]*federation.Job) *arrayTasks {
	a := &arrayTasks{job: job, parts: parts, ended: make(map[int]bool, len(known))}
	if job.Spec.Array != "" {
		a.array, _ = federation.ReadArray(job.Spec.Array) // checked when it was submitted
	}
	for _, t := range known {
		a.ended[t.Index] = t.State.Ended()
	}
	return a
}

// spelledOut bounds the tasks that an answer names beside those that were asked for: Slurm's own MaxArraySize is as large.
const spelledOut = 1001

// permitTasks asks for each task whether kind may be done to it. What is to be asked of the controller speaks of tasks that are jobs by their own
// numbers, as its answer waits for these; the rest is refused.
func (s *Actions) permitTasks(ctx context.Context, c identity.Caller, kind federation.RequestKind, a *arrayTasks, tasks []int, req *v1.ActRequest) (ask []*request, refused *tasksError) {
	waiting, gone := *a.job, *a.job // what all tasks are like that wait, or have ended without having been a job
	waiting.State = federation.Pending
	gone.State, gone.End, gone.Part = federation.Cancelled, s.Now(), &federation.ArrayPart{}
	permitWaiting := sync.OnceValue(func() error { return s.permitAct(ctx, c, kind, &waiting, req) })
	refused = &tasksError{}
	rest := &request{job: a.job}
	var still error // why nothing can be done to those that wait
	for _, t := range tasks {
		var err error
		_, known := a.ended[t]
		switch {
		case a.parts[t] != nil:
			err = s.permitAct(ctx, c, kind, a.parts[t], req)
		case a.array.Has(t):
			err = permitWaiting()
			still = err
		case known:
			err = s.permitAct(ctx, c, kind, &gone, req)
		default:
			err = refusal.InvalidJobID
		}
		switch {
		case err != nil:
			refused.add(t, err)
		case a.parts[t] != nil:
			ask = append(ask, &request{job: a.parts[t]})
		default:
			rest.tasks = append(rest.tasks, t)
		}
	}
	if len(rest.tasks) > 0 {
		ask = append(ask, rest)
	}
	if still != nil && requeues(kind) && a.array.Len() <= spelledOut { // Slurm refuses their record, and names all that it stands for
		for _, t := range a.array.Indices() {
			if !slices.Contains(tasks, t) {
				refused.add(t, still)
			}
		}
	}
	return ask, refused
}

// permit refuses tasks that the array does not have, and a list of tasks that have all ended.
func (a *arrayTasks) permit(tasks []int) error {
	live := false
	for _, t := range tasks {
		ended, known := a.ended[t]
		if !known && !a.array.Has(t) {
			return refusal.InvalidJobID
		}
		live = live || !ended
	}
	if !live {
		return refusal.AlreadyDone
	}
	return nil
}
