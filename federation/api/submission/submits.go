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
	var parts []Part
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
	settled, no, err := s.Submits.Admit(ctx, parts)
	if err == nil && no != nil {
		err = &federation.SlurmError{Kind: federation.ErrDenied, Number: wire.ErrAccountingPolicy, Text: wire.Strerror(wire.ErrAccountingPolicy), Said: string(no.Reason), Detail: no.Text}
	}
	return settled, err
}
