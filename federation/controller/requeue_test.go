package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/action"
	"fsub/federation/driver"
	"fsub/federation/reasons"
	"fsub/sbatch"
)

// able is a site that can requeue and change jobs.
type able struct {
	*fakeSite
	requeues []federation.JobID
	updates  []sbatch.Spec
	err      error
}

func (a *able) Abilities() driver.Abilities { return driver.Abilities{Requeue: a, Update: a} }

func (a *able) Requeue(_ context.Context, ref federation.JobRef, _ []int) error {
	if a.err != nil {
		return a.err
	}
	a.requeues = append(a.requeues, ref.ID)
	j := a.jobs[ref.ID]
	j.State, j.Start, j.Nodes = federation.Pending, time.Time{}, ""
	j.Restarts++
	return nil
}

func (a *able) Update(_ context.Context, _ federation.JobRef, _ string, _, after *federation.Job) error {
	if a.err != nil {
		return a.err
	}
	a.updates = append(a.updates, *after.Spec)
	return nil
}

func (b *bench) makeAble() *able {
	a := &able{fakeSite: b.cheap}
	b.drive(a)
	return a
}

func requeue(id federation.JobID) action.Request {
	return action.Request{Job: id, Kind: action.Requeue, UID: 7001}
}

func change(id federation.JobID, option, value string) action.Request {
	return action.Request{Job: id, Kind: action.Update, UID: 7001, Change: []sbatch.Change{{Key: option, Option: option, Value: value}}}
}

func (b *bench) running() federation.JobID {
	b.t.Helper()
	id := b.submit(nil)
	b.wait(time.Second)
	b.cheap.start(id)
	b.wait(time.Second)
	b.want(id, federation.Running, "", "cheap")
	return id
}

func TestRequeueAtTheSite(t *testing.T) {
	b := newBench(t)
	a := b.makeAble()
	id := b.running()
	b.request(requeue(id))
	b.wait(2 * time.Second)
	b.want(id, federation.Pending, "", "cheap")
	if j := b.job(id); j.Restarts != 1 || j.Attempt != 1 || len(a.requeues) != 1 || len(b.cheap.cancelled) != 0 {
		t.Errorf("restarts %d, attempt %d, requeues %v, cancelled %v", j.Restarts, j.Attempt, a.requeues, b.cheap.cancelled)
	}
	b.noRequests()
}

// A site that cannot requeue has its run stopped, and the job runs again under its ID, elsewhere if that is sooner.
func TestRequeueByTheFederation(t *testing.T) {
	b := newBench(t)
	id := b.running()
	b.request(requeue(id))
	b.wait(3 * time.Second)
	b.want(id, federation.Pending, "", "dear")
	if j := b.job(id); j.Restarts != 1 || j.Attempt != 2 || b.dear.jobs[id] == nil {
		t.Errorf("restarts %d, attempt %d", j.Restarts, j.Attempt)
	}
	b.noRequests()
}

func TestRequeueHold(t *testing.T) {
	for name, can := range map[string]bool{"site": true, "federation": false} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			if can {
				b.makeAble()
			}
			for kind, held := range map[action.Kind]federation.Hold{action.ReqHold: federation.HeldUser, action.Special: federation.HeldSpecial} {
				id := b.running()
				b.request(action.Request{Job: id, Kind: kind, UID: 7001})
				b.wait(3 * time.Second)
				if j := b.job(id); j.State != federation.Pending || j.Held != held || j.Restarts != 1 {
					t.Errorf("%s: %s, held %q, %d restarts", kind, j.State, j.Held, j.Restarts)
				}
				b.noRequests()
			}
		})
	}
}

func TestRequeueOfAnEndedJob(t *testing.T) {
	b := newBench(t)
	id := b.running()
	b.cheap.end(id, federation.Failed)
	b.wait(time.Second)
	b.want(id, federation.Failed, "", "cheap")
	b.request(requeue(id))
	b.wait(2 * time.Second)
	b.want(id, federation.Pending, "", "dear")
	if j := b.job(id); j.Restarts != 1 || !j.End.IsZero() {
		t.Errorf("restarts %d, end %v", j.Restarts, j.End)
	}
	b.noRequests()
}

// remembered is a bench with a job that is queued again after it has ended at a site that remembers it. The other site is down.
func remembered(t *testing.T) (b *bench, id federation.JobID) {
	t.Helper()
	b = newBench(t)
	id = b.running()
	b.dear.state = "DOWN"
	b.cheap.end(id, federation.Failed)
	b.wait(time.Second)
	b.request(requeue(id))
	return b, id
}

// Slurm's default is to remember an ended job for five minutes, longer than we wait before we send it there again. Each time the job goes back to the queue, and
// may run elsewhere.
func TestSiteRemembersTheRunBefore(t *testing.T) {
	b, id := remembered(t)
	b.wait(150 * time.Second)
	b.want(id, federation.Pending, reasons.BeginTime, "")
	if h := b.history(id); strings.Count(h, "cheap remembers the run before") != 2 || strings.Contains(h, "unknown") {
		t.Errorf("the history after the site was asked twice: %s", h)
	}
	if n := len(b.attempts(id)); n != 3 || b.cheap.submits != 1 { // the ID is looked for, not tried
		t.Errorf("%d attempts, %d submissions in 150 s", n, b.cheap.submits)
	}
	delete(b.cheap.jobs, id)
	b.wait(time.Minute + freeFor)
	b.want(id, federation.Pending, "", "cheap")
	if b.cheap.jobs[id] == nil {
		t.Error("it is not at the site that has forgotten the run before")
	}
	b.noRequests()
}

// A slurmctld that has just purged a job removes its files some time later, under the ID: what is submitted in that moment loses its script, and 24.11 ends itself over that.
func TestIDIsLeftAloneAfterAPurge(t *testing.T) {
	b, id := remembered(t)
	b.wait(58 * time.Second) // until shortly before it goes there again
	delete(b.cheap.jobs, id)
	purged, lookups := b.clock, b.cheap.lookups
	for b.cheap.submits == 1 && b.clock.Sub(purged) < 2*time.Minute {
		b.rounds(1)
	}
	if after := b.clock.Sub(purged); b.cheap.submits != 2 || after < freeFor || after > freeFor+5*time.Second || b.cheap.lookups-lookups < 2 {
		t.Errorf("%d submissions, the second one %s after the purge and %d looks", b.cheap.submits, after, b.cheap.lookups-lookups)
	}
	b.wait(time.Second)
	b.want(id, federation.Pending, "", "cheap")
	if h := b.history(id); strings.Contains(h, "unknown") || strings.Contains(h, "submitted again") {
		t.Errorf("its history: %s", h)
	}
}

// A job that is cancelled while its ID is left alone ends at once.
func TestCancelWhileIDIsLeftAlone(t *testing.T) {
	b, id := remembered(t)
	delete(b.cheap.jobs, id)
	b.wait(62 * time.Second)
	b.want(id, federation.Pending, "", "cheap")
	b.request(action.Request{Job: id, Kind: action.Cancel, UID: 7001})
	b.wait(freeFor + time.Second)
	b.want(id, federation.Cancelled, "", "cheap")
	if b.cheap.submits != 1 {
		t.Errorf("it was submitted")
	}
}

// MinJobAge may be days: the attempts of a job are not to be thousands.
func TestLongMemory(t *testing.T) {
	b, id := remembered(t)
	b.wait(time.Hour)
	if n := len(b.attempts(id)); n < 10 || n > 20 {
		t.Errorf("%d attempts in an hour", n)
	}
}

func TestRememberedJobRunsElsewhere(t *testing.T) {
	b, id := remembered(t)
	b.wait(70 * time.Second) // it was refused there once
	b.dear.state = ""
	b.wait(10 * time.Second)
	b.want(id, federation.Pending, "", "dear")
	if b.dear.jobs[id] == nil {
		t.Error("it does not wait at the site that is free")
	}
}

// The daemon dies after every step of a requeue: the job is requeued once.
func TestRequeueOutlivesCrashes(t *testing.T) {
	for n := range 8 {
		b := newBench(t)
		id := b.running()
		b.request(requeue(id))
		b.rounds(n)
		b.restart()
		b.wait(5 * time.Second)
		if j := b.job(id); j.Restarts != 1 || j.Attempt != 2 || j.State != federation.Pending {
			t.Errorf("crash after %d rounds: %s, %d restarts, attempt %d", n, j.State, j.Restarts, j.Attempt)
		}
		b.noRequests()
	}
}

func TestUpdateHere(t *testing.T) {
	b := newBench(t)
	first := b.submit(func(s *sbatch.Spec) { s.Begin = b.clock.Add(time.Hour) })
	id := b.submit(func(s *sbatch.Spec) { s.Begin = b.clock.Add(time.Hour) })
	b.wait(time.Second)
	b.want(id, federation.Pending, reasons.BeginTime, "")
	b.request(change(id, "dependency", "afterany:"+first.String()))
	b.request(change(id, "begin", "2026-01-01T00:00:00"))
	b.request(change(id, "time", "7"))
	b.wait(time.Second)
	b.want(id, federation.Pending, reasons.Dependency, "")
	b.restart()
	b.wait(time.Second)
	if j := b.job(id); j.Spec.TimeLimit != 7*time.Minute || j.Reason != reasons.Dependency {
		t.Errorf("after a restart: limit %v, %s", j.Spec.TimeLimit, j.Reason)
	}
	b.request(change(id, "dependency", ""))
	b.wait(time.Second)
	b.want(id, federation.Pending, "", "cheap")
	b.noRequests()
}

// A dependency by which a job would wait for itself is refused, however many jobs are between.
func TestUpdateMakesNoRing(t *testing.T) {
	b := newBench(t)
	var ids []federation.JobID
	for i := range 15 {
		ids = append(ids, b.submit(func(s *sbatch.Spec) {
			if s.Begin = b.clock.Add(time.Hour); i > 0 {
				s.Dependency = "afterok:" + ids[i-1].String()
			}
		}))
	}
	b.wait(time.Second)
	first := ids[0]
	for want, on := range map[string]federation.JobID{
		"Job dependency problem: a job cannot wait for itself":                                                                             first,
		fmt.Sprintf("Circular job dependency: %[1]d waits for %[3]d, %[3]d waits for %[2]d, %[2]d waits for %[1]d", first, ids[1], ids[2]): ids[2],
		"Circular job dependency: ..., and ":                                                                                               ids[14],
	} {
		seq, err := b.store.AddRequest(t.Context(), change(first, "dependency", "afterany:"+on.String()))
		if err != nil {
			t.Fatal(err)
		}
		b.wait(time.Second)
		if err := b.ctl.Refusal(seq); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("waiting for %s: %v, want %s", on, err, want)
		}
		if j := b.job(first); j.Spec.Dependency != "" {
			t.Errorf("it waits for %s", j.Spec.Dependency)
		}
	}
	b.request(change(ids[14], "dependency", "afterany:"+first.String()))
	b.wait(time.Second)
	if j := b.job(ids[14]); j.Spec.Dependency != "afterany:"+first.String() {
		t.Errorf("a chain's last job depends on %q", j.Spec.Dependency)
	}
	b.noRequests()
}

func TestUpdateAtTheSite(t *testing.T) {
	b := newBench(t)
	a := b.makeAble()
	id := b.submit(nil)
	b.wait(time.Second)
	a.err = federation.ErrUnavailable
	b.request(change(id, "time", "7"))
	b.wait(time.Second)
	if j := b.job(id); j.Spec.TimeLimit != time.Hour {
		t.Errorf("changed before the site knew: %v", j.Spec.TimeLimit)
	}
	a.err = nil
	b.wait(5 * time.Second)
	if j := b.job(id); j.Spec.TimeLimit != 7*time.Minute || len(a.updates) != 1 || j.Attempt != 1 {
		t.Errorf("limit %v, updates %v", j.Spec.TimeLimit, a.updates)
	}
	b.noRequests()
}

// What its site refuses another may take: a job that waits there is taken back. One that runs is left as it is.
func TestUpdateThatTheSiteRefuses(t *testing.T) {
	b := newBench(t)
	a := b.makeAble()
	waits := b.submit(nil)
	runs := b.running()
	a.err = &federation.SlurmError{Kind: federation.ErrCapacity, Number: 2029, Text: "Invalid feature specification"}
	b.request(change(waits, "comment", "x"))
	b.request(change(runs, "comment", "x"))
	b.wait(3 * time.Second)
	if j := b.job(waits); j.Site != "dear" || j.Spec.Comment != "x" || j.Restarts != 0 {
		t.Errorf("waiting: at %q, comment %q, %d restarts", j.Site, j.Spec.Comment, j.Restarts)
	}
	if j := b.job(runs); j.State != federation.Running || j.Spec.Comment != "" {
		t.Errorf("running: %s, comment %q", j.State, j.Spec.Comment)
	}
	if err := b.ctl.Refusal(2); !errors.Is(err, federation.ErrCapacity) {
		t.Errorf("refusal: %v", err)
	}
	b.noRequests()
}

// noRequests wants everything that was asked for to be settled.
func (b *bench) noRequests() {
	b.t.Helper()
	left, err := b.store.Requests(b.t.Context(), 0)
	if err != nil || len(left) > 0 || len(b.ctl.requests.asks.open) > 0 {
		b.t.Errorf("left over: %+v, %d asked, %v", left, len(b.ctl.requests.asks.open), err)
	}
}

// Tasks of an array are held one by one, here and at a site; those of one that an earlier version has handed over whole cannot be, and that is said.
func TestHoldOfTasks(t *testing.T) {
	b := newBench(t)
	begin := b.clock.Add(time.Minute)
	here := b.submit(func(s *sbatch.Spec) { s.Array, s.Begin = "0-2", begin })
	there := b.submit(func(s *sbatch.Spec) { s.Array, s.GPUsPerNode = "0-1", "1" })
	whole := b.handedOver("0-1")
	hold := func(id federation.JobID) {
		b.request(action.Request{Job: id, Tasks: federation.Tasks(1), Kind: action.Hold, UID: 7001})
	}
	hold(here)
	hold(there)
	hold(whole)
	b.wait(time.Second)
	if p := b.part(there, 1); p.Site == "" || p.Held != federation.HeldUser || !slices.Contains(append(b.cheap.held, b.dear.held...), p.ID) {
		t.Errorf("task at %q: held %q; held at sites: %v, %v", p.Site, p.Held, b.cheap.held, b.dear.held)
	}
	if j := b.job(whole); j.Held != federation.NotHeld || b.ctl.Refusal(3) == nil {
		t.Errorf("whole at a site: held %q, refusal %v", j.Held, b.ctl.Refusal(3))
	}
	b.clock = begin
	b.wait(2 * time.Second)
	parts, err := b.store.Jobs(b.t.Context(), federation.JobQuery{IDs: []federation.JobID{here}})
	if err != nil {
		t.Fatal(err)
	}
	bound := map[int]bool{}
	for _, p := range parts {
		if p.Part != nil {
			bound[p.Part.Index] = p.Site != ""
		}
	}
	if !bound[0] || bound[1] || !bound[2] {
		t.Errorf("bound: %v, want 0 and 2", bound)
	}
}

func TestUpdateOfTasks(t *testing.T) {
	b := newBench(t)
	id := b.submit(func(s *sbatch.Spec) { s.Array, s.Begin = "0-2", b.clock.Add(time.Hour) })
	b.wait(time.Second)
	r := change(id, "time", "7")
	r.Tasks = federation.Tasks(1)
	b.request(r)
	b.request(change(id, "comment", "all"))
	b.wait(2 * time.Second)
	jobs, err := b.store.Jobs(b.t.Context(), federation.JobQuery{IDs: []federation.JobID{id}})
	if err != nil {
		t.Fatal(err)
	}
	parts := 0
	for _, j := range jobs {
		want := time.Hour
		if j.Part != nil {
			parts++
			want = 7 * time.Minute
		}
		if j.Spec.TimeLimit != want || j.Spec.Comment != "all" {
			t.Errorf("job %d, part %v: limit %v, comment %q", j.ID, j.Part, j.Spec.TimeLimit, j.Spec.Comment)
		}
	}
	if parts != 1 {
		t.Errorf("%d parts, want the one that was changed", parts)
	}
	b.noRequests()
}

func TestTop(t *testing.T) {
	b := newBench(t)
	var ids []federation.JobID
	for range 3 {
		ids = append(ids, b.submit(func(s *sbatch.Spec) { s.Begin = b.clock.Add(time.Hour) }))
	}
	b.wait(time.Second)
	b.request(action.Request{Job: ids[2], Kind: action.Top, Operator: true})
	b.wait(time.Second)
	for _, id := range ids[:2] {
		if !before(b.ctl.jobs.Of(ids[2]), b.ctl.jobs.Of(id)) || b.job(ids[2]).Top != 1 || b.job(id).Top != 0 {
			t.Errorf("job %d is before job %d", id, ids[2])
		}
	}
}

// What is asked of an array is asked of its tasks that wait, too, and of those that become jobs later.
func TestPriorityOfArrays(t *testing.T) {
	b := newBench(t)
	other := b.submit(func(s *sbatch.Spec) { s.Begin = b.clock.Add(time.Hour) })
	id := b.submit(func(s *sbatch.Spec) { s.Array, s.Begin = "0-19", b.clock.Add(time.Hour) })
	b.wait(time.Second)
	b.request(action.Request{Job: id, Kind: action.Top, Operator: true})
	b.wait(time.Second)
	if !before(b.ctl.jobs.Of(id), b.ctl.jobs.Of(other)) {
		t.Errorf("the array does not stand before job %d", other)
	}
	b.request(change(id, "priority", "0"))
	b.wait(time.Second)
	if j := b.job(id); j.Held != federation.HeldUser {
		t.Errorf("held %q after priority=0", j.Held)
	}
	b.noRequests()
}

// A requeue of an array that is spread outlives a crash at any time: each task that ran is queued again, once.
func TestSpreadRequeueOutlivesCrashes(t *testing.T) {
	for rounds := range 5 {
		b := newBench(t)
		id := b.submit(func(s *sbatch.Spec) { s.Array = "1-29:2" })
		b.rounds(4)
		b.turn(wellDone) // what was bound starts
		ran := map[federation.JobID]bool{}
		for _, p := range b.partsOf(id) {
			if p.State == federation.Running {
				ran[p.ID] = true
			}
		}
		if len(ran) < 2 {
			t.Fatalf("%d tasks run: this shows nothing", len(ran))
		}
		b.request(requeue(id))
		b.rounds(rounds)
		b.restart()
		b.wait(30 * time.Second)
		for _, p := range b.partsOf(id) {
			if want := map[bool]int{true: 1}[ran[p.ID]]; p.Restarts != want {
				t.Errorf("crash after %d rounds: task %d was requeued %d times, not %d", rounds, p.Part.Index, p.Restarts, want)
			}
		}
	}
}

// Tasks that have ended run again under their numbers, whether their array has ended or not, and however often the daemon is started meanwhile.
func TestRequeueOfEndedTasks(t *testing.T) {
	for name, all := range map[string]bool{"array lives": false, "array has ended": true} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			id := b.submit(func(s *sbatch.Spec) { s.Array, s.GPUsPerNode = "0-1", "1" })
			b.wait(time.Second)
			tasks := []federation.Job{b.part(id, 0), b.part(id, 1)}
			site := map[federation.SiteName]*fakeSite{"cheap": b.cheap, "dear": b.dear}
			for i, p := range tasks {
				site[p.Site].start(p.ID)
				if b.wait(time.Second); i == 0 || all {
					site[p.Site].end(p.ID, federation.Failed)
				}
			}
			b.wait(2 * time.Second)
			if j := b.job(id); j.State.Ended() != all || b.part(id, 0).State != federation.Failed {
				t.Fatalf("array is %s, task 0 %s", j.State, b.part(id, 0).State)
			}
			cost := b.part(id, 0).Cost
			b.request(requeue(tasks[0].ID))
			b.wait(2 * time.Second)
			p := b.part(id, 0)
			if p.ID != tasks[0].ID || p.State != federation.Pending || p.Restarts != 1 || p.Site == tasks[0].Site {
				t.Fatalf("task 0 is %d, %s at %q, %d restarts", p.ID, p.State, p.Site, p.Restarts)
			}
			if j := b.job(id); j.State.Ended() {
				t.Errorf("array is %s", j.State)
			}
			b.restart()
			b.wait(2 * time.Second)
			site[p.Site].start(p.ID)
			b.wait(10 * time.Second)
			site[p.Site].end(p.ID, federation.Completed)
			if !all {
				site[tasks[1].Site].end(tasks[1].ID, federation.Failed)
			}
			b.wait(2 * time.Second)
			j, sum := b.job(id), federation.Money(0)
			for _, p := range b.partsOf(id) {
				sum += p.Cost
			}
			if j.State != federation.Failed || j.Cost != sum || b.part(id, 0).State != federation.Completed || b.part(id, 0).Cost <= cost {
				t.Errorf("array is %s for %v, tasks cost %v", j.State, j.Cost, sum)
			}
			b.noRequests()
		})
	}
}

// A hold of a job that runs is shown, and keeps it waiting once it is queued again.
func TestHoldWhileItRuns(t *testing.T) {
	b := newBench(t)
	b.makeAble()
	id := b.running()
	b.request(action.Request{Job: id, Kind: action.Hold, UID: 7001})
	b.wait(time.Second)
	b.want(id, federation.Running, reasons.HeldUser, "cheap")
	b.request(action.Request{Job: id, Kind: action.Release, UID: 7001})
	b.wait(time.Second)
	b.want(id, federation.Running, "", "cheap")
	b.request(action.Request{Job: id, Kind: action.Hold, UID: 7001})
	b.wait(time.Second)
	if len(b.cheap.held) != 0 {
		t.Errorf("the site was to hold what runs")
	}
	b.request(requeue(id))
	b.wait(2 * time.Second)
	if j := b.job(id); j.State != federation.Pending || j.Held != federation.HeldUser || j.Restarts != 1 || !slices.Equal(b.cheap.held, []federation.JobID{id}) {
		t.Errorf("%s, held %q, at its site %v, after %d restarts", j.State, j.Held, b.cheap.held, j.Restarts)
	}
}
