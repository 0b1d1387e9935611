package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/action"
	"fsub/federation/reasons"
	"fsub/sbatch"
)

func moveRequest(id federation.JobID, m action.Relocation) action.Request {
	return action.Request{Job: id, Kind: action.Move, Operator: true, Move: &m}
}

func TestMoveOfAJobThatWaitsAtASite(t *testing.T) {
	b := newBench(t)
	id := b.submit(nil)
	b.wait(time.Second)
	b.want(id, federation.Pending, "", "cheap")
	b.request(moveRequest(id, action.Relocation{From: "cheap", Why: "its nodes are down"}))
	b.wait(3 * time.Second)
	b.want(id, federation.Pending, "", "dear")
	if j := b.job(id); j.Restarts != 0 || j.Attempt != 2 || j.Cost != 0 {
		t.Errorf("restarts %d, attempt %d, cost %v", j.Restarts, j.Attempt, j.Cost)
	}
	if !slices.Equal(b.cheap.held, []federation.JobID{id}) || !slices.Equal(b.cheap.cancelled, []federation.JobID{id}) {
		t.Errorf("held %v, cancelled %v", b.cheap.held, b.cheap.cancelled)
	}
	b.request(moveRequest(id, action.Relocation{From: "cheap"})) // it has left: nothing is done
	b.wait(3 * time.Second)
	b.want(id, federation.Pending, "", "dear")
	b.noRequests()
}

// The site has cancelled the job, and the daemon was killed before it knew: it asks again, and must not take the refusal to hold what has ended for that of a
// job that runs. The job was lost by that.
func TestMoveIsAskedForAgain(t *testing.T) {
	b := newBench(t)
	id := b.submit(nil)
	b.wait(time.Second)
	b.request(moveRequest(id, action.Relocation{From: "cheap", Why: "its nodes are down"}))
	b.cheap.end(id, federation.Cancelled)
	b.restart()
	b.wait(3 * time.Second)
	b.want(id, federation.Pending, "", "dear")
	b.noRequests()
}

// cancelledBefore is a site that has cancelled a job, and tells nothing of it for now.
type cancelledBefore struct{ *fakeSite }

func (cancelledBefore) Hold(context.Context, federation.JobRef) error {
	return fmt.Errorf("%w: job is no longer pending", federation.ErrConflict)
}

func (cancelledBefore) Lookup(context.Context, federation.JobRef) (federation.SiteJob, error) {
	return federation.SiteJob{}, federation.ErrUnavailable
}

// A site that refuses to hold a job, and dies before it has said why, may have cancelled it for the move: that is found out, and nothing is refused before. A job
// was lost by that.
func TestMoveIsNotRefusedInTheDark(t *testing.T) {
	if err := takeAway(cancelledBefore{}, federation.JobRef{}, true)(t.Context()); !errors.Is(err, federation.ErrUnavailable) || errors.Is(err, federation.ErrConflict) {
		t.Errorf("it is told as %v", err)
	}
}

// Nor does a new daemon that has found it at the other site, when that has forgotten it.
func TestMoveIsRememberedElsewhere(t *testing.T) {
	b := newBench(t)
	id := b.submit(nil)
	b.wait(time.Second)
	b.request(moveRequest(id, action.Relocation{From: "cheap", Why: "its nodes are down"}))
	b.wait(3 * time.Second)
	b.want(id, federation.Pending, "", "dear")
	b.restart()
	b.dear.refuses = fmt.Errorf("%w: it takes no jobs", federation.ErrCapacity)
	delete(b.dear.jobs, id)
	b.wait(30 * time.Second)
	all := b.attempts(id)
	if len(all) < 3 || slices.ContainsFunc(all[1:], func(a federation.Attempt) bool { return a.Site != "dear" }) {
		t.Errorf("it was sent to %+v", all)
	}
}

// A new daemon does not send it back either.
func TestMoveOutlivesTheDaemon(t *testing.T) {
	b := newBench(t)
	id := b.submit(nil)
	b.wait(time.Second)
	b.dear.refuses = fmt.Errorf("%w: it takes no jobs", federation.ErrCapacity)
	b.request(moveRequest(id, action.Relocation{From: "cheap", Why: "its nodes are down"}))
	b.wait(3 * time.Second)
	b.want(id, federation.Pending, reasons.Moved, "")
	b.restart()
	b.wait(30 * time.Second)
	b.want(id, federation.Pending, reasons.Moved, "")
	b.wait(11 * time.Minute)
	b.want(id, federation.Pending, "", "") // cheap still remembers its ID: that is no reason to give it up
	delete(b.cheap.jobs, id)
	b.wait(11 * time.Minute)
	b.want(id, federation.Pending, "", "cheap")
}

// The end is not proven while the site does not answer: the job stays where it is.
func TestMoveWaitsForTheSite(t *testing.T) {
	b := newBench(t)
	id := b.submit(nil)
	b.wait(time.Second)
	b.cheap.fail = federation.ErrUnavailable
	b.request(moveRequest(id, action.Relocation{}))
	b.wait(20 * time.Second)
	b.want(id, federation.Pending, "", "cheap")
	if b.dear.jobs[id] != nil {
		t.Fatal("two copies")
	}
	b.cheap.fail = nil
	b.wait(40 * time.Second)
	b.want(id, federation.Pending, "", "dear")
	b.noRequests()
}

func TestMoveOfAJobThatRuns(t *testing.T) {
	b := newBench(t)
	id := b.running()
	b.request(moveRequest(id, action.Relocation{}))
	b.wait(2 * time.Second)
	b.want(id, federation.Running, "", "cheap")
	if err := b.ctl.Refusal(1); !errors.Is(err, federation.ErrConflict) {
		t.Errorf("refusal: %v", err)
	}
	b.request(moveRequest(id, action.Relocation{To: []federation.SiteName{"dear"}, Running: true}))
	b.wait(3 * time.Second)
	b.want(id, federation.Pending, "", "dear")
	if j := b.job(id); j.Restarts != 1 {
		t.Errorf("restarts %d", j.Restarts)
	}
	no := false
	other := b.submit(func(s *sbatch.Spec) { s.Requeue = &no })
	b.wait(time.Second)
	b.cheap.start(other)
	b.wait(time.Second)
	b.request(moveRequest(other, action.Relocation{Running: true}))
	b.wait(2 * time.Second)
	b.want(other, federation.Running, "", "cheap")
	b.noRequests()
}

// TestMoveGivesTimeForACheckpoint: a job that runs and has --signal gets that, and is cancelled when its time is over, or is moved as soon as it has ended by itself; with Now it
// is cancelled at once.
func TestMoveGivesTimeForACheckpoint(t *testing.T) {
	for name, c := range map[string]struct {
		now, ends bool
	}{"cancelled after its time": {}, "ends by itself": {ends: true}, "now": {now: true}} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			id := b.submit(func(s *sbatch.Spec) {
				s.Signal = &sbatch.Signal{Name: "USR1", Before: time.Minute, BatchOnly: true}
			})
			b.wait(time.Second)
			b.cheap.start(id)
			b.wait(time.Second)
			b.request(moveRequest(id, action.Relocation{To: []federation.SiteName{"dear"}, Running: true, Now: c.now}))
			b.wait(3 * time.Second)
			if !c.now {
				b.want(id, federation.Running, "", "cheap")
				if got := fmt.Sprint(b.cheap.signals); got != "[{USR1 true false}]" {
					t.Errorf("signals %s", got)
				}
				if c.ends {
					b.cheap.end(id, federation.Failed)
					b.wait(3 * time.Second)
				} else {
					b.wait(time.Minute)
				}
			}
			b.want(id, federation.Pending, "", "dear")
			if j := b.job(id); j.Restarts != 1 || len(b.cheap.cancelled) > 0 == c.ends {
				t.Errorf("restarts %d, cancelled %v", j.Restarts, b.cheap.cancelled)
			}
			b.noRequests()
		})
	}
}

// It starts at the very moment at which it is to be held.
func TestMoveThatComesTooLate(t *testing.T) {
	b := newBench(t)
	late := &startsFirst{b.cheap}
	b.drive(late)
	id := b.submit(nil)
	b.wait(time.Second)
	b.request(moveRequest(id, action.Relocation{}))
	b.wait(2 * time.Second)
	b.want(id, federation.Running, "", "cheap")
	if len(b.cheap.cancelled) > 0 || b.ctl.Refusal(1) == nil {
		t.Errorf("cancelled %v, refusal %v", b.cheap.cancelled, b.ctl.Refusal(1))
	}
	b.noRequests()
}

type startsFirst struct{ *fakeSite }

func (s *startsFirst) Hold(_ context.Context, ref federation.JobRef) error {
	s.start(ref.ID)
	return federation.ErrConflict
}

func TestMoveOfTasks(t *testing.T) {
	b := newBench(t)
	id := b.submit(func(s *sbatch.Spec) { s.Array, s.GPUsPerNode = "0-1", "1" })
	b.wait(time.Second)
	r := moveRequest(id, action.Relocation{})
	r.Tasks = federation.Tasks(1)
	from := b.part(id, 1).Site
	b.request(r)
	b.wait(3 * time.Second)
	if p := b.part(id, 1); p.Site == from || p.Site == "" || p.Attempt != 2 || b.part(id, 0).Attempt != 1 {
		t.Errorf("task 1 at %q, attempt %d; task 0 attempt %d", p.Site, p.Attempt, b.part(id, 0).Attempt)
	}
	b.noRequests()
}

// The daemon dies after every step of a move: there is one copy, and it is moved once.
func TestMoveOutlivesCrashes(t *testing.T) {
	for n := range 8 {
		b := newBench(t)
		id := b.submit(nil)
		b.wait(time.Second)
		b.request(moveRequest(id, action.Relocation{From: "cheap"}))
		b.rounds(n)
		b.restart()
		b.wait(75 * time.Second)
		live := 0
		for _, f := range []*fakeSite{b.cheap, b.dear} {
			if j := f.jobs[id]; j != nil && !j.State.Ended() {
				live++
			}
		}
		if j := b.job(id); live != 1 || j.State != federation.Pending || j.Restarts != 0 || j.Attempt < 2 {
			t.Errorf("crash after %d rounds: %d copies, %s at %q, %d restarts, attempt %d", n, live, j.State, j.Site, j.Restarts, j.Attempt)
		}
		b.noRequests()
	}
}

// A site that does not cancel it keeps it, and does not hold it.
func TestMoveThatTheSiteRefuses(t *testing.T) {
	b := newBench(t)
	b.drive(&keeps{b.cheap})
	id := b.submit(nil)
	b.wait(time.Second)
	b.request(moveRequest(id, action.Relocation{}))
	b.wait(2 * time.Second)
	b.want(id, federation.Pending, "", "cheap")
	if !slices.Contains(b.cheap.released, id) || !errors.Is(b.ctl.Refusal(1), federation.ErrDenied) {
		t.Errorf("released %v, refusal %v", b.cheap.released, b.ctl.Refusal(1))
	}
	b.noRequests()
}

type keeps struct{ *fakeSite }

func (*keeps) Cancel(context.Context, federation.JobRef, []int) error { return federation.ErrDenied }

// No named site can take it in the end: it is free to go anywhere at once, but for the site that still remembers its ID.
func TestMoveToWhereItCannotRun(t *testing.T) {
	b := newBench(t)
	id := b.running()
	b.dear.refuses = fmt.Errorf("%w: it takes no jobs", federation.ErrCapacity)
	b.request(moveRequest(id, action.Relocation{To: []federation.SiteName{"dear"}, Running: true}))
	b.wait(3 * time.Second)
	b.want(id, federation.Pending, "", "")
	delete(b.cheap.jobs, id)
	b.wait(5*time.Minute + 30*time.Second) // MinJobAge, not the ten minutes of a move
	b.want(id, federation.Pending, "", "cheap")
	b.noRequests()
}

// WhyNone asks nobody: it judges as a submission is judged, for the sites that are named.
func TestWhyNone(t *testing.T) {
	b := newBench(t)
	id := b.submit(nil)
	b.wait(time.Second)
	j := b.job(id)
	ask := b.ctl.WhyNone()
	if why := ask(&j, []federation.SiteName{"dear", "nowhere"}); why != nil {
		t.Errorf("one of them can: %+v", why)
	}
	if why := ask(&j, []federation.SiteName{"nowhere"}); len(why) != 1 || why[0].Site != "nowhere" {
		t.Errorf("got %+v", why)
	}
	odd := federation.Job{ID: 5, User: "alice"}
	odd.SetSpec(sbatch.Spec{Partition: "nosuch"})
	why := ask(&odd, []federation.SiteName{"dear", "cheap"})
	if len(why) != 2 || why[0].Site != "dear" || why[0].Reason != reasons.Partition || why[0].Text() == "" {
		t.Errorf("got %+v", why)
	}
}
