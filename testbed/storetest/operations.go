package storetest

import (
	"time"

	"fsub/federation"
	"fsub/federation/action"
	"fsub/federation/audit"
	"fsub/sbatch"
)

func testOperationFields(e *env) {
	o := e.open()
	var want []action.Operation
	var items [][]action.OperationItem
	for i := range 3 {
		op := filled[action.Operation](i)
		list := []action.OperationItem{filled[action.OperationItem](i), filled[action.OperationItem](i + 10)}
		op.Ended, op.Told, op.Settled, op.Failed, list[0].N, list[1].N = time.Time{}, time.Time{}, 1, 1, 1, 2
		op.Rest = []federation.JobID{30000001, 30000002, 30000003, 30000007}[:i]
		list[0].Settled, list[1].Settled, list[1].Failed = 1, 0, false
		e.must(o.AddOperation(ctx, &op, list))
		if op.ID != action.OperationID(i+1) || op.Jobs != 2+i {
			e.Fatalf("operation %d has the number %d and %d jobs", i, op.ID, op.Jobs)
		}
		want, items = append(want, op), append(items, list)
	}
	at := time.Unix(1_700_000_000, 5).UTC()
	items[1][1].Settled, items[1][1].Failed, items[1][1].Note = 7, false, "it has ended"
	e.must(o.SettleItems(ctx, want[1].ID, items[1][1:], at))
	want[1].Ended, want[1].Settled = at, 2
	e.must(o.OperationTold(ctx, want[1].ID, at))
	want[1].Told = at
	for range 2 {
		got, err := o.Operations(ctx, false, 9)
		e.must(err)
		e.same("operations", got, want)
		got, err = o.Operations(ctx, true, 9)
		e.must(err)
		e.same("open operations", got, []action.Operation{want[0], want[2]})
		got, err = o.Operations(ctx, false, 1)
		e.must(err)
		e.same("newest operation", got, want[2:])
		for i, op := range want {
			got, err := o.OperationItems(ctx, op.ID)
			e.must(err)
			e.same("items", got, items[i])
		}
		o = e.reopen(o)
	}
	settled, err := o.SettledItems(ctx, want[1].ID, 6, 9)
	e.must(err)
	e.same("settled items", settled, items[1][1:])
	_, err = o.OperationItems(ctx, 77)
	e.wants(err, federation.ErrNotFound)
	e.wants(o.OperationTold(ctx, 77, at), federation.ErrNotFound)
}

// testOperationGrows: jobs that have no items yet get them in order, each once.
func testOperationGrows(e *env) {
	s := e.open()
	op := action.Operation{Verb: action.Cancel, Rest: []federation.JobID{5, 6, 7, 9, 11, 12}}
	e.must(s.AddOperation(ctx, &op, []action.OperationItem{{Job: 2}}))
	e.must(s.AddItems(ctx, op.ID, []action.OperationItem{{Job: 5, Settled: 1}, {Job: 6}}))
	e.wants(s.AddItems(ctx, op.ID, []action.OperationItem{{Job: 5}}), federation.ErrConflict)
	e.must(s.AddItems(ctx, op.ID, []action.OperationItem{{Job: 7}, {Job: 9, Settled: 2, Failed: true}}))
	all, err := s.Operations(ctx, true, 9)
	e.must(err)
	items, err := s.OperationItems(ctx, op.ID)
	e.must(err)
	if o := all[0]; len(o.Rest) != 2 || o.Rest[0] != 11 || o.Jobs != 7 || o.Settled != 2 || o.Failed != 1 || len(items) != 5 || items[4].N != 5 || items[4].Job != 9 {
		e.Errorf("operation %+v, items %+v", o, items)
	}
	e.must(s.AddItems(ctx, op.ID, []action.OperationItem{{Job: 11}, {Job: 12}}))
	if all, err = s.Operations(ctx, true, 9); err != nil || all[0].Rest != nil || all[0].Jobs != 7 {
		e.Errorf("operations %+v, %v", all, err)
	}
}

// reopen closes a store and opens it again.
func (e *env) reopen(s Store) Store {
	e.Helper()
	e.must(s.Close())
	return e.open()
}

// testOperationAsks: an item gets one request, and requests and items are written together or not at all.
func testOperationAsks(e *env) {
	s := e.open()
	a, b := e.create(s, "alice", ""), e.create(s, "bob", "")
	op := action.Operation{Verb: action.Update, Change: []sbatch.Change{{Option: "time"}}}
	e.must(s.AddOperation(ctx, &op, []action.OperationItem{{Job: a.ID}, {Job: b.ID}, {Job: b.ID + 1}}))
	ask := func(n int, id federation.JobID) action.ItemRequest {
		return action.ItemRequest{N: n, Request: action.Request{Job: id, Kind: action.Update, At: time.Unix(9, 0).UTC()}, Audit: []audit.Entry{{Verb: "update"}}}
	}
	seqs, err := s.AskItems(ctx, op.ID, []action.ItemRequest{ask(1, a.ID)})
	e.must(err)
	refused := func(want error, asks ...action.ItemRequest) {
		e.Helper()
		_, err := s.AskItems(ctx, op.ID, asks)
		e.wants(err, want)
	}
	refused(federation.ErrConflict, ask(2, b.ID), ask(1, a.ID))
	refused(federation.ErrNotFound, ask(2, b.ID), ask(3, b.ID+1))
	requests, err := s.Requests(ctx, 0)
	e.must(err)
	items, err := s.OperationItems(ctx, op.ID)
	e.must(err)
	if len(requests) != 1 || len(seqs) != 1 || seqs[0] != requests[0].Seq || requests[0].Job != a.ID || items[0].Seq != requests[0].Seq || !items[0].Asked.Equal(requests[0].At) || items[1].Seq != 0 {
		e.Fatalf("requests %+v, items %+v", requests, items)
	}
	entries, err := s.Audit(ctx, audit.Query{})
	e.must(err)
	if len(entries) != 1 {
		e.Errorf("%d entries in the audit log, want 1", len(entries))
	}
	e.must(s.SettleItems(ctx, op.ID, []action.OperationItem{{N: 2, Settled: 1, Failed: true, Note: "no"}}, time.Time{}))
	refused(federation.ErrConflict, ask(2, b.ID)) // it is settled
}
