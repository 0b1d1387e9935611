package drivertest

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"fsub/federation"
)

// needsKill skips where the controller cannot be killed.
func (s *suite) needsKill() {
	s.Helper()
	if s.KillController == nil || s.StartController == nil {
		s.Skip("SKIPPED: the harness cannot kill the controller")
	}
}

func testDown(s *suite) {
	s.needsKill()
	id := s.submit(s.job("exit 0", hold))
	s.Wait(12 * time.Second) // past the save window, of five seconds
	mark := s.report(nil).Mark
	s.eventually("the site answers", s.Patience, func() string { // the driver has what it needs to know of the site
		if _, err := s.Hasty.Observe(s.ctx); err != nil {
			return err.Error()
		}
		return ""
	})
	s.KillController()
	sub := s.job("exit 0", nil)
	calls := map[string]func() error{ // at the same time: each may take as long as the site's own time-out
		"Observe": func() error { _, err := s.Hasty.Observe(s.ctx); return err },
		"Jobs":    func() error { _, err := s.Hasty.Jobs(s.ctx, mark); return err },
		"Lookup":  func() error { _, err := s.Hasty.Lookup(s.ctx, s.ref(id)); return err },
		"Submit":  func() error { _, err := s.Hasty.Submit(s.ctx, sub); return err },
		"Cancel":  func() error { return s.Hasty.Cancel(s.ctx, federation.JobRef{ID: s.NextID()}, nil) },
		"Hold":    func() error { return s.Hasty.Hold(s.ctx, s.ref(id)) },
	}
	errs := map[string]error{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for name, call := range calls {
		wg.Go(func() {
			err := call()
			mu.Lock()
			defer mu.Unlock()
			errs[name] = err
		})
	}
	wg.Wait()
	for name, err := range errs {
		if !errors.Is(err, federation.ErrUnavailable) {
			s.Errorf("%s: %v; want one that is %q", name, err, federation.ErrUnavailable)
		}
	}
	s.StartController()
	if j, ok := of(s.report(mark), id); ok && j.State != federation.Pending {
		s.Errorf("after the restart: %+v", j)
	}
	if !s.report(mark).Known[id] {
		s.Error("a mark from before the restart: a saved job is not known")
	}
}

// testKilled: a controller that is killed right after it has acknowledged a job may forget it. Lookup, then Submit if
// it is not found: the job runs once, whatever was forgotten.
func testKilled(s *suite) {
	s.needsKill()
	sub := s.job("sleep 5; echo ran", func(sub *federation.Submission) {
		sub.Job.Spec.OpenMode, sub.Job.Held = "append", federation.HeldUser
	})
	id := s.submit(sub)
	s.KillController()
	s.StartController()
	s.eventually("the site says whether it has the job", s.Patience+s.Settle, func() string {
		j, err := s.Driver.Lookup(s.ctx, s.ref(id))
		forgotten := errors.Is(err, federation.ErrNotFound) || (err == nil && j.FromAccounting && !j.State.Ended())
		if err != nil && !forgotten {
			return err.Error()
		}
		s.Logf("forgotten: %t", forgotten)
		return ""
	})
	r, err := s.Driver.Submit(s.ctx, sub)
	if err != nil {
		s.Fatalf("Submit again: %v", err)
	}
	s.Logf("second submission: %+v", r)
	ref := s.ref(id)
	ref.SiteJobID = r.SiteJobID
	s.refs[id] = ref
	if j := s.lookup(id); j.FromAccounting || j.Key != sub.Key {
		s.Fatalf("after the second submission: %+v", j)
	}
	if err := s.Driver.Release(s.ctx, s.ref(id)); err != nil {
		s.Fatal(err)
	}
	s.untilState(id, federation.Completed)
	if s.ReadFile != nil {
		if got := s.file(fmt.Sprintf("slurm-%d.out", id)); got != "ran" {
			s.Errorf("output %q: the job did not run exactly once", got)
		}
	}
}
