package action

import (
	"fsub/federation"
	"fsub/federation/api/identity"
	"fsub/federation/api/refusal"
)

// permit says in Slurm's words why c may not do kind to job; nil if it may.
func permit(c identity.Caller, kind federation.RequestKind, job *federation.Job) error {
	if !c.Owns(job.UID) {
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
	job   federation.JobID
	array federation.Array // of a spread array it is what still waits
	ended map[int]bool     // by index, of those that have a record: also of one that was taken out of the array when it ended
}

// newArrayTasks reads the tasks of job, of which known have a record. A job that is no array has none.
func newArrayTasks(job *federation.Job, known []federation.Task) *arrayTasks {
	a := &arrayTasks{job: job.ID, ended: make(map[int]bool, len(known))}
	if job.Spec.Array != "" {
		a.array, _ = federation.ReadArray(job.Spec.Array) // checked when it was submitted
	}
	for _, t := range known {
		a.ended[t.Index] = t.State.Ended()
	}
	return a
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
