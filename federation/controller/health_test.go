package controller

import (
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/action"
	"fsub/federation/health"
)

// TestRequeuedForEver: slurmctld queues a job again whenever its node fails. After so many times as a job may be queued again here it is held, there and here, and
// only an operator releases it.
func TestRequeuedForEver(t *testing.T) {
	b := newBench(t)
	id := b.submit(nil)
	b.rounds(5)
	b.cheap.down = map[string]bool{"n1": true}
	b.wait(5 * time.Second)
	for n := 1; n <= 6; n++ {
		if b.job(id).Held != federation.NotHeld {
			t.Fatalf("held after %d failures", n-1)
		}
		b.cheap.start(id)
		b.wait(time.Second)
		sj := b.cheap.jobs[id]
		sj.State, sj.Start, sj.Nodes, sj.Restarts, sj.Submit = federation.Pending, time.Time{}, "", n, b.clock
		b.wait(time.Second)
	}
	if j := b.job(id); j.Held != federation.HeldAdmin || j.State != federation.Pending || len(b.cheap.held) == 0 {
		t.Fatalf("%s %q after %d restarts, held at the site: %v", j.State, j.Held, j.Restarts, b.cheap.held)
	}
	b.request(action.Request{Job: id, Kind: action.Release, Operator: true})
	b.rounds(5)
	b.cheap.start(id)
	b.wait(time.Second)
	b.cheap.end(id, federation.Completed)
	b.wait(2 * time.Second)
	b.want(id, federation.Completed, "", "cheap")
}

// TestClassOfAttempt: each end has its class and code in the books, and a job that died of its node is sent elsewhere, without that node.
func TestClassOfAttempt(t *testing.T) {
	b := newBench(t)
	id := b.submit(nil)
	b.rounds(5)
	b.cheap.start(id)
	b.wait(time.Second)
	b.cheap.jobs[id].ExitStatus = 7
	b.cheap.end(id, federation.Failed)
	b.wait(2 * time.Second)
	a := b.attempts(id)
	if a[0].Class != federation.ClassNode || a[0].Code != health.CodeBus || len(a) != 2 {
		t.Fatalf("%d attempts, the first of class %s, code %s", len(a), a[0].Class, a[0].Code)
	}
	site := b.cheap
	if a[1].Site == "dear" {
		site = b.dear
	}
	if spec := b.ctl.jobs.Of(id).Spec; spec.Exclude != "" {
		t.Errorf("the job itself now asks for --exclude=%s", spec.Exclude)
	}
	site.start(id)
	b.wait(time.Second)
	site.jobs[id].ExitStatus = 3 << 8
	b.wait(2 * time.Minute)
	site.end(id, federation.Failed)
	b.wait(2 * time.Second)
	if a = b.attempts(id); a[1].Class != federation.ClassUser || a[1].Code != health.CodeExit {
		t.Errorf("class %s, code %s", a[1].Class, a[1].Code)
	}
	b.want(id, federation.Failed, "", a[1].Site)
}
