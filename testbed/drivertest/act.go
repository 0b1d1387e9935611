package drivertest

import (
	"fmt"
	"time"

	"fsub/federation"
)

func testCancelPending(s *suite) {
	id := s.submit(s.job("exit 0", hold))
	s.cancel(id, nil)
	j := s.untilState(id, federation.Cancelled)
	if !j.Start.IsZero() || j.End.IsZero() {
		s.Errorf("cancelled before it started: start %v, end %v", j.Start, j.End)
	}
}

func testCancelRunning(s *suite) {
	id := s.run("sleep 300")
	s.untilState(id, federation.Running)
	s.cancel(id, nil)
	j := s.untilState(id, federation.Cancelled)
	if j.Start.IsZero() || j.End.IsZero() {
		s.Errorf("cancelled while it ran: start %v, end %v", j.Start, j.End)
	}
}

func testCancelTask(s *suite) {
	id := s.submit(s.job("sleep 300", func(sub *federation.Submission) { sub.Job.Spec.Array = "0-3%1" }))
	s.until(id, "task 0 runs", func(j federation.SiteJob) bool { return task(j, 0).State == federation.Running })
	s.cancel(id, []int{0, 2})
	j := s.until(id, "task 0 cancelled, 2 gone from the pending ones, another runs", func(j federation.SiteJob) bool {
		return task(j, 0).State == federation.Cancelled && (j.PendingTasks == "3" || task(j, 3).State == federation.Running)
	})
	if j.State != federation.Running {
		s.Errorf("the array is %s, with a task that runs: %+v", j.State, j)
	}
	s.cancel(id, nil)
	s.untilState(id, federation.Cancelled)
}

func testCancelEnded(s *suite) {
	id := s.run("exit 0")
	s.untilState(id, federation.Completed)
	s.cancel(id, nil)
	if j := s.lookup(id); j.State != federation.Completed {
		s.Errorf("a job that had ended became %s", j.State)
	}
}

func testCancelUnknown(s *suite) { s.cancel(s.NextID(), nil) }

func (s *suite) cancel(id federation.JobID, tasks []int) {
	s.Helper()
	if err := s.Driver.Cancel(s.ctx, s.ref(id), tasks); err != nil {
		s.Fatalf("Cancel(%d, %v): %v", id, tasks, err)
	}
}

func testSignalBatch(s *suite) {
	id := s.run("trap 'exit 7' USR1\necho ready\nwhile :; do sleep 1; done")
	s.untilState(id, federation.Running)
	if s.ReadFile != nil { // else there is no trap that must be set before
		s.file(fmt.Sprintf("slurm-%d.out", id))
	}
	if err := s.Driver.Signal(s.ctx, s.ref(id), nil, federation.Signal{Name: "USR1", Batch: true}); err != nil {
		s.Fatalf("Signal: %v", err)
	}
	j := s.until(id, "ended", func(j federation.SiteJob) bool { return j.State.Ended() })
	if j.State != federation.Failed || j.ExitStatus != 7<<8 {
		s.Errorf("%s with status %#x, want FAILED with exit code 7 from the trap", j.State, j.ExitStatus)
	}
}

func testSignalPending(s *suite) {
	id := s.submit(s.job("exit 0", hold))
	err := s.Driver.Signal(s.ctx, s.ref(id), nil, federation.Signal{Name: "USR1"})
	s.wants("Signal of a pending job", err, federation.ErrConflict)
	if j := s.lookup(id); j.State != federation.Pending {
		s.Errorf("the signal made it %s", j.State)
	}
}

func testSignalUnknown(s *suite) {
	err := s.Driver.Signal(s.ctx, federation.JobRef{ID: s.NextID()}, nil, federation.Signal{Name: "USR1"})
	s.wants("Signal of an unknown job", err, federation.ErrNotFound)
}

func testHoldRelease(s *suite) {
	begin := s.Now().Add(20 * time.Second) // time enough to hold it
	id := s.submit(s.job("exit 0", func(sub *federation.Submission) { sub.Job.Spec.Begin = begin.UTC() }))
	if err := s.Driver.Hold(s.ctx, s.ref(id)); err != nil {
		s.Fatalf("Hold: %v", err)
	}
	s.Wait(begin.Add(4 * time.Second).Sub(s.Now()))
	if j := s.lookup(id); j.State != federation.Pending {
		s.Fatalf("held, and became %s", j.State)
	}
	if err := s.Driver.Release(s.ctx, s.ref(id)); err != nil {
		s.Fatalf("Release: %v", err)
	}
	s.untilState(id, federation.Completed)

	// A second release is not an error. This job cannot start between the two.
	later := s.submit(s.job("exit 0", func(sub *federation.Submission) {
		hold(sub)
		sub.Job.Spec.Begin = s.Now().Add(time.Hour).UTC()
	}))
	for range 2 {
		if err := s.Driver.Release(s.ctx, s.ref(later)); err != nil {
			s.Errorf("Release of a job that waits for its time: %v", err)
		}
	}
	if j := s.lookup(later); j.State != federation.Pending {
		s.Errorf("released an hour before its time, and became %s", j.State)
	}
	if err := s.Driver.Cancel(s.ctx, s.ref(later), nil); err != nil {
		s.Error(err)
	}
}

func testHoldRunning(s *suite) {
	id := s.run("sleep 300")
	s.untilState(id, federation.Running)
	s.wants("Hold of a running job", s.Driver.Hold(s.ctx, s.ref(id)), federation.ErrConflict)
	s.wants("Release of a running job", s.Driver.Release(s.ctx, s.ref(id)), federation.ErrConflict)
}

func testHoldUnknown(s *suite) {
	s.wants("Hold", s.Driver.Hold(s.ctx, federation.JobRef{ID: s.NextID()}), federation.ErrNotFound)
	s.wants("Release", s.Driver.Release(s.ctx, federation.JobRef{ID: s.NextID()}), federation.ErrNotFound)
}
