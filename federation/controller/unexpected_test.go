package controller

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"fsub/accounting"
	"fsub/federation"
	"fsub/federation/action"
	"fsub/federation/journal"
	"fsub/federation/place"
	"fsub/federation/reasons"
	"fsub/sbatch"
)

// What happens when things come at odd times.

// hookedStore is a store in which something happens just before the controller reads.
type hookedStore struct {
	Store
	beforeRequests func()
	failJob        error // what Job fails with
	failCommit     error
	requests       int // read
	done, most     int // requests that are done, in all and in one commit
}

func (h *hookedStore) Requests(ctx context.Context, after int64) ([]action.Request, error) {
	if f := h.beforeRequests; f != nil {
		h.beforeRequests = nil
		f()
	}
	all, err := h.Store.Requests(ctx, after)
	h.requests += len(all)
	return all, err
}

func (h *hookedStore) Job(ctx context.Context, id federation.JobID) (federation.Job, error) {
	if h.failJob != nil {
		return federation.Job{}, h.failJob
	}
	return h.Store.Job(ctx, id)
}

func (h *hookedStore) Commit(ctx context.Context, b *journal.Batch) error {
	if h.failCommit != nil {
		return h.failCommit
	}
	h.done, h.most = h.done+len(b.Done), max(h.most, len(b.Done))
	return h.Store.Commit(ctx, b)
}

func (b *bench) hook() *hookedStore {
	h := &hookedStore{Store: b.store}
	b.with(func(c *Config) { c.Store = h })
	return h
}

// A job ends in a round in which the store, which does not know of the end yet, shows it as pending and just written.
func TestEndIsNotTakenForANewJob(t *testing.T) {
	b := newBench(t)
	id := b.submit(nil)
	b.rounds(4)
	b.cheap.start(id)
	b.cheap.end(id, federation.Completed)
	for range 5 { // each writes the job, still pending here, again
		b.request(action.Request{Job: id, Kind: action.Hold, UID: 7001})
		b.rounds(1)
	}
	b.rounds(20)
	b.want(id, federation.Completed, "", "cheap")
	if n := len(b.attempts(id)); n != 1 {
		t.Fatalf("%d attempts, want 1", n)
	}
}

func TestEndIsNotTakenForANewJobWhileTheStoreFails(t *testing.T) {
	b := newBench(t)
	h := b.hook()
	id := b.submit(nil)
	b.rounds(4)
	b.request(action.Request{Job: id, Kind: action.Hold, UID: 7001})
	b.cheap.start(id)
	b.cheap.end(id, federation.Completed)
	b.ctl.Round(t.Context())
	h.failCommit = errors.New("disk full")
	b.rounds(5)
	h.failCommit = nil
	b.rounds(20)
	b.want(id, federation.Completed, "", "cheap")
	if n := len(b.attempts(id)); n != 1 {
		t.Fatalf("%d attempts, want 1", n)
	}
}

// Requests that wait for the site, or for one before them, are not read again in each round.
func TestRequestsAreReadOnce(t *testing.T) {
	b := newBench(t)
	a := b.makeAble()
	h := b.hook()
	id := b.submit(nil)
	b.wait(time.Second)
	a.err = federation.ErrUnavailable
	for _, limit := range []string{"7", "8", "9"} {
		b.request(change(id, "time", limit))
		b.wait(time.Second)
	}
	b.wait(time.Minute)
	a.err = nil
	b.wait(time.Minute)
	if j := b.job(id); j.Spec.TimeLimit != 9*time.Minute || h.requests != 3 {
		t.Errorf("limit %s, %d requests were read", j.Spec.TimeLimit, h.requests)
	}
	b.noRequests()
}

// However many requests there are, no commit is large, and those for one job keep their order.
func TestRequestsOfARoundAreBounded(t *testing.T) {
	b := newBench(t)
	h := b.hook()
	ids := make([]federation.JobID, 20)
	for i := range ids {
		ids[i] = b.submit(func(s *sbatch.Spec) { s.Hold = true })
	}
	b.rounds(2)
	const each = 51
	for i := range each {
		for _, id := range ids {
			b.request(action.Request{Job: id, Kind: []action.Kind{action.Hold, action.Release}[i%2], UID: 7001})
		}
	}
	b.rounds(1)
	if h.most > mostRequests || h.most == 0 {
		t.Errorf("%d requests were done in one commit", h.most)
	}
	b.rounds(5)
	if h.done != each*len(ids) {
		t.Errorf("%d of %d requests are done", h.done, each*len(ids))
	}
	if j := b.job(ids[0]); j.Held != federation.HeldUser {
		t.Errorf("held %q, though that was asked for last", j.Held)
	}
	b.noRequests()
}

// Two jobs and a request about the second are written while the controller reads: none is overlooked.
func TestJobsWrittenWhileReadingAreTakenUp(t *testing.T) {
	b := newBench(t)
	var first, second federation.JobID
	h := b.hook()
	b.request(action.Request{Job: b.submit(nil), Kind: action.Top, UID: 7001}) // requests are read once there are some
	h.beforeRequests = func() {
		first, second = b.submit(nil), b.submit(nil)
		b.request(action.Request{Job: second, Kind: action.Hold, UID: 7001})
	}
	b.rounds(10)
	b.want(first, federation.Pending, "", "cheap")
	b.want(second, federation.Pending, reasons.HeldUser, "")
}

// A job is submitted in the very round in which the one that it depends on ends.
func TestDependencyOnJobThatEndsMeanwhile(t *testing.T) {
	b := newBench(t)
	on := b.submit(func(s *sbatch.Spec) { s.Name = "first" })
	b.rounds(4)
	b.cheap.start(on)
	b.rounds(4)
	b.cheap.end(on, federation.Completed)
	var ids []federation.JobID
	for range 5 {
		ids = append(ids, b.submit(func(s *sbatch.Spec) { s.Dependency = fmt.Sprintf("afterok:%d", on) }))
		b.rounds(1)
	}
	b.rounds(20)
	for _, id := range ids {
		if j := b.job(id); j.Reason == reasons.Dependency {
			t.Errorf("job %d still waits for %d, which has ended", id, on)
		}
	}
}

func TestDependencyOnStart(t *testing.T) {
	b := newBench(t)
	on := b.submit(nil)
	id := b.submit(func(s *sbatch.Spec) { s.Dependency = fmt.Sprintf("after:%d", on) })
	b.rounds(5)
	b.want(id, federation.Pending, reasons.Dependency, "")
	b.cheap.start(on)
	b.rounds(10)
	b.want(on, federation.Running, "", "cheap")
	b.want(id, federation.Pending, "", "cheap")
}

func TestDependencyOnTask(t *testing.T) {
	b := newBench(t)
	on := b.submit(func(s *sbatch.Spec) { s.Array = "0-1" })
	id := b.submit(func(s *sbatch.Spec) { s.Dependency = fmt.Sprintf("afterok:%d_0", on) })
	late := b.submit(func(s *sbatch.Spec) { s.Dependency = fmt.Sprintf("afterok:%d_1", on) })
	b.rounds(5)
	b.tasks(on, federation.Completed, federation.Running)
	b.rounds(10)
	b.want(id, federation.Pending, "", "cheap")
	b.want(late, federation.Pending, reasons.Dependency, "")
}

// After a restart a dependency on a task that has ended is met as it was before.
func TestDependencyOnTaskAfterRestart(t *testing.T) {
	b := newBench(t)
	on := b.submit(func(s *sbatch.Spec) { s.Array = "0-1" })
	b.rounds(5)
	b.tasks(on, federation.Completed, federation.Running)
	b.rounds(10)
	id := b.submit(func(s *sbatch.Spec) { s.Dependency = fmt.Sprintf("afterok:%d_0", on) })
	b.restart()
	b.rounds(10)
	b.want(id, federation.Pending, "", "cheap")
}

// A store that fails says nothing about the job that was asked for.
func TestDependencyWhileTheStoreFails(t *testing.T) {
	b := newBench(t)
	on := b.submit(func(s *sbatch.Spec) { s.Array = "0-1" })
	b.rounds(5)
	b.request(action.Request{Job: on, Kind: action.Cancel, UID: 7001})
	b.rounds(20)
	if j := b.job(on); j.State != federation.Cancelled {
		t.Fatalf("%s after it was cancelled", j.State)
	}
	h := b.hook()
	h.failJob = federation.ErrUnavailable
	id := b.submit(func(s *sbatch.Spec) { s.Dependency = fmt.Sprintf("afterok:%d", on) })
	b.rounds(5)
	h.failJob = nil
	b.rounds(5)
	b.want(id, federation.Pending, reasons.DependencyNever, "")
}

// That one site has refused a job is no reason to wait with its cancellation at another.
func TestCancelAfterRefusalElsewhere(t *testing.T) {
	b := newBench(t)
	b.cheap.fail = nil
	refusing := &refusingSite{b.cheap}
	b.drive(refusing)
	id := b.submit(nil)
	b.rounds(8)
	b.want(id, federation.Pending, "", "dear")
	b.request(action.Request{Job: id, Kind: action.Cancel, UID: 7001})
	b.wait(3 * time.Second)
	b.want(id, federation.Cancelled, "", "dear")
}

type refusingSite struct{ *fakeSite }

func (*refusingSite) Submit(context.Context, federation.Submission) (federation.Receipt, error) {
	return federation.Receipt{}, federation.ErrDenied
}

func TestUserCannotLiftOperatorsHold(t *testing.T) {
	b := newBench(t)
	id := b.submit(func(s *sbatch.Spec) { s.Begin = b.clock.Add(time.Hour) })
	b.rounds(2)
	b.request(action.Request{Job: id, Kind: action.Hold, UID: 0, Operator: true})
	b.request(action.Request{Job: id, Kind: action.Hold, UID: 7001})
	b.request(action.Request{Job: id, Kind: action.Release, UID: 7001})
	b.rounds(2)
	b.want(id, federation.Pending, reasons.HeldAdmin, "")
}

// A job at a site that was taken out of the configuration waits for it; an operator may give it up.
func TestSiteRemovedFromConfiguration(t *testing.T) {
	b := newBench(t)
	id := b.submit(nil)
	b.rounds(4)
	b.cheap.start(id)
	b.rounds(4)
	cheap := b.cheap
	b.ctl = nil
	ctl, err := New(t.Context(), Config{Federation: "test", Store: b.store, Policy: place.DefaultPolicy(), Now: b.now, Inline: true, Sites: []Site{
		{Name: "dear", Driver: b.dear, Prices: accounting.Prices{"gres/gpu": 3}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	b.ctl = ctl
	b.rounds(10)
	b.want(id, federation.Running, "", "cheap")
	b.request(action.Request{Job: id, Kind: action.Cancel, UID: 7001})
	b.rounds(10)
	b.want(id, federation.Running, "", "cheap")
	b.request(action.Request{Job: id, Kind: action.Cancel, UID: 0, Operator: true})
	b.rounds(2)
	b.want(id, federation.Cancelled, "", "cheap")
	b.restart() // with the site again: the copy there is cancelled
	b.rounds(10)
	if len(cheap.cancelled) == 0 {
		t.Error("the copy at the site that came back was not cancelled")
	}
}

// An array that an earlier version has handed over whole, and that is requeued, runs those tasks again that have not come to an end of their own, and no others.
func TestRequeuedArrayKeepsItsEndedTasks(t *testing.T) {
	b := newBench(t)
	id := b.handedOver("0-3")
	b.cheap.start(id)
	began := b.clock
	end := began.Add(time.Hour)
	sj := b.cheap.jobs[id]
	sj.Tasks = []federation.SiteTask{
		{Index: 0, State: federation.Completed, Start: began, End: end},
		{Index: 1, State: federation.NodeFail, Start: began, End: end},
		{Index: 2, State: federation.Failed, Start: began, End: end},
		{Index: 3, State: federation.Completed, Start: began, End: end},
	}
	sj.State, sj.End = federation.NodeFail, end
	b.rounds(4)
	b.rounds(10)
	j := b.job(id)
	if j.Cost != 8*federation.Dollar { // 4 tasks x 2 GPUs x 1 h x $1
		t.Errorf("cost of the first attempt: %v", j.Cost)
	}
	p := b.part(id, 1) // under a number of its own: cheap still has the array's
	if p.Site != "cheap" || p.Part.Count != 4 || p.Part.Max != 3 || j.Spec.Array != "" {
		t.Fatalf("at %q as a part of %+v, left of the array %q", p.Site, p.Part, j.Spec.Array)
	}
	b.restart()
	b.rounds(3)
	b.cheap.start(p.ID)
	sj = b.cheap.jobs[p.ID]
	sj.State, sj.End = federation.Completed, b.clock.Add(time.Hour)
	b.rounds(5)
	if j := b.job(id); j.State != federation.Failed || j.Cost != 10*federation.Dollar {
		t.Errorf("%s at %v, want FAILED, as its task 2, at $10: what was paid for once is not counted twice", j.State, j.Cost)
	}
}

// A release that the site did not hear is said again.
func TestReleaseIsRepeated(t *testing.T) {
	b := newBench(t)
	id := b.submit(nil)
	b.rounds(4)
	b.request(action.Request{Job: id, Kind: action.Hold, UID: 7001})
	b.rounds(2)
	b.drive(&deafSite{fakeSite: b.cheap, deaf: 2})
	b.request(action.Request{Job: id, Kind: action.Release, UID: 7001})
	b.wait(15 * time.Second)
	if len(b.cheap.released) != 1 {
		t.Fatalf("released %d times, want once: it did not hear the first two", len(b.cheap.released))
	}
}

type deafSite struct {
	*fakeSite
	deaf int
}

func (d *deafSite) Release(ctx context.Context, ref federation.JobRef) error {
	if d.deaf > 0 {
		d.deaf--
		return federation.ErrUnavailable
	}
	return d.fakeSite.Release(ctx, ref)
}

// A poll sees the attempt before its submission returns with an error: the error proves nothing.
func TestErrorAfterThePollHasSeenIt(t *testing.T) {
	b := newBench(t)
	id := b.submit(nil)
	b.rounds(4)
	j, s := b.ctl.jobs.Of(id), b.ctl.sites.byName["cheap"]
	b.cheap.start(id)
	b.rounds(5)
	b.ctl.attempts.takeSubmitted(s, submitted{job: id, attempt: 1, err: federation.ErrDenied})
	b.wait(3 * time.Second)
	b.want(id, federation.Running, "", "cheap")
	if j.unsure || len(b.attempts(id)) != 1 {
		t.Errorf("unsure: %v, attempts: %v", j.unsure, b.attempts(id))
	}
}

// Users choose the kinds of jobs, and while no site answers nothing makes their judgements stale.
func TestJudgementsAreBounded(t *testing.T) {
	b := newBench(t)
	for i := range maxJudgements + 100 {
		j := &federation.Job{User: "alice", Spec: &sbatch.Spec{NTasks: 1, TimeLimit: time.Duration(i+1) * time.Minute}}
		if err := b.ctl.Judge(j); err != nil {
			t.Fatal(err)
		}
	}
	if n := b.ctl.shown.Load().judged.n.Load(); n > maxJudgements {
		t.Errorf("%d judgements are remembered", n)
	}
}

// What a round was too soon to publish is published when it may be, not when something else happens.
func TestViewCatchesUp(t *testing.T) {
	b := newBench(t)
	b.wait(10 * time.Second)
	b.ctl.published = b.clock
	next := b.ctl.Round(t.Context())
	if d := next.Sub(b.clock); d > publishEvery {
		t.Errorf("the next round is due in %v, want at most %v: the view is behind", d, publishEvery)
	}
}
