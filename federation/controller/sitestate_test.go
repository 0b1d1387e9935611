package controller

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"fsub/federation"
	"fsub/sbatch"
)

func (b *bench) say(r federation.SiteRecord) {
	b.t.Helper()
	r.At = b.clock
	if err := b.store.SetSiteState(b.t.Context(), r); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) conditions(site federation.SiteName) (names []federation.ConditionName) {
	for _, s := range b.ctl.Sites() {
		if s.Name == site {
			for _, c := range s.Conditions {
				names = append(names, c.Name)
			}
		}
	}
	return names
}

// wantConditions waits for as long as the view may lag.
func (b *bench) wantConditions(site federation.SiteName, want ...federation.ConditionName) {
	b.t.Helper()
	b.rounds(3)
	if got := b.conditions(site); !slices.Equal(got, want) {
		b.t.Fatalf("conditions of %s: %v, want %v", site, got, want)
	}
}

// An operator's word that a site is lost proves the end of its jobs. What turns up of them later is ended, and the site gets nothing until it is resumed.
func TestLostSite(t *testing.T) {
	b := newBench(t)
	runs, waits := b.running(), b.submit(nil)
	no := false
	stays := b.submit(func(s *sbatch.Spec) { s.Requeue = &no })
	b.wait(time.Second)
	b.cheap.start(stays)
	b.wait(2 * time.Second)
	b.want(waits, federation.Pending, "", "cheap")
	b.cheap.fail = federation.ErrUnavailable
	b.wait(20 * time.Second)
	b.want(runs, federation.Running, "", "cheap") // silence proves nothing
	b.wantConditions("cheap", federation.CondNoAnswer)

	b.say(federation.SiteRecord{Name: "cheap", State: federation.FedDrain, Lost: b.clock, By: "ann", Reason: "flood"})
	b.wait(2 * time.Second)
	b.wantConditions("cheap", federation.CondLost, federation.CondNoAnswer)
	for _, id := range []federation.JobID{runs, waits} {
		b.want(id, federation.Pending, "", "dear")
	}
	b.want(stays, federation.NodeFail, "", "cheap")
	if j := b.job(runs); j.Restarts != 1 {
		t.Errorf("%d restarts of a job that ran", j.Restarts)
	}
	if j := b.job(waits); j.Restarts != 0 {
		t.Errorf("%d restarts of a job that had not started", j.Restarts)
	}
	b.restart() // the daemon remembers it
	b.wait(5 * time.Second)

	b.cheap.fail = nil
	b.wait(4 * time.Second)
	for _, id := range []federation.JobID{runs, waits, stays} {
		if !b.cheap.jobs[id].State.Ended() {
			t.Errorf("the copy of job %d lives", id)
		}
	}
	b.wantConditions("cheap", federation.CondReturned)
	later := b.submit(nil)
	b.wait(2 * time.Second)
	b.want(later, federation.Pending, "", "dear")

	b.say(federation.SiteRecord{Name: "cheap", State: federation.FedActive, By: "ann"})
	b.wait(2 * time.Second)
	b.wantConditions("cheap")
	again := b.submit(nil)
	b.wait(2 * time.Second)
	b.want(again, federation.Pending, "", "cheap")
}

// Jobs that wait at an INACTIVE site go elsewhere; what runs there stays.
func TestInactiveSite(t *testing.T) {
	b := newBench(t)
	runs, waits := b.running(), b.submit(nil)
	b.wait(time.Second)
	b.want(waits, federation.Pending, "", "cheap")
	b.say(federation.SiteRecord{Name: "cheap", State: federation.FedInactive, By: "ann"})
	b.wait(5 * time.Second)
	b.want(runs, federation.Running, "", "cheap")
	b.want(waits, federation.Pending, "", "dear")
}

// A site in DRAIN+REMOVE keeps what it has, and leaves with its last job; its word brings it back.
func TestRemovedSite(t *testing.T) {
	b := newBench(t)
	runs := b.running()
	b.say(federation.SiteRecord{Name: "cheap", State: federation.FedDrainRemove, By: "ann"})
	b.wait(5 * time.Second)
	b.want(runs, federation.Running, "", "cheap")
	if n := len(b.ctl.Sites()); n != 2 {
		t.Fatalf("%d sites while a job runs", n)
	}
	b.cheap.end(runs, federation.Completed)
	b.wait(5 * time.Second)
	b.want(runs, federation.Completed, "", "cheap")
	for range 2 {
		if sites := b.ctl.Sites(); len(sites) != 1 || sites[0].Name != "dear" {
			t.Fatalf("sites after the last job: %v", sites)
		}
		next := b.submit(nil)
		b.wait(2 * time.Second)
		b.want(next, federation.Pending, "", "dear")
		b.restart()
		b.wait(2 * time.Second)
	}
	b.say(federation.SiteRecord{Name: "cheap", State: federation.FedActive, By: "ann"})
	b.wait(5 * time.Second)
	back := b.submit(nil)
	b.wait(2 * time.Second)
	b.want(back, federation.Pending, "", "cheap")
}

// A controller that shows a job as alive long after it has told its end was put back to an older state.
func TestRestoredSite(t *testing.T) {
	b := newBench(t)
	runs := b.running()
	b.cheap.end(runs, federation.Completed)
	b.wait(2 * time.Second)
	b.want(runs, federation.Completed, "", "cheap")
	b.wantConditions("cheap")
	b.wait(2 * time.Minute)
	b.cheap.jobs[runs].State, b.cheap.jobs[runs].End = federation.Running, time.Time{}
	b.wait(8 * time.Second)
	b.wantConditions("cheap", federation.CondRestored)
	b.restart()
	b.wait(2 * time.Second)
	b.wantConditions("cheap", federation.CondRestored)
	if !b.cheap.jobs[runs].State.Ended() {
		t.Error("the copy lives")
	}
	b.say(federation.SiteRecord{Name: "cheap", State: federation.FedActive})
	b.wait(8 * time.Second)
	b.wantConditions("cheap")
}

func TestCounterThatWentBack(t *testing.T) {
	now := time.Unix(1e9, 0)
	var k counter
	give := func(id uint32, back bool) {
		t.Helper()
		if got := k.take(id, now); got != back {
			t.Errorf("number %d: %v", id, got)
		}
	}
	for id := uint32(2000); id < 2100; id++ {
		give(id, false)
		now = now.Add(3 * time.Second)
	}
	give(2098, false) // answers come in any order
	give(1500, true)
	give(1501, false)
	k = counter{}
	give(66_999_999, false)
	now = now.Add(2 * time.Minute)
	give(67_000_000, false)
	give(1, false) // it began anew
}

// While a site does not answer, no calls but looks are made to it, however many jobs are to be looked up.
func TestBreaker(t *testing.T) {
	b := newBench(t)
	b.cheap.failAfter = federation.ErrUnavailable
	id := b.submit(nil)
	b.wait(200 * time.Millisecond)
	b.cheap.fail = federation.ErrUnavailable
	b.wait(20 * time.Second)
	s := b.ctl.sites.byName["cheap"]
	if !s.breaker.open {
		t.Fatal("the breaker is closed")
	}
	before := b.cheap.lookups
	b.wait(2 * time.Minute)
	if b.cheap.lookups != before {
		t.Errorf("%d look-ups while the site does not answer", b.cheap.lookups-before)
	}
	b.cheap.fail = nil
	b.wait(40 * time.Second)
	if s.breaker.open {
		t.Error("the breaker is open")
	}
	b.want(id, federation.Pending, "", "cheap")
}

// A job that would run into a maintenance goes elsewhere; the nodes of others are left out when it is sent.
func TestMaintenance(t *testing.T) {
	b := newBench(t)
	m := federation.Maintenance{Site: "cheap", From: b.clock.Add(30 * time.Minute), To: b.clock.Add(2 * time.Hour), Reason: "cooling", By: "ann", At: b.clock}
	if err := b.store.AddMaintenance(t.Context(), &m); err != nil {
		t.Fatal(err)
	}
	b.wait(time.Second)
	long, short := b.submit(nil), b.submit(func(s *sbatch.Spec) { s.TimeLimit = 10 * time.Minute })
	b.wait(2 * time.Second)
	b.want(long, federation.Pending, "", "dear")
	b.want(short, federation.Pending, "", "cheap")
	b.wait(22 * time.Minute) // it has waited there for so long that it would run into it now
	b.want(short, federation.Pending, "", "dear")
	if err := b.store.RemoveMaintenance(t.Context(), m.ID, "ann", b.clock); err != nil {
		t.Fatal(err)
	}
	b.wait(time.Second)
	next := b.submit(nil)
	b.wait(2 * time.Second)
	b.want(next, federation.Pending, "", "cheap")

	part := federation.Maintenance{Site: "cheap", Nodes: "n1", From: b.clock.Add(30 * time.Minute), To: b.clock.Add(2 * time.Hour), By: "ann", At: b.clock}
	if err := b.store.AddMaintenance(t.Context(), &part); err != nil {
		t.Fatal(err)
	}
	b.wait(time.Second)
	u := b.ctl.upkeep
	j := federation.Job{Spec: &sbatch.Spec{TimeLimit: time.Hour}}
	if u.spare("cheap", &j, time.Hour, b.clock); j.Spec.Exclude != "n1" {
		t.Errorf("a job that would run into it may have n1: %q", j.Spec.Exclude)
	}
	j = federation.Job{Spec: &sbatch.Spec{Exclude: "n2"}}
	if u.spare("cheap", &j, time.Minute, b.clock); j.Spec.Exclude != "n2" {
		t.Errorf("a short job may not have n1: %q", j.Spec.Exclude)
	}
}

// TestCancelIsAskedOnce: while a site is asked for the end of a job, it is not asked again.
func TestCancelIsAskedOnce(t *testing.T) {
	b := newBench(t)
	id := b.submit(nil)
	b.wait(time.Second)
	j := b.ctl.jobs.Of(id)
	j.Cancel = true
	asked := func() int {
		b.clock = b.clock.Add(time.Minute)
		b.ctl.repairs.reconcile()
		return len(b.ctl.calls.decided)
	}
	if n := asked(); n != 1 {
		t.Fatalf("asked %d times", n)
	}
	if n := asked(); n != 1 {
		t.Errorf("asked %d times at once", n)
	}
	b.ctl.requests.takeActed(b.ctl.sites.byName[j.att.Site], acted{job: id, what: "cancel", err: federation.ErrThrottled})
	if n := asked(); n != 2 {
		t.Errorf("asked %d times after a failure", n)
	}
}

// TestConditionIsLoggedOnce: a site that stops answering is one line in the log when that begins and one when it is over, whatever it says meanwhile.
func TestConditionIsLoggedOnce(t *testing.T) {
	for _, kind := range []error{federation.ErrUnavailable, federation.ErrDenied} {
		b := newBench(t)
		b.wait(2 * time.Second)
		log := b.log()
		lines := func() int { return strings.Count(log.String(), "site=cheap") - strings.Count(log.String(), "calls ") } // the breaker tells of itself
		for _, said := range []string{"no route to host", "connection refused", "no route to host"} {
			b.cheap.fail = fmt.Errorf("%w: %s", kind, said)
			b.wait(time.Minute)
		}
		if n := lines(); n != 1 || !strings.Contains(log.String(), "no route to host") {
			t.Errorf("%v: logged %d times:\n%s", kind, n, log)
		}
		log.Reset()
		b.cheap.fail = nil
		b.wait(2 * time.Minute)
		if n := lines(); n != 1 || !strings.Contains(log.String(), "is over") {
			t.Errorf("%v: its end is logged %d times:\n%s", kind, n, log)
		}
	}
}
