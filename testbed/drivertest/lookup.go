package drivertest

import (
	"context"
	"errors"
	"fmt"
	"sync"
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

// testLookupMany: a daemon that takes over asks for many attempts at once, of which most have never arrived. What the site holds or has recorded is found among them.
func testLookupMany(s *suite) {
	held := s.submit(s.job("exit 0", hold))
	ended := s.run("exit 0")
	s.until(ended, "ended", func(j federation.SiteJob) bool { return j.State.Ended() })
	if s.ForgetsAfter != 0 {
		s.forgotten(ended)
	}
	refs := []federation.JobRef{s.ref(held), s.ref(ended)}
	for i := range refs { // whoever asks has not heard their numbers
		refs[i].SiteJobID, refs[i].SiteSubmit = 0, time.Time{}
	}
	for range 60 {
		j := federation.Job{ID: s.NextID(), Submit: s.Now().UTC()}
		refs = append(refs, federation.JobRef{ID: j.ID, Key: federation.AttemptKey(s.Federation, &j, 1), Submitted: j.Submit})
	}
	s.eventually("62 look-ups at once", s.Patience+s.Settle, func() string {
		errs := make([]error, len(refs))
		var g sync.WaitGroup
		for i, ref := range refs {
			g.Go(func() {
				j, err := s.Driver.Lookup(s.ctx, ref)
				if errs[i] = err; err == nil && (j.ID != ref.ID || j.Key != "" && j.Key != ref.Key) {
					errs[i] = fmt.Errorf("%w: %+v", errors.ErrUnsupported, j)
				}
			})
		}
		g.Wait()
		for i, err := range errs {
			switch {
			case errors.Is(err, federation.ErrUnavailable):
				return err.Error()
			case i < 2 && err != nil, i >= 2 && !errors.Is(err, federation.ErrNotFound):
				s.Fatalf("look-up %d of job %d: %v", i, refs[i].ID, err)
			}
		}
		return ""
	})
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
