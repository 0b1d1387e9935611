package drivertest

import (
	"fmt"
	"strings"
	"time"

	"fsub/federation"
	"fsub/federation/reasons"
)

func testRuns(s *suite) {
	sub := s.job("sleep 15", nil) // long enough to be seen on a busy machine
	id := s.submit(sub)
	j := s.untilState(id, federation.Running)
	if j.Key != sub.Key {
		s.Errorf("key %q, want %q", j.Key, sub.Key)
	}
	if j.User != s.User.Name || j.Account != s.Account || j.Partition != s.Partition {
		s.Errorf("runs as %s/%s in %s, want %s/%s in %s", j.User, j.Account, j.Partition, s.User.Name, s.Account, s.Partition)
	}
	if j.Start.IsZero() || !j.End.IsZero() || j.Nodes == "" || j.FromAccounting {
		s.Errorf("running job: %+v", j)
	}
	j = s.untilState(id, federation.Completed)
	if j.End.IsZero() || j.End.Before(j.Start) || j.ExitStatus != 0 || j.Key != sub.Key {
		s.Errorf("ended job: %+v", j)
	}
}

func testOutput(s *suite) {
	id := s.run(`echo "job ${FSUB_JOB_ID:-$SLURM_JOB_ID} in $PWD"`)
	want := fmt.Sprintf("job %d in %s", id, s.Dir)
	if got := s.file(fmt.Sprintf("slurm-%d.out", id)); got != want {
		s.Errorf("output %q, want %q", got, want)
	}
}

func testIdentity(s *suite) {
	id := s.run(`echo "$(id -un) $(id -u) $(id -g) $SLURM_JOB_USER"`)
	want := fmt.Sprintf("%s %d %d %s", s.User.Name, s.User.UID, s.User.GID, s.User.Name)
	if got := s.file(fmt.Sprintf("slurm-%d.out", id)); got != want {
		s.Errorf("the job ran as %q, want %q", got, want)
	}
}

func testTwice(s *suite) {
	sub := s.job("sleep 2; echo ran", func(sub *federation.Submission) { sub.Job.Spec.OpenMode = "append" })
	id := s.submit(sub)
	for range 3 {
		r, err := s.Driver.Submit(s.ctx, sub)
		if err != nil || !r.Adopted || r.SiteJobID != s.ref(id).SiteJobID {
			s.Fatalf("Submit again: %+v, %v", r, err)
		}
	}
	s.untilState(id, federation.Completed)
	if s.ReadFile != nil {
		if got := s.file(fmt.Sprintf("slurm-%d.out", id)); got != "ran" {
			s.Errorf("output %q: the job ran more than once", got)
		}
	}
}

func testEndedAdopts(s *suite) {
	sub := s.job("exit 0", nil)
	id := s.submit(sub)
	s.untilState(id, federation.Completed)
	if r, err := s.Driver.Submit(s.ctx, sub); err != nil || !r.Adopted {
		s.Errorf("Submit of a job that has ended and is in memory: %+v, %v", r, err)
	}
}

func testLostReply(s *suite) {
	if s.LoseReply == nil {
		s.Skip("SKIPPED: the harness cannot lose a reply")
	}
	sub := s.job("sleep 1; echo ran", func(sub *federation.Submission) { sub.Job.Spec.OpenMode = "append" })
	if _, err := s.Lossy.Observe(s.ctx); err != nil { // a driver may have to get to know its site first
		s.Fatal(err)
	}
	s.LoseReply()
	_, err := s.Lossy.Submit(s.ctx, sub)
	s.wants("Submit whose reply was lost", err, federation.ErrUnavailable)
	if j := s.lookup(sub.Job.ID); j.Key != sub.Key {
		s.Fatalf("Lookup: key %q, want %q", j.Key, sub.Key)
	}
	r, err := s.Driver.Submit(s.ctx, sub)
	if err != nil || !r.Adopted {
		s.Fatalf("Submit again: %+v, %v", r, err)
	}
	s.untilState(sub.Job.ID, federation.Completed)
	if s.ReadFile != nil {
		if got := s.file(fmt.Sprintf("slurm-%d.out", sub.Job.ID)); got != "ran" {
			s.Errorf("output %q: the job ran more than once", got)
		}
	}
}

func testTaken(s *suite) {
	sub := s.job("sleep 1", hold)
	id := s.submit(sub)
	mine := sub.Key
	sub.Key = federation.AttemptKey(s.Federation+"-other", sub.Job, 1)
	_, err := s.Driver.Submit(s.ctx, sub)
	s.wants("Submit of an ID that another job has", err, federation.ErrConflict)
	if j := s.lookup(id); j.Key != mine || j.State != federation.Pending {
		s.Errorf("the job that was there: %+v", j)
	}
}

func testOlderAttempt(s *suite) {
	sub := s.job("exit 0", nil)
	id := s.submit(sub)
	s.untilState(id, federation.Completed)
	sub.Key = federation.AttemptKey(s.Federation, sub.Job, 2)
	r, err := s.Driver.Submit(s.ctx, sub)
	if err == nil && !r.Adopted {
		return // the site can run an ID again at once
	}
	s.wants("Submit of attempt 2 while attempt 1 has ended and is in memory", err, federation.ErrRemembered)
	if !strings.Contains(err.Error(), "attempt") {
		s.Errorf("error does not say why: %v", err)
	}
}

func testBadAccount(s *suite) {
	sub := s.job("exit 0", func(sub *federation.Submission) { sub.Job.Spec.Account = "no-such-account" })
	_, err := s.Driver.Submit(s.ctx, sub)
	s.wants("Submit", err, federation.ErrDenied)
	s.absent(sub.Job.ID)
}

func testOthersAccount(s *suite) {
	sub := s.job("exit 0", func(sub *federation.Submission) { sub.Job.Spec.Account = s.OtherAccount })
	_, err := s.Driver.Submit(s.ctx, sub)
	s.wants("Submit", err, federation.ErrDenied)
	s.absent(sub.Job.ID)
}

func testUnknownUser(s *suite) {
	sub := s.job("exit 0", func(sub *federation.Submission) {
		sub.User = federation.SiteUser{Name: "no-such-user", UID: 64321, GID: 64321}
	})
	_, err := s.Driver.Submit(s.ctx, sub)
	s.wants("Submit", err, federation.ErrDenied)
	s.absent(sub.Job.ID)
}

func testBadPartition(s *suite) {
	sub := s.job("exit 0", func(sub *federation.Submission) { sub.Partition = "no-such-partition" })
	_, err := s.Driver.Submit(s.ctx, sub)
	s.wants("Submit", err, federation.ErrCapacity)
	s.absent(sub.Job.ID)
}

func testBadGPU(s *suite) {
	sub := s.job("exit 0", func(sub *federation.Submission) { sub.Job.Spec.GRES = "gpu:nosuchtype:1" })
	for range 2 { // a site may keep a record of what it refused: the second answer must be the same
		_, err := s.Driver.Submit(s.ctx, sub)
		s.wants("Submit", err, federation.ErrCapacity)
	}
}

func testNegativeNice(s *suite) {
	sub := s.job("exit 0", func(sub *federation.Submission) { sub.Job.Spec.Nice = -10 })
	_, err := s.Driver.Submit(s.ctx, sub)
	s.wants("Submit", err, federation.ErrInvalid)
	s.absent(sub.Job.ID)
}

func testSubmitHeld(s *suite) {
	id := s.submit(s.job("exit 0", hold))
	s.Wait(3 * time.Second)
	j := s.lookup(id)
	if j.State != federation.Pending || !j.Start.IsZero() || (j.Reason != reasons.HeldUser && j.Reason != reasons.HeldAdmin) {
		s.Errorf("held job: %+v", j)
	}
}

func testBegin(s *suite) {
	begin := s.Now().Add(12 * time.Second).Truncate(time.Second)
	id := s.submit(s.job("exit 0", func(sub *federation.Submission) { sub.Job.Spec.Begin = begin.UTC() }))
	s.Wait(2 * time.Second)
	if j := s.lookup(id); s.Now().Before(begin) && (j.State != federation.Pending || !j.Start.IsZero()) {
		s.Errorf("before its begin time (an estimate is no start): %+v", j)
	}
	j := s.until(id, "ended", func(j federation.SiteJob) bool { return j.State.Ended() })
	if j.State != federation.Completed || j.Start.Before(begin) {
		s.Errorf("started %s, before %s: %+v", j.Start, begin, j)
	}
}

func testSize(s *suite) {
	id := s.submit(s.job("sleep 2", func(sub *federation.Submission) {
		sp := sub.Job.Spec
		sp.MinNodes, sp.MaxNodes, sp.GPUsPerNode, sp.MemPerNode, sp.TimeLimit = 2, 2, s.GPUType+":1", 500, 7*time.Minute
	}))
	j := s.until(id, "started", func(j federation.SiteJob) bool { return !j.Start.IsZero() })
	if j.NumNodes != 2 || j.GPUs != 2 || j.Limit != 7*time.Minute {
		s.Errorf("%d nodes, %d GPUs, limit %s; want 2, 2, 7m", j.NumNodes, j.GPUs, j.Limit)
	}
	if j.GPUType != "" && j.GPUType != s.GPUType {
		s.Errorf("GPUs of type %s, want %s", j.GPUType, s.GPUType)
	}
	if !strings.Contains(j.TRES, "mem=1000M") {
		s.Errorf("TRES %q, want 500M on each of 2 nodes", j.TRES)
	}
}
