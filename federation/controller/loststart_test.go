package controller

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/action"
	"fsub/federation/reasons"
	"fsub/sbatch"
)

// forgetStart is what a controller does that was killed after it had saved the job and before it saved its start.
func (f *fakeSite) forgetStart(id federation.JobID) {
	j := f.jobs[id]
	j.State, j.Start, j.Nodes = federation.Pending, time.Time{}, ""
}

// A site that shows a job as pending that had started will start it again by itself. That is a requeue: it may or may not be.
func TestLostStartFollowsRequeueRules(t *testing.T) {
	for _, requeue := range []bool{true, false} {
		t.Run(fmt.Sprintf("requeue=%v", requeue), func(t *testing.T) {
			b := newBench(t)
			id := b.submit(func(s *sbatch.Spec) { s.Requeue = &requeue })
			b.wait(2 * time.Second)
			b.cheap.start(id)
			b.wait(2 * time.Second)
			b.cheap.forgetStart(id)
			b.wait(3 * time.Second)
			if requeue {
				b.want(id, federation.Pending, "", "cheap")
				if n := b.job(id).Restarts; n != 1 || len(b.attempts(id)) != 1 || len(b.cheap.cancelled) != 0 {
					t.Errorf("%d restarts, attempts %+v, cancelled %v; want one restart where it is", n, b.attempts(id), b.cheap.cancelled)
				}
				return
			}
			b.want(id, federation.NodeFail, reasons.Forgotten, "cheap")
			if len(b.cheap.cancelled) == 0 {
				t.Error("not cancelled at the site, which will run it a second time")
			}
		})
	}
}

// A site that queues a job again shows it as pending while its nodes clean up, and counts the restart when they are done.
func TestQueuedAgainWhileCompleting(t *testing.T) {
	b := newBench(t)
	id := b.submit(nil)
	b.wait(2 * time.Second)
	b.cheap.start(id)
	b.wait(2 * time.Second)
	b.cheap.forgetStart(id)
	b.cheap.jobs[id].Completing = true
	b.wait(5 * time.Second)
	b.want(id, federation.Running, "", "cheap")
	b.cheap.jobs[id].Completing, b.cheap.jobs[id].Restarts = false, 1
	b.wait(5 * time.Second)
	b.want(id, federation.Pending, "", "cheap")
	if j := b.job(id); j.Restarts != 1 || len(b.attempts(id)) != 1 {
		t.Errorf("%d restarts, attempts %+v; want one restart where it is", j.Restarts, b.attempts(id))
	}
}

// A daemon that was down for less time than a site remembers ended jobs need not wait so long before it believes that a job
// is lost.
func TestForgottenWhileDaemonWasDown(t *testing.T) {
	for name, down := range map[string]time.Duration{"short": 5 * time.Second, "long": time.Hour} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			id := b.submit(nil)
			b.wait(2 * time.Second)
			ghost := *b.cheap.jobs[id]
			b.cheap.books[id] = &ghost
			delete(b.cheap.jobs, id)
			b.clock = b.clock.Add(down)
			b.restart()
			b.wait(10 * time.Second)
			if n := len(b.attempts(id)); (n == 2) != (name == "short") {
				t.Errorf("%d attempts after 10 s", n)
			}
			b.wait(70 * time.Second)
			if n := len(b.attempts(id)); n != 2 {
				t.Errorf("%d attempts after 80 s, want 2", n)
			}
		})
	}
}

// It may have started it again before anybody looked.
func TestStartedAgainFollowsRequeueRules(t *testing.T) {
	for _, requeue := range []bool{true, false} {
		t.Run(fmt.Sprintf("requeue=%v", requeue), func(t *testing.T) {
			b := newBench(t)
			id := b.submit(func(s *sbatch.Spec) { s.Requeue = &requeue })
			b.wait(2 * time.Second)
			b.cheap.start(id)
			b.wait(2 * time.Second)
			b.cheap.start(id)
			b.wait(2 * time.Second)
			if n := b.job(id).Restarts; n != 1 {
				t.Errorf("%d restarts, want 1", n)
			}
			if requeue {
				b.want(id, federation.Running, "", "cheap")
				return
			}
			b.want(id, federation.NodeFail, reasons.Forgotten, "cheap")
			if len(b.cheap.cancelled) == 0 {
				t.Error("the second run goes on")
			}
		})
	}
}

// Nodes that boot move a job's start.
func TestConfiguringIsNoStart(t *testing.T) {
	b := newBench(t)
	id := b.submit(nil)
	b.wait(2 * time.Second)
	b.cheap.start(id)
	b.cheap.jobs[id].State = federation.Configuring
	b.wait(2 * time.Second)
	b.cheap.start(id)
	b.wait(2 * time.Second)
	b.want(id, federation.Running, "", "cheap")
	if n := b.job(id).Restarts; n != 0 {
		t.Errorf("%d restarts", n)
	}
}

// A look-up that began before the job started may come in after a poll that saw it run. It is no lost start.
func TestOldPendingIsNoLostStart(t *testing.T) {
	b := newBench(t)
	no := false
	id := b.submit(func(s *sbatch.Spec) { s.Requeue = &no })
	b.wait(2 * time.Second)
	old := *b.cheap.jobs[id]
	b.cheap.start(id)
	b.wait(2 * time.Second)
	b.ctl.repairs.takeLookedUp(b.ctl.sites.byName["cheap"], lookedUp{job: id, attempt: 1, found: old})
	b.wait(3 * time.Second)
	b.want(id, federation.Running, "", "cheap")
	if b.job(id).Restarts != 0 {
		t.Error("counted as requeued")
	}
}

// A node that still knows the job refuses its second start; the site then requeues and holds it, forever.
func TestHeldAfterFailedLaunchIsReleased(t *testing.T) {
	b := newBench(t)
	id := b.submit(nil)
	b.wait(2 * time.Second)
	j := b.cheap.jobs[id]
	j.Reason, j.Restarts = reasons.HeldUser, 1
	b.wait(5 * time.Second)
	if len(b.cheap.released) == 0 {
		t.Fatal("not released")
	}
	j.Reason = reasons.Priority
	n := len(b.cheap.released)
	b.wait(10 * time.Second)
	if len(b.cheap.released) != n {
		t.Error("released again and again")
	}
}

func TestHeldByUserOrSiteIsNotReleased(t *testing.T) {
	b := newBench(t)
	bySite, byUser := b.submit(nil), b.submit(nil)
	b.wait(2 * time.Second)
	b.cheap.jobs[bySite].Reason = reasons.HeldUser // without a requeue: an operator there
	b.cheap.jobs[byUser].Reason, b.cheap.jobs[byUser].Restarts = reasons.HeldUser, 1
	b.request(action.Request{Job: byUser, Kind: action.Hold, UID: 7001})
	b.wait(10 * time.Second)
	if len(b.cheap.released) != 0 {
		t.Errorf("released %v", b.cheap.released)
	}
}

// A controller that forgot the end of a job runs it again. That copy is cancelled, also if the first try gets no answer.
func TestCopyOfEndedJobIsCancelled(t *testing.T) {
	b := newBench(t)
	id := b.submit(nil)
	b.wait(2 * time.Second)
	b.cheap.start(id)
	b.wait(2 * time.Second)
	b.cheap.end(id, federation.Completed)
	b.wait(2 * time.Second)
	b.want(id, federation.Completed, "", "cheap")
	back := *b.cheap.jobs[id]
	back.State, back.End = federation.Running, time.Time{}
	s := b.ctl.sites.byName["cheap"]
	b.cheap.fail = errLost
	b.ctl.orphans.check(s, back)
	b.wait(2 * time.Second)
	b.cheap.fail = nil
	b.wait(4 * time.Second)
	if len(b.cheap.cancelled) != 1 {
		t.Fatalf("cancelled %v, want it once", b.cheap.cancelled)
	}
	events, err := b.store.Events(t.Context(), id)
	if err != nil || len(events) == 0 || !strings.Contains(events[len(events)-1].Text, "a copy of it") {
		t.Errorf("history %v, %v: does not tell of the copy", events, err)
	}
	b.want(id, federation.Completed, "", "cheap")
}

// A site may tell that a job has begun before it tells anything else of it. It is not started a second time if it is not to be.
func TestForgottenAfterItHadBegun(t *testing.T) {
	b := newBench(t)
	no := false
	id := b.submit(func(s *sbatch.Spec) { s.Requeue = &no })
	b.wait(2 * time.Second)
	j := *b.cheap.jobs[id]
	b.drive(&tellsBegun{b.cheap, id})
	b.wait(time.Second)
	b.want(id, federation.Pending, "", "cheap")
	b.restart()
	b.drive(&tellsBegun{b.cheap, 0})
	delete(b.cheap.jobs, j.ID)
	b.wait(10 * time.Second)
	b.want(id, federation.NodeFail, reasons.Forgotten, "cheap")
}

// tellsBegun is a site that leaves the details of one job to later.
type tellsBegun struct {
	*fakeSite
	id federation.JobID
}

func (f *tellsBegun) Jobs(ctx context.Context, m federation.Mark) (federation.JobsReport, error) {
	r, err := f.fakeSite.Jobs(ctx, m)
	if f.id != 0 {
		r.Changed, r.Begun = nil, []federation.JobID{f.id}
	}
	return r, err
}
