package storetest

import (
	"time"

	"fsub/federation"
	"fsub/federation/journal"
)

// testSiteHistory: what was said of a site and what was seen are in one history, in order, each with what was before.
func testSiteHistory(e *env) {
	s := e.open()
	at := func(n int) time.Time { return longAgo.Add(time.Duration(n) * time.Minute) }
	say := func(n int, r federation.SiteRecord) {
		r.Name, r.At = "alpha", at(n)
		e.must(s.SetSiteState(ctx, r))
	}
	say(1, federation.SiteRecord{State: federation.FedDrain, By: "ann", Reason: "cooling"})
	silent := federation.SiteEvent{Site: "alpha", At: at(2), From: "OK", To: "NO_ANSWER", Why: "connection refused"}
	e.must(s.Commit(ctx, &journal.Batch{SiteEvents: []federation.SiteEvent{silent, {Site: "beta", At: at(2), To: "RESTORED"}}}))
	say(3, federation.SiteRecord{State: federation.FedDrain, By: "bob", Lost: at(3)})
	say(4, federation.SiteRecord{State: federation.FedActive, By: "bob"})
	want := []federation.SiteEvent{
		{Site: "alpha", At: at(1), Who: "ann", From: "ACTIVE", To: "DRAIN", Why: "cooling"},
		silent,
		{Site: "alpha", At: at(3), Who: "bob", From: "DRAIN", To: "LOST"},
		{Site: "alpha", At: at(4), Who: "bob", From: "LOST", To: "ACTIVE"},
	}
	got, err := s.SiteEvents(ctx, "alpha", 99)
	e.must(err)
	e.same("history", got, want)
	got, err = s.SiteEvents(ctx, "alpha", 2)
	e.must(err)
	e.same("newest lines", got, want[2:])
}

// testMaintenance: what is planned is there until it is over or taken back.
func testMaintenance(e *env) {
	p := e.open()
	a, b, over := filled[federation.Maintenance](1), filled[federation.Maintenance](2), filled[federation.Maintenance](3)
	a.From, a.To = longAgo.Add(2*time.Hour), longAgo.Add(3*time.Hour)
	b.From, b.To = longAgo.Add(time.Hour), longAgo.Add(4*time.Hour)
	over.From, over.To = longAgo.Add(-2*time.Hour), longAgo
	for _, m := range []*federation.Maintenance{&a, &b, &over} {
		e.must(p.AddMaintenance(ctx, m))
	}
	got, err := p.Maintenance(ctx, longAgo)
	e.must(err)
	e.same("planned", got, []federation.Maintenance{b, a})
	e.must(p.RemoveMaintenance(ctx, b.ID, "root", longAgo))
	e.wants(p.RemoveMaintenance(ctx, b.ID, "root", longAgo), federation.ErrNotFound)
	e.wants(p.RemoveMaintenance(ctx, 999, "root", longAgo), federation.ErrNotFound)
	got, err = p.Maintenance(ctx, longAgo)
	e.must(err)
	e.same("left", got, []federation.Maintenance{a})
	events, err := p.SiteEvents(ctx, b.Site, 99)
	e.must(err)
	if n := len(events); n != 2 || events[0].To != "MAINTENANCE" || events[1].From != "MAINTENANCE" || events[1].Who != "root" {
		e.Errorf("history %+v", events)
	}
}
