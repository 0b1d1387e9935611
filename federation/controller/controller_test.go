package controller

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/action"
	"fsub/federation/reasons"
	"fsub/sbatch"
)

var errLost = fmt.Errorf("%w: reply lost", federation.ErrUnavailable)

func TestRunsAtCheapestSite(t *testing.T) {
	b := newBench(t)
	id := b.submit(nil)
	b.rounds(4)
	b.want(id, federation.Pending, "", "cheap")
	b.cheap.start(id)
	b.rounds(4)
	b.want(id, federation.Running, reasons.None, "cheap")
	b.wait(30 * time.Minute / 10)
	b.cheap.end(id, federation.Completed)
	ran := b.cheap.jobs[id].End.Sub(b.cheap.jobs[id].Start)
	b.rounds(4)
	b.want(id, federation.Completed, "", "cheap")
	if got, want := b.job(id).Cost, federation.Money(2*federation.Dollar).For(ran); got != want {
		t.Errorf("2 GPUs at $1 for %s cost %v, want %v", ran, got, want)
	}
}

func TestLostReplyIsAdopted(t *testing.T) {
	b := newBench(t)
	b.cheap.failAfter = errLost
	id := b.submit(nil)
	b.wait(3 * time.Second)
	if b.cheap.submits != 1 || len(b.attempts(id)) != 1 {
		t.Errorf("submitted %d times in %d attempts, want once: the look-up finds it", b.cheap.submits, len(b.attempts(id)))
	}
	if a := b.attempts(id)[0]; a.State != federation.AttemptSubmitted {
		t.Errorf("attempt is %s, want SUBMITTED", a.State)
	}
}

func TestLostRequestIsSentAgainUnderTheSameKey(t *testing.T) {
	b := newBench(t)
	b.cheap.failAfter = errLost
	id := b.submit(nil)
	b.rounds(1)
	delete(b.cheap.jobs, id) // it never arrived
	b.wait(3 * time.Second)
	as := b.attempts(id)
	if b.cheap.submits != 2 || len(as) != 1 || as[0].Tries != 2 || b.cheap.jobs[id] == nil || b.cheap.jobs[id].Key != as[0].Key {
		t.Errorf("%d submissions, attempts %+v; want one attempt, sent twice", b.cheap.submits, as)
	}
}

// What is intended and of unknown fate is looked up after a restart, never submitted blindly.
func TestRestartLooksUpIntents(t *testing.T) {
	b := newBench(t)
	b.cheap.failAfter = errLost
	id := b.submit(nil)
	b.rounds(1)
	b.cheap.start(id)
	b.restart()
	b.wait(2 * time.Second)
	b.want(id, federation.Running, "", "cheap")
	if b.cheap.submits != 1 {
		t.Errorf("submitted %d times", b.cheap.submits)
	}
}

func TestNotSentGoesToTheNextSite(t *testing.T) {
	b := newBench(t)
	id := b.submit(nil)
	b.cheap.fail = fmt.Errorf("%w: connection refused", federation.ErrNotSent)
	b.wait(2 * time.Second)
	b.want(id, federation.Pending, "", "dear")
	if as := b.attempts(id); as[0].State != federation.AttemptWithdrawn || as[1].State != federation.AttemptSubmitted {
		t.Errorf("attempts: %+v", as)
	}
}

func TestUnknownOutcomeStaysAtItsSite(t *testing.T) {
	b := newBench(t)
	id := b.submit(nil)
	b.cheap.fail = errLost
	b.wait(time.Minute)
	b.want(id, federation.Pending, "", "cheap")
	if b.dear.submits != 0 {
		t.Error("given to another site although the first may have it")
	}
	b.cheap.fail = nil
	b.wait(time.Minute)
	if b.cheap.jobs[id] == nil {
		t.Error("not submitted after the site came back")
	}
}

func TestRefusedGoesToTheNextSiteThenFails(t *testing.T) {
	b := newBench(t)
	refusal := &federation.SlurmError{Kind: federation.ErrDenied, Number: 2045, Text: "Invalid account or account/partition combination specified"}
	id := b.submit(nil)
	b.cheap.fail = refusal
	b.ctl.sites.all[0].observeError = nil
	b.rounds(1)
	b.cheap.fail = nil
	b.dear.fail = refusal
	b.rounds(2)
	b.dear.fail = nil
	b.wait(2 * time.Second)
	b.want(id, federation.Failed, reasons.BadConstraints, "")
	if as := b.attempts(id); len(as) != 2 || as[0].State != federation.AttemptRefused || as[1].State != federation.AttemptRefused {
		t.Errorf("attempts: %+v", as)
	}
}

// A limit of submitted jobs passes: the job waits for it, its user's other jobs are not tried meanwhile, and other sites are.
func TestSubmitLimitIsWaitedFor(t *testing.T) {
	b := newBench(t)
	only := func(s *sbatch.Spec) { s.Clusters = "cheap" }
	b.submit(only)
	b.wait(2 * time.Second)
	b.cheap.refuses = &federation.SlurmError{Kind: federation.ErrLimit, Number: 2050, Text: "Job violates accounting/QOS policy"}
	first := b.submit(only)
	b.rounds(2)
	second := b.submit(only)
	b.wait(5 * time.Second)
	for _, id := range []federation.JobID{first, second} {
		b.want(id, federation.Pending, reasons.SubmitLimit, "")
	}
	if b.cheap.submits != 2 {
		t.Errorf("%d submissions, want 2: the limit is known", b.cheap.submits)
	}
	other := b.submit(nil) // may run elsewhere
	b.cheap.refuses = nil
	b.wait(3 * time.Second)
	b.want(other, federation.Pending, "", "dear")
	b.wait(limitedFor)
	b.want(second, federation.Pending, "", "cheap")
	b.wait(limitedFor)
	b.want(first, federation.Pending, "", "cheap")
}

// Where the user has no other job the limit is one that the job itself is beyond.
func TestSizeLimitIsNotWaitedFor(t *testing.T) {
	b := newBench(t)
	b.cheap.refuses = &federation.SlurmError{Kind: federation.ErrLimit, Number: 2050, Text: "Job violates accounting/QOS policy"}
	id := b.submit(func(s *sbatch.Spec) { s.Clusters = "cheap" })
	b.wait(2 * time.Second)
	b.want(id, federation.Failed, reasons.BadConstraints, "")
}

func TestForgottenBeforeStart(t *testing.T) {
	b := newBench(t)
	id := b.submit(nil)
	b.wait(2 * time.Second)
	ghost := *b.cheap.jobs[id]
	b.cheap.books[id] = &ghost // accounting goes on showing it as PENDING
	delete(b.cheap.jobs, id)
	b.wait(6 * time.Second)
	as := b.attempts(id)
	if len(as) != 2 || as[0].State != federation.AttemptForgotten || as[1].State != federation.AttemptSubmitted || as[0].Key == as[1].Key {
		t.Fatalf("attempts: %+v", as)
	}
	if b.job(id).Restarts != 0 {
		t.Error("a job that had not started was counted as requeued")
	}
}

func TestForgottenAfterStart(t *testing.T) {
	for _, requeue := range []bool{true, false} {
		t.Run(fmt.Sprintf("requeue=%v", requeue), func(t *testing.T) {
			b := newBench(t)
			id := b.submit(func(s *sbatch.Spec) { s.Requeue = &requeue })
			b.wait(2 * time.Second)
			b.cheap.start(id)
			b.wait(time.Second)
			ghost := *b.cheap.jobs[id]
			b.cheap.books[id] = &ghost
			delete(b.cheap.jobs, id)
			b.wait(6 * time.Second)
			if requeue {
				if j := b.job(id); j.Restarts != 1 || j.Attempt != 2 {
					t.Errorf("restarts %d, attempt %d; want 1, 2", j.Restarts, j.Attempt)
				}
				return
			}
			b.want(id, federation.NodeFail, reasons.Forgotten, "cheap")
		})
	}
}

// An ended job that left the controller's memory is found in accounting.
func TestEndIsFoundInAccounting(t *testing.T) {
	b := newBench(t)
	id := b.submit(nil)
	b.wait(2 * time.Second)
	b.cheap.start(id)
	b.cheap.end(id, federation.Failed)
	ended := *b.cheap.jobs[id]
	ended.ExitStatus = 3 << 8
	b.cheap.books[id] = &ended
	delete(b.cheap.jobs, id)
	b.wait(2 * time.Second)
	b.want(id, federation.Failed, "", "cheap")
	if j := b.job(id); j.ExitStatus != 3<<8 {
		t.Errorf("exit status %d", j.ExitStatus)
	}
}

// While accounting does not answer, a job that the controller does not know is left as it is.
func TestMissingAndNoAccounting(t *testing.T) {
	b := newBench(t)
	id := b.submit(nil)
	b.wait(2 * time.Second)
	d := &noLookup{fakeSite: b.cheap}
	b.drive(d)
	delete(b.cheap.jobs, id)
	b.wait(2 * time.Minute)
	b.want(id, federation.Pending, "", "cheap")
	if b.cheap.submits != 1 || len(b.attempts(id)) != 1 {
		t.Error("given up without proof")
	}
}

func TestCancel(t *testing.T) {
	b := newBench(t)
	b.cheap.nodes, b.dear.nodes = 0, 0
	b.wait(5 * time.Second)
	waiting := b.submit(nil)
	b.rounds(2)
	b.request(action.Request{Job: waiting, Kind: action.Cancel, UID: 7001})
	b.rounds(1)
	b.want(waiting, federation.Cancelled, "", "")

	b.cheap.nodes = 2
	b.wait(5 * time.Second)
	running := b.submit(nil)
	b.wait(2 * time.Second)
	b.cheap.start(running)
	b.rounds(4)
	b.request(action.Request{Job: running, Kind: action.Cancel, UID: 7001})
	b.wait(2 * time.Second)
	b.want(running, federation.Cancelled, "", "cheap")
}

// A cancellation that the site acknowledged and then forgot is asked for again.
func TestCancelIsRepeated(t *testing.T) {
	b := newBench(t)
	id := b.submit(nil)
	b.wait(2 * time.Second)
	b.cheap.start(id)
	b.rounds(4)
	b.cheap.fail = errLost
	b.request(action.Request{Job: id, Kind: action.Cancel, UID: 7001})
	b.wait(2 * time.Second)
	b.cheap.fail = nil
	b.wait(time.Minute)
	b.want(id, federation.Cancelled, "", "cheap")
}

func TestStrayIsCancelled(t *testing.T) {
	b := newBench(t)
	id := b.submit(nil)
	b.cheap.fail = fmt.Errorf("%w: refused", federation.ErrNotSent)
	b.wait(2 * time.Second)
	b.want(id, federation.Pending, "", "dear")
	b.cheap.fail = nil
	// it turns up at the first site after all
	b.cheap.jobs[id] = &federation.SiteJob{ID: id, Key: b.attempts(id)[0].Key, State: federation.Running, Start: b.clock, Submit: b.clock}
	b.wait(time.Minute)
	if len(b.cheap.cancelled) == 0 || len(b.dear.cancelled) != 0 {
		t.Errorf("cancelled at the first site %v, at the second %v", b.cheap.cancelled, b.dear.cancelled)
	}
}

func TestForeignJobWithOurIDIsLeftAlone(t *testing.T) {
	b := newBench(t)
	b.cheap.jobs[federation.FirstJobID+5] = &federation.SiteJob{ID: federation.FirstJobID + 5, Key: "", State: federation.Running, Start: b.clock}
	b.wait(5 * time.Second)
	if len(b.cheap.cancelled) != 0 {
		t.Error("cancelled a job that is not ours")
	}
}

// A job of ours that the store has lost is told once, and left alone.
func TestLostJobIsTold(t *testing.T) {
	b := newBench(t)
	var log strings.Builder
	b.out.Writer = &log
	lost := &federation.Job{ID: federation.FirstJobID + 5, User: "ada", Submit: b.clock}
	b.cheap.jobs[lost.ID] = &federation.SiteJob{ID: lost.ID, Key: federation.AttemptKey("test", lost, 1), State: federation.Running, Start: b.clock}
	b.wait(time.Minute)
	if n := strings.Count(log.String(), "the store does not have it"); n != 1 || !strings.Contains(log.String(), fmt.Sprint("job=", lost.ID)) {
		t.Errorf("it is told %d times:\n%s", n, log.String())
	}
	if len(b.cheap.cancelled) != 0 {
		t.Error("it was cancelled")
	}
}

func TestHoldDependencyBegin(t *testing.T) {
	b := newBench(t)
	first := b.submit(nil)
	ok := b.submit(func(s *sbatch.Spec) { s.Dependency = "afterok:" + first.String() })
	never := b.submit(func(s *sbatch.Spec) { s.Dependency = "afternotok:" + first.String() })
	killed := b.submit(func(s *sbatch.Spec) {
		s.Dependency, s.More = "afternotok:"+first.String(), &sbatch.More{KillOnInvalidDep: sbatch.Yes}
	})
	after := b.submit(func(s *sbatch.Spec) { s.Dependency = "afterany:" + killed.String() })
	later := b.submit(func(s *sbatch.Spec) { s.Begin = b.clock.Add(time.Minute) })
	held := b.submit(nil)
	b.request(action.Request{Job: held, Kind: action.Hold, UID: 7001})
	b.wait(2 * time.Second)
	b.want(ok, federation.Pending, reasons.Dependency, "")
	b.want(later, federation.Pending, reasons.BeginTime, "")
	b.cheap.start(first)
	b.cheap.end(first, federation.Completed)
	b.wait(2 * time.Second)
	b.want(ok, federation.Pending, "", "cheap")
	b.want(never, federation.Pending, reasons.DependencyNever, "")
	b.want(killed, federation.Cancelled, reasons.DependencyNever, "")
	b.wait(2 * time.Second)
	if b.job(after).Site == "" {
		t.Error("not bound after what it waits for was cancelled")
	}
	b.wait(time.Minute)
	if b.job(later).Site == "" {
		t.Error("not bound after its begin time")
	}
	b.want(held, federation.Pending, reasons.HeldUser, "")
	b.request(action.Request{Job: held, Kind: action.Release, UID: 7001})
	b.wait(2 * time.Second)
	if b.job(held).Site == "" {
		t.Error("not bound after its release")
	}
}

func TestHoldReachesTheSite(t *testing.T) {
	b := newBench(t)
	id := b.submit(nil)
	b.wait(2 * time.Second)
	b.request(action.Request{Job: id, Kind: action.Hold, UID: 7001})
	b.rounds(2)
	if len(b.cheap.held) != 1 {
		t.Errorf("held at its site: %v", b.cheap.held)
	}
	b.cheap.jobs[id].Reason = reasons.HeldAdmin // which is the federation, there
	b.wait(2 * time.Second)
	if j := b.job(id); j.Reason != reasons.HeldUser {
		t.Errorf("its user holds it, and it waits for %s", j.Reason)
	}
}

func TestJudge(t *testing.T) {
	b := newBench(t)
	ask := func(change func(*sbatch.Spec)) error {
		j := federation.Job{User: "alice", Spec: &sbatch.Spec{MinNodes: 1, TimeLimit: time.Hour}}
		change(j.Spec)
		return b.ctl.Judge(&j)
	}
	if err := ask(func(s *sbatch.Spec) { s.MinNodes = 2 }); err != nil {
		t.Errorf("2 nodes: %v", err)
	}
	var se *federation.SlurmError
	if err := ask(func(s *sbatch.Spec) { s.MinNodes, s.MaxNodes = 3, 3 }); !errors.As(err, &se) {
		t.Errorf("3 nodes where every site has 2: %v", err)
	}
	if err := ask(func(s *sbatch.Spec) { s.GPUsPerNode = "v100:1" }); !errors.As(err, &se) {
		t.Errorf("a GPU type that no site has: %v", err)
	}
	if err := ask(func(s *sbatch.Spec) { s.Array = "0-4000001" }); !errors.As(err, &se) || se.Number != 2081 {
		t.Errorf("an array beyond every bound: %v", err)
	}
	if err := ask(func(s *sbatch.Spec) { s.Dependency = "afterok:1" }); !errors.As(err, &se) {
		t.Errorf("dependency on a job that never was: %v", err)
	}
}

// A site that was never seen may be able to run anything.
func TestJudgeBeforeAnySiteAnswers(t *testing.T) {
	b := newBench(t)
	b.cheap.fail, b.dear.fail = errLost, errLost
	b.restart()
	b.rounds(3)
	j := federation.Job{User: "alice", Spec: &sbatch.Spec{MinNodes: 3000, MaxNodes: 3000}}
	if err := b.ctl.Judge(&j); err != nil {
		t.Errorf("refused although no site has answered: %v", err)
	}
	id := b.submit(nil)
	b.rounds(3)
	b.want(id, federation.Pending, reasons.SiteUnavailable, "")
}

func TestArrayTasks(t *testing.T) {
	b := newBench(t)
	b.cheap.nodes, b.dear.nodes = 0, 0
	b.wait(5 * time.Second)
	id := b.submit(func(s *sbatch.Spec) { s.Array = "0-4%2" })
	b.rounds(2)
	b.request(action.Request{Job: id, Tasks: federation.Tasks(1, 4), Kind: action.Cancel, UID: 7001})
	b.rounds(1)
	if j := b.job(id); j.Spec.Array != "0,2-3%2" || j.State != federation.Pending {
		t.Errorf("array is %q %s after tasks 1 and 4 were cancelled", j.Spec.Array, j.State)
	}
	j := b.job(id)
	if gone := j.CancelledSet(); gone.Format(0) != "1,4" {
		t.Errorf("cancelled %+v", j.Whole.Cancelled)
	}
}
