package drivertest

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"testing"
	"time"

	"fsub/federation"
	"fsub/sbatch"
)

// suite is one test with its site.
type suite struct {
	*testing.T
	*Harness
	ctx  context.Context
	refs map[federation.JobID]federation.JobRef
}

// ref is what the site is asked about: with all that is known of the job, which is nothing of one that was never submitted.
func (s *suite) ref(id federation.JobID) federation.JobRef {
	if ref, ok := s.refs[id]; ok {
		return ref
	}
	return federation.JobRef{ID: id, Submitted: s.Now()}
}

// job makes a submission of a job that runs script, as attempt 1. change may alter it. The job is cancelled when the
// test ends.
func (s *suite) job(script string, change func(*federation.Submission)) federation.Submission {
	s.Helper()
	id := s.NextID()
	j := &federation.Job{ID: id, User: s.User.Name, UID: s.User.UID, GID: s.User.GID, Submit: s.Now().UTC().Truncate(time.Microsecond)}
	j.Spec = &sbatch.Spec{Name: "drivertest", Account: s.Account, TimeLimit: 10 * time.Minute, WorkDir: s.workDir(), Output: "slurm-%j.out"}
	sub := federation.Submission{Job: j, Partition: s.Partition, User: s.User, Key: federation.AttemptKey(s.Federation, j, 1),
		Payload: sbatch.Payload{Script: "#!/bin/bash\n" + script + "\n", Environment: []string{"PATH=/usr/bin:/bin"}}}
	if change != nil {
		change(&sub)
	}
	s.refs[id] = federation.JobRef{ID: id, User: sub.User.Name, Key: sub.Key, Submitted: j.Submit}
	s.Cleanup(func() { _ = s.Driver.Cancel(context.Background(), s.ref(id), nil) })
	return sub
}

func (s *suite) workDir() string {
	if s.Dir == "" {
		return "/tmp"
	}
	return s.Dir
}

// submit hands a job over and expects that the site takes it as new.
func (s *suite) submit(sub federation.Submission) federation.JobID {
	s.Helper()
	r, err := s.Driver.Submit(s.ctx, sub)
	if err != nil {
		s.Fatalf("Submit: %v", err)
	}
	if r.Adopted || r.SiteJobID == 0 {
		s.Fatalf("Submit of a new job: receipt %+v", r)
	}
	for _, w := range r.Warnings {
		s.Errorf("Submit: warning %q", w)
	}
	ref := s.refs[sub.Job.ID]
	ref.SiteJobID = r.SiteJobID
	s.refs[sub.Job.ID] = ref
	return sub.Job.ID
}

// run submits a job that runs script.
func (s *suite) run(script string) federation.JobID {
	s.Helper()
	return s.submit(s.job(script, nil))
}

// hold makes a submission stay pending.
func hold(sub *federation.Submission) { sub.Job.Held = federation.HeldUser }

// lookup returns what the site says of a job.
func (s *suite) lookup(id federation.JobID) federation.SiteJob {
	s.Helper()
	j, err := s.Driver.Lookup(s.ctx, s.ref(id))
	if err != nil {
		s.Fatalf("Lookup(%d): %v", id, err)
	}
	if want := s.ref(id).SiteJobID; want != 0 && j.SiteJobID != want {
		s.Fatalf("Lookup(%d): the job has number %d at the site, its receipt said %d", id, j.SiteJobID, want)
	}
	if j.ID != id {
		s.Fatalf("Lookup(%d) is about job %d", id, j.ID)
	}
	return j
}

// until waits for the job to satisfy ok.
func (s *suite) until(id federation.JobID, what string, ok func(federation.SiteJob) bool) federation.SiteJob {
	s.Helper()
	var j federation.SiteJob
	s.eventually(fmt.Sprintf("job %d: %s", id, what), s.Patience, func() string {
		j = s.lookup(id)
		if ok(j) {
			return ""
		}
		return fmt.Sprintf("%+v", j)
	})
	return j
}

func (s *suite) untilState(id federation.JobID, state federation.State) federation.SiteJob {
	s.Helper()
	return s.until(id, string(state), func(j federation.SiteJob) bool { return j.State == state })
}

// eventually waits until check returns ""; what it returned last is in the failure. Who waits for long asks more seldom: many tests wait at the
// same time.
func (s *suite) eventually(what string, patience time.Duration, check func() string) {
	s.Helper()
	deadline := s.Now().Add(patience)
	for pause := 200 * time.Millisecond; ; pause = min(pause*5/4, max(patience/120, 200*time.Millisecond)) {
		last := check()
		if last == "" {
			return
		}
		if s.Now().After(deadline) {
			s.Fatalf("%s: not within %s; last: %s", what, patience, last)
		}
		s.Wait(pause)
	}
}

// wants fails unless err wraps want.
func (s *suite) wants(what string, err, want error) {
	s.Helper()
	if !errors.Is(err, want) {
		s.Fatalf("%s: %v; want one that is %q", what, err, want)
	}
}

// absent fails unless the site does not know the job. The site may need a moment to be sure.
func (s *suite) absent(id federation.JobID) {
	s.Helper()
	s.eventually(fmt.Sprintf("job %d was refused and is not found", id), s.Patience+s.Settle, func() string {
		j, err := s.Driver.Lookup(s.ctx, s.ref(id))
		switch {
		case errors.Is(err, federation.ErrNotFound):
			return ""
		case err == nil:
			s.Fatalf("a job that was refused is there: %+v", j)
		}
		return err.Error()
	})
}

// file reads what a job has left in its directory, once there is something.
func (s *suite) file(name string) string {
	s.Helper()
	if s.ReadFile == nil {
		s.Skip("SKIPPED: the harness has no ReadFile: scripts are not really run")
	}
	var text string
	s.eventually("file "+name, s.Patience, func() string {
		b, err := s.ReadFile(path.Join(s.Dir, name))
		if err != nil {
			return err.Error()
		}
		if len(b) == 0 {
			return "empty"
		}
		text = string(b)
		return ""
	})
	return strings.TrimSpace(text)
}

// report reads the changes since a mark.
func (s *suite) report(m federation.Mark) federation.JobsReport {
	s.Helper()
	r, err := s.Driver.Jobs(s.ctx, m)
	if err != nil {
		s.Fatalf("Jobs: %v", err)
	}
	return r
}

// of finds a job in a report.
func of(r federation.JobsReport, id federation.JobID) (federation.SiteJob, bool) {
	for _, j := range r.Changed {
		if j.ID == id {
			return j, true
		}
	}
	return federation.SiteJob{}, false
}
