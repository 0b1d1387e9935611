package storetest

import (
	"time"

	"fsub/federation/accounts"
	"fsub/federation/audit"
)

// testAccounts: the account tree is what was written last, with every field, and who wrote it is in the audit log.
func testAccounts(e *env) {
	s := e.open()
	physics := accounts.Record{Key: accounts.AccountKey("physics"), Parent: "root", Coordinators: []string{"carol", "dave"}, Set: accounts.Settings{"Fairshare": "3"}, From: "alpha"}
	alice := accounts.Record{Key: accounts.UserKey("physics", "alice"), Default: true, Set: accounts.Settings{"GrpTRES": "cpu=4"}}
	high := accounts.Record{Key: accounts.QOSKey("high"), Set: accounts.Settings{}}
	by := accounts.Editor{Name: "olga", UID: 7, Role: "Operator", From: "socket"}
	at := time.Unix(1000, 5).UTC()
	change := func(r accounts.Record) accounts.Change { return accounts.Change{Key: r.Key, After: &r} }
	e.must(s.WriteAccounts(ctx, []accounts.Change{change(physics), change(alice), change(high)}, by, at, "new team"))
	physics.Parent, physics.Set = "science", accounts.Settings{"Fairshare": "7"}
	e.must(s.WriteAccounts(ctx, []accounts.Change{change(physics), {Key: high.Key, Before: &high}}, by, at.Add(1), ""))
	e.must(s.SetMadeAt(ctx, "alpha", physics.Key, true))
	e.must(s.SetMadeAt(ctx, "alpha", physics.Key, true))
	e.must(s.SetMadeAt(ctx, "alpha", alice.Key, true))
	e.must(s.SetMadeAt(ctx, "alpha", alice.Key, false))
	for range 2 {
		got, err := s.AccountRecords(ctx)
		e.must(err)
		e.same("records", got, []accounts.Record{physics, alice})
		made, err := s.MadeAt(ctx, "alpha")
		e.must(err)
		e.same("made", made, map[accounts.Key]bool{physics.Key: true})
		all, err := s.Audit(ctx, audit.Query{Kind: audit.User})
		e.must(err)
		who := audit.Actor{User: "olga", UID: 7, Role: "Operator", From: "socket"}
		if len(all) == 1 {
			all[0].Seq = 0
		}
		e.same("audit", all, []audit.Entry{{At: at, Who: who, Verb: "add", Kind: audit.User, Object: "physics/alice",
			After: "DefaultAccount=physics GrpTRES=cpu=4", Why: "new team"}})
		e.must(s.Close())
		s = e.open()
	}
}
