package controller

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"fsub/federation"
	"fsub/federation/action"
	"fsub/federation/reasons"
	"fsub/sbatch"
)

// breakOver has placement panic over jobs of a name, as a defect would, and returns what is logged from here on.
func (b *bench) breakOver(name string) *bytes.Buffer {
	log := b.log()
	breakOver := func(j *federation.Job) {
		if j.Spec.Name == name {
			panic("planted")
		}
	}
	b.ctl.queue.world.Watch(breakOver)
	b.ctl.world.Watch(breakOver)
	return log
}

func named(name string) func(*sbatch.Spec) { return func(s *sbatch.Spec) { s.Name = name } }

func (b *bench) faults() int { return int(testutil.ToFloat64(b.ctl.metrics.faults)) }

// One job that placement fails over is put aside, with its reason; those after it run, and it is not tried again all the time.
func TestPanicOverAJobPutsItAside(t *testing.T) {
	b := newBench(t)
	log := b.breakOver("bad")
	bad, good := b.submit(named("bad")), b.submit(nil)
	b.wait(time.Minute)
	b.want(bad, federation.Pending, reasons.Fault, "")
	b.want(good, federation.Pending, "", "cheap")
	if n := b.faults(); n != 1 {
		t.Errorf("%d panics in a minute, want 1", n)
	}
	for _, want := range []string{"placement failed", "planted", "breakOver"} { // the last stands in the stack
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log does not say %q:\n%s", want, log)
		}
	}
	events, err := b.store.Events(t.Context(), bad)
	if err != nil || len(events) != 1 || !strings.Contains(events[0].Text, "planted") {
		t.Errorf("the job's history is %v (%v), want the one panic", events, err)
	}
	b.wait(asideFor)
	if n := b.faults(); n != 2 {
		t.Errorf("%d panics, want a second one after %v", n, asideFor)
	}
	b.want(bad, federation.Pending, reasons.Fault, "")
}

// A job that is changed is tried at once, and one that is held or cancelled is as ever.
func TestJobThatIsPutAsideCanBeChanged(t *testing.T) {
	b := newBench(t)
	b.breakOver("bad")
	changed, held, cancelled := b.submit(named("bad")), b.submit(named("bad")), b.submit(named("bad"))
	b.rounds(10)
	b.want(changed, federation.Pending, reasons.Fault, "")
	b.request(action.Request{Job: changed, Kind: action.Update, UID: 7001, Change: []sbatch.Change{{Option: "job-name", Key: "JobName", Value: "mended"}}})
	b.request(action.Request{Job: held, Kind: action.Hold, UID: 7001})
	b.request(action.Request{Job: cancelled, Kind: action.Cancel, UID: 7001})
	b.rounds(10)
	b.want(changed, federation.Pending, "", "cheap")
	b.want(held, federation.Pending, reasons.HeldUser, "")
	b.want(cancelled, federation.Cancelled, "", "")
	b.request(action.Request{Job: held, Kind: action.Release, UID: 7001})
	b.rounds(10)
	b.want(held, federation.Pending, reasons.Fault, "")
}

// A job that has been handed over stays where it is, and others are planned for without it.
func TestPanicOverABoundJob(t *testing.T) {
	b := newBench(t)
	bad := b.submit(named("bad"))
	b.rounds(5)
	b.want(bad, federation.Pending, "", "cheap")
	b.breakOver("bad")
	good := b.submit(nil)
	b.rounds(20)
	b.want(good, federation.Pending, "", "cheap")
	if n := b.faults(); n != 1 {
		t.Errorf("%d panics, want 1", n)
	}
	b.cheap.start(bad)
	b.cheap.end(bad, federation.Completed)
	b.rounds(10)
	b.want(bad, federation.Completed, "", "cheap")
}

// Of an array whose tasks are bound one by one the whole is put aside: it is one job to its user, and its tasks are alike.
func TestPanicOverATaskPutsTheArrayAside(t *testing.T) {
	b := newBench(t)
	array := b.submit(func(s *sbatch.Spec) { s.Name, s.Array, s.GPUsPerNode = "tasks", "0-19", "4" })
	b.rounds(5)
	if n := len(b.partsOf(array)); n == 0 {
		t.Fatal("the array is not spread")
	}
	waiting := b.ctl.jobs.Of(array).rest.Len()
	b.breakOver("tasks")
	good := b.submit(func(s *sbatch.Spec) { s.GPUsPerNode = "" })
	b.wait(time.Minute)
	if len(b.attempts(good)) != 1 {
		t.Error("the job after it is not bound")
	}
	if n := b.ctl.jobs.Of(array).rest.Len(); n != waiting {
		t.Errorf("%d tasks wait, %d did before", n, waiting)
	}
	if r := b.job(array).Reason; r != reasons.Fault {
		t.Errorf("the array's reason is %s", r)
	}
}

// What cannot be judged is refused in words, and does not stop the next one from being judged.
func TestJudgeAfterAPanic(t *testing.T) {
	b := newBench(t)
	b.breakOver("bad")
	bad := &federation.Job{ID: 5, Spec: &sbatch.Spec{Name: "bad", WorkDir: "/"}}
	if err := b.ctl.Judge(bad); err == nil || !strings.Contains(err.Error(), "placement failed over job 5") {
		t.Errorf("Judge: %v, want that placement failed", err)
	}
	if d := b.ctl.Explain(t.Context(), bad).Decision; d.Reason != reasons.Priority {
		t.Errorf("Explain: %+v", d)
	}
	if err := b.ctl.Judge(&federation.Job{ID: 6, Spec: &sbatch.Spec{GPUsPerNode: "1", WorkDir: "/"}}); err != nil {
		t.Errorf("Judge of another job: %v", err)
	}
}

// What a site says of itself is left out when placement cannot read it: the other one gets the jobs, until it says something else.
func TestPanicOverASite(t *testing.T) {
	b := newBench(t)
	log := b.breakOver("nothing")
	cheap := b.ctl.sites.byName["cheap"]
	cheap.Pools = []federation.Pool{{Name: "main", Nodes: []int{99}}}
	cheap.told = nil
	b.ctl.queue.world.Guard(func() { panic("forget what is known of the sites") })
	id := b.submit(nil)
	b.rounds(2)
	b.want(id, federation.Pending, "", "dear")
	if n := b.faults(); n != 1 || !strings.Contains(log.String(), "site=cheap") {
		t.Errorf("%d panics, want 1 over the site:\n%s", n, log)
	}
	b.wait(10 * time.Second) // it is observed again
	second := b.submit(nil)
	b.rounds(2)
	b.want(second, federation.Pending, "", "cheap")
}
