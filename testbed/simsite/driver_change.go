package simsite

import (
	"context"
	"time"

	"fsub/federation"
	"fsub/sbatch"
	"fsub/slurm/wire"
)

// Abilities is asked by [federation.AbilitiesOf].
func (d *Driver) Abilities() federation.Abilities { return federation.Abilities{Requeue: d, Update: d} }

// Requeue implements [federation.Requeuer], as slurmrestd does from 26.05 on.
func (d *Driver) Requeue(ctx context.Context, ref federation.JobRef, tasks []int) error {
	return d.call(ctx, OpUpdate, func() error { return d.s.requeueNamed(d.caller(), targetText(ref.ID, tasks)) })
}

// requeueNamed requeues the records that a target names and that run or have ended.
func (s *Site) requeueNamed(c Caller, text string) error {
	t, err := s.parseTarget(text)
	if err != nil {
		return err
	}
	list := s.records(t)
	switch {
	case s.down:
		return errController
	case len(list) == 0:
		return errJobID
	case !s.mayTouch(c, list[0]):
		return errDenied
	}
	err = errTransition
	for _, j := range list {
		if j.state != federation.Pending && (t.tasks == nil || containsTask(t.tasks, j.task)) {
			s.requeue(j, RunRequeued)
			err = nil
		}
	}
	s.schedule()
	return err
}

func containsTask(tasks []int, task int) bool {
	for _, t := range tasks {
		if t == task {
			return true
		}
	}
	return false
}

// Update implements [federation.Updater] for what the simulation takes note of: limit, begin, nice, partition, comment.
func (d *Driver) Update(ctx context.Context, ref federation.JobRef, before, after *federation.Job) error {
	var desc wire.JobDesc
	was, is := before.Spec, after.Spec
	if is.TimeLimit != was.TimeLimit && is.TimeLimit != sbatch.Unlimited {
		desc.TimeLimit = wire.Num(int64(is.TimeLimit / time.Minute))
	}
	if !is.Begin.Equal(was.Begin) {
		desc.BeginTime = wire.Num(is.Begin.Unix())
	}
	if is.Nice != was.Nice {
		desc.Nice = &is.Nice
	}
	if after.Partition != before.Partition {
		desc.Partition = after.Partition
	}
	desc.Comment = is.Comment
	return d.call(ctx, OpUpdate, func() error { return d.s.update(d.caller(), uint32(ref.ID), &desc) })
}
