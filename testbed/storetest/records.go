package storetest

import (
	"encoding/json"

	"fsub/federation"
	"fsub/federation/audit"
	"fsub/federation/records"
)

// testRecords: an owner has one record of a kind and name, and what was read before somebody else wrote it is not written back.
func testRecords(e *env) {
	s := e.open()
	put := func(kind, owner, name, value string) *records.Record {
		r := &records.Record{Kind: kind, Owner: owner, Name: name, Value: json.RawMessage(value)}
		e.must(s.PutRecord(ctx, r))
		return r
	}
	lists := func(kind, owner string, want ...*records.Record) {
		e.Helper()
		got, err := s.Records(ctx, kind, owner)
		e.must(err)
		values := []records.Record{}
		for _, r := range want {
			values = append(values, *r)
		}
		e.same("records of "+owner, append([]records.Record{}, got...), values)
	}
	bob, week := put("report", "bob", "week", `1`), put("report", "alice", "week", `{"a": [1]}`)
	cost, other := put("report", "alice", "cost", `"x"`), put("hook", "alice", "cost", `null`)
	lists("report", "", cost, week, bob)
	lists("report", "alice", cost, week)
	lists("hook", "", other)
	lists("report", "nobody")

	// A writer who read it before is too late; one who read it now is not.
	late := *week
	week.Value = json.RawMessage(`2`)
	e.must(s.PutRecord(ctx, week))
	e.wants(s.PutRecord(ctx, &late), federation.ErrConflict)
	lists("report", "alice", cost, week)

	// So is one who read it before it was removed, also where another took its place.
	gone := *bob
	e.must(s.RemoveRecord(ctx, "report", "bob", "week"))
	e.wants(s.RemoveRecord(ctx, "report", "bob", "week"), federation.ErrNotFound)
	e.wants(s.PutRecord(ctx, &gone), federation.ErrConflict)
	again := put("report", "bob", "week", `3`)
	e.wants(s.PutRecord(ctx, &gone), federation.ErrConflict)

	// What replaces a record has a new revision, and what was refused has left no audit entry.
	replaced := put("report", "bob", "week", `4`)
	if replaced.Rev == again.Rev {
		e.Errorf("two writes have revision %d", again.Rev)
	}
	entry := audit.Entry{Verb: "put", Kind: audit.Report, Object: "bob/week"}
	e.wants(s.PutRecord(ctx, &gone, entry), federation.ErrConflict)
	e.wants(s.RemoveRecord(ctx, "report", "bob", "none", entry), federation.ErrNotFound)
	e.must(s.PutRecord(ctx, replaced, entry))
	got, err := s.Audit(ctx, audit.Query{Kind: audit.Report})
	e.must(err)
	if len(got) != 1 {
		e.Errorf("%d audit entries of one write", len(got))
	}
	e.must(s.Close())
	s = e.open()
	lists("report", "", cost, week, replaced)
}
