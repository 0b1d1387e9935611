package submission

import (
	"context"
	"fmt"
	"maps"
	"sync"

	"fsub/federation"
	"fsub/federation/action"
	"fsub/federation/api/answer"
	"fsub/federation/api/identity"
	v1 "fsub/federation/api/v1"
	"fsub/federation/share"
)

// suspend is POST /fed/v1/jobs/suspend and resume: for operators, as in Slurm, and for jobs at sites that can do it. Each task of an array is a job of its own there, and gets a
// request of its own.
func (s *Actions) suspend(ctx context.Context, c identity.Caller, kind action.Kind, refs []v1.JobRef) ([]error, error) {
	jobs, err := s.suspendable(ctx, refs)
	if err != nil {
		return nil, err
	}
	if c.Role < identity.RoleOperator { // before anything is spelled out
		return denied(refs, jobs), nil
	}
	units, err := unitsOf(refs, jobs)
	if err != nil {
		return nil, err
	}
	writes := map[federation.JobID]*written{} // what is named twice is asked for once
	var wg sync.WaitGroup
	alone := share.With(ctx, nil)   // the turn is this goroutine's
	room := make(chan struct{}, 64) // requests that are written side by side, to share commits
	for i := range units {
		for k := range units[i] {
			u := &units[i][k]
			if u.err == nil {
				u.err = s.permitSuspend(kind, u.job)
			}
			if u.err != nil {
				continue
			}
			r := requestFor(kind, c, u.job, jobs)
			if u.written = writes[r.Job]; u.written != nil {
				continue
			}
			w := &written{}
			u.written, writes[r.Job] = w, w
			r.At = s.Now().UTC()
			room <- struct{}{}
			wg.Go(func() {
				defer func() { <-room }()
				w.seq, w.err = s.Store.AddRequest(alone, r, Audited(answer.By(c), u.job, &r)...)
				w.err = storeError(w.err)
			})
		}
	}
	next := share.Idle(ctx)
	wg.Wait()
	next()
	var seqs []int64
	for _, w := range writes {
		seqs = append(seqs, w.seq)
	}
	s.settle(ctx, seqs)
	errs := make([]error, len(refs))
	for i := range units {
		errs[i] = s.outcome(units[i])
	}
	return errs, nil
}

// suspendable reads the jobs that refs name, with their parts, components and leaders.
func (s *Actions) suspendable(ctx context.Context, refs []v1.JobRef) (map[federation.JobID]federation.Job, error) {
	whole := make([]v1.JobRef, len(refs)) // the records of tasks are of no use here
	for i, ref := range refs {
		whole[i].ID = ref.ID
	}
	jobs, _, err := s.jobsOf(ctx, whole)
	if err != nil {
		return nil, err
	}
	var leaders []v1.JobRef
	for _, j := range jobs {
		if j.Component != nil {
			if _, ok := jobs[j.Component.Leader]; !ok {
				leaders = append(leaders, v1.JobRef{ID: j.Component.Leader})
			}
		}
	}
	more, _, err := s.jobsOf(ctx, leaders)
	maps.Copy(jobs, more)
	return jobs, err
}

// denied is what callers hear who may suspend nothing.
func denied(refs []v1.JobRef, jobs map[federation.JobID]federation.Job) []error {
	errs := make([]error, len(refs))
	for i, ref := range refs {
		errs[i] = answer.InvalidJobID
		if _, ok := jobs[ref.ID]; ok {
			errs[i] = answer.Denied
		}
	}
	return errs
}

// requestFor is what to ask of the controller. The components of a job are suspended with their leader, whose runs are what counts: a component is
// requeued under the numbers of its site.
func requestFor(kind action.Kind, c identity.Caller, job *federation.Job, jobs map[federation.JobID]federation.Job) action.Request {
	r := action.Request{Job: job.ID, Kind: kind, UID: c.UID, User: c.Name, Operator: true, Restarts: job.Restarts}
	if job.Component != nil {
		r.Job = job.Component.Leader
		if leader, ok := jobs[r.Job]; ok {
			r.Restarts = leader.Restarts
		}
	}
	return r
}

// permitSuspend says in Slurm's words why an operator may not suspend or resume a job; nil if they may.
func (s *Actions) permitSuspend(kind action.Kind, job *federation.Job) error {
	switch {
	case job.State.Ended() && job.End.Before(s.Now().Add(-s.Keep)):
		return answer.InvalidJobID // slurmctld would have forgotten it
	case job.State.Ended(), job.State == federation.Completing, job.Cancel:
		return answer.AlreadyDone
	case job.State == federation.Pending, job.Whole != nil && job.Whole.Spread: // tasks of it that wait
		return errJobPending
	case !s.Suspends[job.Site]:
		return &federation.SlurmError{Kind: federation.ErrInvalid, Number: -1, Text: fmt.Sprintf(
			"Requested operation not supported on this system: %[1]s is a Slurm cluster, whose REST API can neither suspend nor resume; have an operator of %[1]s run scontrol %[2]s there",
			job.Site, kind)}
	case kind == action.Resume && job.State != federation.Suspended:
		return answer.NotSuspended
	case job.State == federation.Configuring:
		return answer.TryLater
	}
	return nil
}
