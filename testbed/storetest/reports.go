package storetest

import (
	"errors"
	"time"

	"fsub/federation"
	"fsub/federation/reports"
)

// testReports: a report takes the place of that of the same owner and name, and what became of the one before it says nothing of it.
func testReports(e *env) {
	p := e.open()
	at := time.Unix(1795195874, 5).UTC()
	a, b := filled[reports.Saved](1), filled[reports.Saved](2)
	for i, s := range []*reports.Saved{&a, &b} {
		s.Owner, s.Name, s.Made = "alice", []string{"week", "cost"}[i], at
	}
	e.must(p.SaveReport(ctx, &a))
	e.must(p.SaveReport(ctx, &b))
	old := a.Definition
	a.Made, a.Format = at.Add(time.Second), "csv"
	e.must(p.SaveReport(ctx, &a))
	e.must(p.SetReportState(ctx, &old, reports.State{Error: "of the one before"}))
	b.State = reports.State{For: at, Sent: at, Where: "file", Tries: 3}
	e.must(p.SetReportState(ctx, &b.Definition, b.State))
	got, err := p.SavedReports(ctx)
	e.must(err)
	e.same("saved reports", got, []reports.Saved{b, a})
	e.must(p.RemoveReport(ctx, "alice", "week"))
	if err := p.RemoveReport(ctx, "alice", "week"); !errors.Is(err, federation.ErrNotFound) {
		e.Errorf("removed twice: %v", err)
	}
	if got, err = p.SavedReports(ctx); err != nil || len(got) != 1 {
		e.Errorf("%d reports are left, %v", len(got), err)
	}
}
