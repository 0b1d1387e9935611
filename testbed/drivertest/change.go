package drivertest

import (
	"errors"
	"time"

	"fsub/federation"
	"fsub/federation/driver"
	"fsub/sbatch"
)

// update asks for a change of a job that was submitted as sub. A driver that cannot is one that has changed nothing.
func (s *suite) update(sub federation.Submission, change func(*federation.Job)) (err error, can bool) {
	s.Helper()
	u := driver.AbilitiesOf(s.Driver).Update
	if u == nil {
		return nil, false
	}
	before, after := *sub.Job, *sub.Job
	before.Partition, after.Partition = sub.Partition, sub.Partition
	after.EditSpec(func(*sbatch.Spec) {}) // a copy of its own
	change(&after)
	err = u.Update(s.ctx, s.ref(sub.Job.ID), sub.User.Name, &before, &after)
	return err, !errors.Is(err, federation.ErrInvalid)
}

func testUpdate(s *suite) {
	sub := s.job("exit 0", hold)
	id := s.submit(sub)
	err, can := s.update(sub, func(j *federation.Job) { j.Spec.TimeLimit, j.Spec.Comment = 7*time.Minute, "changed" })
	want := sub.Job.Spec.TimeLimit
	if can {
		want = 7 * time.Minute
	}
	if can && err != nil {
		s.Fatalf("Update: %v", err)
	}
	if j := s.lookup(id); j.State != federation.Pending || j.Limit != want || j.Key != sub.Key && j.Key != "" {
		s.Errorf("after Update (driver can: %v): %s, limit %v, key %q; want %v under the same key", can, j.State, j.Limit, j.Key, want)
	}
}

func testUpdateRunning(s *suite) {
	sub := s.job("sleep 300", nil)
	id := s.submit(sub)
	s.untilState(id, federation.Running)
	err, can := s.update(sub, func(j *federation.Job) { j.Spec.Begin = s.Now().Add(time.Hour).UTC() })
	if can {
		s.wants("Update of the begin of a running job", err, federation.ErrConflict)
	}
	if j := s.lookup(id); j.State != federation.Running {
		s.Errorf("the update made it %s", j.State)
	}
}

func testUpdateUnknown(s *suite) {
	sub := s.job("exit 0", nil)
	if err, can := s.update(sub, func(j *federation.Job) { j.Spec.Comment = "x" }); can {
		s.wants("Update of an unknown job", err, federation.ErrNotFound)
	}
}

// testRequeue: a job that is requeued waits again under its ID and key, and is one restart on. Where the site cannot it runs on. A site that has room and makes it wait
// no longer than that may run it again already.
func testRequeue(s *suite) {
	q := driver.AbilitiesOf(s.Driver).Requeue
	if q == nil {
		s.Skip("SKIPPED: the driver has no Requeue")
	}
	id := s.run("sleep 300")
	key := s.untilState(id, federation.Running).Key
	err := q.Requeue(s.ctx, s.ref(id), nil)
	if errors.Is(err, federation.ErrInvalid) {
		if j := s.lookup(id); j.State != federation.Running || j.Restarts != 0 {
			s.Errorf("refused, and %s with %d restarts", j.State, j.Restarts)
		}
		return
	}
	if err != nil {
		s.Fatalf("Requeue: %v", err)
	}
	j := s.until(id, "one restart on", func(j federation.SiteJob) bool { return j.Restarts == 1 && !j.State.Ended() })
	if waits := j.State == federation.Pending; j.Key != key || waits != j.Start.IsZero() {
		s.Errorf("requeued: %s under key %q, start %v; want key %q, and a start only if it runs", j.State, j.Key, j.Start, key)
	}
	if j.State == federation.Pending {
		err := q.Requeue(s.ctx, s.ref(id), nil)
		if began := err == nil && s.lookup(id).Restarts == 2; !began { // it had begun meanwhile
			s.wants("Requeue of a job that waits", err, federation.ErrConflict)
		}
	}
	s.wants("Requeue of an unknown job", q.Requeue(s.ctx, federation.JobRef{ID: s.NextID()}, nil), federation.ErrNotFound)
}

// testSuspend: a suspended job keeps its start and its nodes, goes on when it is resumed, and can be cancelled. What is asked twice is no error.
func testSuspend(s *suite) {
	p := driver.AbilitiesOf(s.Driver).Suspend
	if p == nil {
		s.Skip("SKIPPED: the driver has no Suspend")
	}
	must := func(what string, err error) {
		s.Helper()
		if err != nil {
			s.Fatalf("%s: %v", what, err)
		}
	}
	id := s.run("sleep 300")
	ref := s.ref(id)
	ran := s.untilState(id, federation.Running)
	must("Suspend", p.Suspend(s.ctx, ref))
	j := s.untilState(id, federation.Suspended)
	if !j.Start.Equal(ran.Start) || j.Nodes != ran.Nodes || j.Suspension.At.IsZero() {
		s.Errorf("suspended: %+v; it ran as %+v", j, ran)
	}
	must("Suspend again", p.Suspend(s.ctx, ref))
	must("Resume", p.Resume(s.ctx, ref))
	if j := s.untilState(id, federation.Running); !j.Start.Equal(ran.Start) || j.Restarts != ran.Restarts {
		s.Errorf("resumed: %+v; it ran as %+v", j, ran)
	}
	must("Resume again", p.Resume(s.ctx, ref))
	must("Suspend once more", p.Suspend(s.ctx, ref))
	must("Cancel", s.Driver.Cancel(s.ctx, ref, nil))
	s.untilState(id, federation.Cancelled)
	s.wants("Suspend of a job that has ended", p.Suspend(s.ctx, ref), federation.ErrConflict)
	waits := s.submit(s.job("exit 0", hold))
	s.wants("Suspend of a job that waits", p.Suspend(s.ctx, s.ref(waits)), federation.ErrConflict)
	s.wants("Resume of a job that waits", p.Resume(s.ctx, s.ref(waits)), federation.ErrConflict)
	s.wants("Suspend of an unknown job", p.Suspend(s.ctx, federation.JobRef{ID: s.NextID()}), federation.ErrNotFound)
}
