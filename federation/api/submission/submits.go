package submission

import (
	"context"

	"fsub/federation"
	"fsub/federation/quota"
	"fsub/sbatch"
	"fsub/slurm/wire"
)

// Admission keeps submissions within the limits of the account tree, such as MaxSubmitJobs.
type Admission interface {
	// Admit counts a job that is about to be stored, all its components or none, or says which limit they would pass. Whoever is let in calls settled with
	// the job's ID once it is stored, or with 0 if it is not. However many ask at once, no limit is passed, and nobody is refused for a job that is not stored in the end.
	Admit(ctx context.Context, parts []Part) (settled func(federation.JobID), no *quota.Refusal, err error)
	// Change says which limit a job that waits would pass if it counted as to and no more as from; nil: none. It counts nothing: the change itself does, when it is made.
	Change(ctx context.Context, from, to []Part) (no *quota.Refusal, err error)
}

// Part is a component of a job: on whose behalf it is submitted, and how many tasks it has.
type Part struct {
	quota.Submitter
	Tasks int64
}

// SubmitterOf is on whose behalf a user's job counts.
func SubmitterOf(user string, sp *sbatch.Spec) quota.Submitter {
	return quota.Submitter{User: user, Account: sp.Account, QOS: sp.QOS}
}

// admit asks whether a job may be submitted.
func (s *Gate) admit(ctx context.Context, job *federation.Job) (settled func(federation.JobID), err error) {
	if s.Submits == nil {
		return func(federation.JobID) {}, nil
	}
	parts, err := componentsOf(job)
	if err != nil {
		return nil, err
	}
	settled, no, err := s.Submits.Admit(ctx, parts)
	return settled, refused(no, err)
}

// AllowChange says why a job that waits must not become what after is, because of how many jobs may count on behalf of that account or QOS.
func (s *Gate) AllowChange(ctx context.Context, before, after *federation.Job) error {
	if s.Submits == nil || before.Spec.Account == after.Spec.Account && before.Spec.QOS == after.Spec.QOS {
		return nil
	}
	from, err := componentsOf(before)
	if err != nil {
		return err
	}
	to, err := componentsOf(after)
	if err != nil {
		return err
	}
	return refused(s.Submits.Change(ctx, from, to))
}

func refused(no *quota.Refusal, err error) error {
	if err == nil && no != nil {
		err = &federation.SlurmError{Kind: federation.ErrDenied, Number: wire.ErrAccountingPolicy, Text: wire.Strerror(wire.ErrAccountingPolicy), Said: string(no.Reason), Detail: no.Text}
	}
	return err
}

// partsOf are the components of a job, and how many tasks of an array wait.
func componentsOf(job *federation.Job) (parts []Part, err error) {
	for sp := range components(job.Spec) {
		p := Part{SubmitterOf(job.User, sp), 1}
		if sp.Array != "" {
			a, err := federation.ReadArray(sp.Array)
			if err != nil {
				return nil, err
			}
			set := a.Set()
			p.Tasks = int64(set.Len())
		}
		parts = append(parts, p)
	}
	return parts, nil
}
