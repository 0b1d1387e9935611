package controller

import (
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/action"
	"fsub/federation/driver"
	"fsub/federation/reasons"
	"fsub/sbatch"
)

// telling is a site that says when it has news.
type telling struct {
	*fakeSite
	tell func(driver.News)
}

func (t *telling) Abilities() driver.Abilities { return driver.Abilities{Notify: t} }

func (t *telling) Notify(f func(driver.News)) { t.tell = f }

func TestNewsAreLookedAtAtOnce(t *testing.T) {
	b := newBench(t)
	site := &telling{fakeSite: b.cheap}
	ctl, err := New(t.Context(), Config{Federation: "test", Store: b.store, Now: b.now, Inline: true, Sites: []Site{{Name: "cheap", Driver: site}}})
	if err != nil {
		t.Fatal(err)
	}
	b.ctl = ctl
	b.rounds(3)
	id := b.submit(nil)
	b.rounds(3)
	site.start(id)
	site.end(id, federation.Completed)
	b.ctl.Round(t.Context())
	b.ctl.Round(t.Context())
	b.want(id, federation.Pending, "", "cheap") // no time has passed: nothing was due
	site.tell(driver.News{Jobs: true})
	b.ctl.Round(t.Context()) // asks
	b.ctl.Round(t.Context()) // takes in the answer
	b.want(id, federation.Completed, "", "cheap")
}

func TestReturnedJobsWaitAgain(t *testing.T) {
	b := newBench(t)
	id := b.submit(nil)
	b.rounds(3)
	b.want(id, federation.Pending, "", "cheap")
	k := b.cheap.jobs[id]
	k.State, k.End, k.Returned, k.Reason, k.Detail = federation.BootFail, b.clock, true, reasons.StockOut, "no such machines left"
	b.cheap.nodes = 0
	b.wait(2 * time.Second)
	b.want(id, federation.Pending, "", "dear")
	j, attempts := b.job(id), b.attempts(id)
	if j.Restarts != 0 || j.Cost != 0 || attempts[0].State != federation.AttemptWithdrawn || attempts[0].Note != "given back: FedStockOut: no such machines left" {
		t.Errorf("restarts %d, cost %v, first attempt %+v", j.Restarts, j.Cost, attempts[0])
	}
}

func TestReturnedWhileCancelled(t *testing.T) {
	b := newBench(t)
	id := b.submit(nil)
	b.rounds(3)
	b.request(action.Request{Job: id, Kind: action.Cancel, UID: 7001})
	k := b.cheap.jobs[id]
	k.State, k.Returned, k.Reason = federation.BootFail, true, reasons.StockOut
	b.cheap.fail = federation.ErrUnavailable // the cancellation does not get there first
	b.rounds(1)
	b.cheap.fail = nil
	b.wait(5 * time.Second)
	b.want(id, federation.Cancelled, "", "cheap")
}

// A job may be preempted as often as it takes; failures of nodes count apart.
func TestPreemptionsAreNoFailures(t *testing.T) {
	b := newBench(t)
	id := b.submit(func(s *sbatch.Spec) { s.TimeLimit = time.Hour })
	fail := func(state federation.State) {
		t.Helper()
		b.wait(freeFor + 2*time.Second)
		site := b.cheap
		if b.job(id).Site == "dear" {
			site = b.dear
		}
		site.start(id)
		b.wait(2 * time.Second)
		site.end(id, state)
		gone := *site.jobs[id]
		b.ctl.reports.report(b.ctl.sites.byName[b.job(id).Site], b.ctl.jobs.Of(id), gone)
		delete(site.jobs, id)
		b.wait(2 * time.Second)
	}
	for range 12 {
		fail(federation.Preempted)
	}
	if j := b.job(id); j.State.Ended() || j.Restarts != 12 {
		t.Fatalf("after 12 preemptions it is %s with %d restarts", j.State, j.Restarts)
	}
	for range 5 {
		fail(federation.NodeFail)
	}
	if j := b.job(id); j.State.Ended() {
		t.Fatalf("after 5 failures of nodes it is %s", j.State)
	}
	fail(federation.NodeFail)
	if j := b.job(id); j.State != federation.NodeFail {
		t.Fatalf("after 6 failures of nodes it is %s", j.State)
	}
}

func TestPriceOfWhatIsHeld(t *testing.T) {
	b := newBench(t)
	id := b.submit(nil)
	b.rounds(3)
	b.cheap.start(id)
	b.cheap.jobs[id].PricePerHour = 7 * federation.Dollar
	b.wait(30 * time.Second)
	b.cheap.end(id, federation.Completed)
	b.cheap.jobs[id].End = b.cheap.jobs[id].Start.Add(30 * time.Minute)
	b.wait(2 * time.Second)
	if cost := b.job(id).Cost; cost != 3.5*federation.Dollar {
		t.Errorf("half an hour at 7 dollars comes to %v", cost)
	}
}
