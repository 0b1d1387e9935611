package drivertest

import (
	"context"
	"time"

	"fsub/federation"
)

func testLookupUnknown(s *suite) {
	s.absent(s.NextID())
}

func testLookupHeld(s *suite) {
	sub := s.job("exit 0", hold)
	id := s.submit(sub)
	if j := s.lookup(id); j.FromAccounting || j.Key != sub.Key || j.State != federation.Pending || j.Submit.IsZero() {
		s.Errorf("%+v", j)
	}
}

// forgotten waits until the controller no longer holds the job.
func (s *suite) forgotten(id federation.JobID) {
	s.Helper()
	if s.ForgetsAfter == 0 {
		s.Skip("SKIPPED: the site forgets ended jobs too late for a test")
	}
	s.eventually("the controller forgets the job", s.ForgetsAfter+s.Patience, func() string {
		if s.report(nil).Known[id] {
			s.Wait(time.Second)
			return "it is still known"
		}
		return ""
	})
}

func testAccounting(s *suite) {
	sub := s.job("exit 3", nil)
	id := s.submit(sub)
	s.until(id, "ended", func(j federation.SiteJob) bool { return j.State.Ended() })
	s.forgotten(id)
	j := s.lookup(id)
	if !j.FromAccounting || j.Key != sub.Key || j.State != federation.Failed || j.ExitStatus == 0 || j.Start.IsZero() || j.End.IsZero() {
		s.Errorf("%+v", j)
	}
	if j.User != s.User.Name || j.Account != s.Account || j.Nodes == "" {
		s.Errorf("%+v", j)
	}
	s.wants("Hold of a job that the controller has forgotten", s.Driver.Hold(s.ctx, s.ref(id)), federation.ErrNotFound)
	s.cancel(id, nil)
}

func testAccountingExit(s *suite) {
	id := s.run("exit 3")
	s.until(id, "ended", func(j federation.SiteJob) bool { return j.State.Ended() })
	s.forgotten(id)
	if j := s.lookup(id); j.ExitStatus != 3<<8 {
		s.Errorf("status %#x, want that of exit 3", j.ExitStatus)
	}
}

func testArrayAccounting(s *suite) {
	sub := s.job("exit 0", func(sub *federation.Submission) { sub.Job.Spec.Array = "1-3" })
	id := s.submit(sub)
	s.until(id, "ended", func(j federation.SiteJob) bool { return j.State.Ended() })
	s.forgotten(id)
	j := s.lookup(id)
	if !j.FromAccounting || j.Key != sub.Key || j.State != federation.Completed || j.PendingTasks != "" || len(j.Tasks) != 3 {
		s.Errorf("%+v", j)
	}
	for _, t := range j.Tasks {
		if t.State != federation.Completed || t.Start.IsZero() || t.End.IsZero() {
			s.Errorf("task %+v", t)
		}
	}
}

func testContext(s *suite) {
	ctx, cancel := context.WithCancel(s.ctx)
	cancel()
	if _, err := s.Driver.Observe(ctx); err == nil {
		s.Error("Observe ignores its context")
	}
	sub := s.job("exit 0", hold)
	if _, err := s.Driver.Submit(ctx, sub); err == nil {
		s.Error("Submit ignores its context")
	}
	if _, err := s.Driver.Lookup(ctx, s.ref(sub.Job.ID)); err == nil {
		s.Error("Lookup ignores its context")
	}
}
