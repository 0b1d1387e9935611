package storetest

import (
	"context"
	"fmt"
	"time"

	"fsub/federation"
	"fsub/federation/action"
	"fsub/federation/audit"
	"fsub/federation/journal"
)

// testAudit: entries are kept with every field, in the order in which they were written, and can be asked for by each of them.
func testAudit(e *env) {
	s := e.open()
	var want []audit.Entry
	for i := range 4 {
		v := filled[audit.Entry](i)
		v.Object = fmt.Sprintf("alpha/n%d", i%2)
		want = append(want, v)
	}
	want[3].Object, want[3].At = "beta/n1", want[0].At // written later than it was done
	e.must(s.AddAudit(ctx, want[:2]...))
	e.must(s.AddAudit(ctx, want[2:]...))
	e.must(s.Close())
	s = e.open()
	all, err := s.Audit(ctx, audit.Query{})
	e.must(err)
	for i := range all {
		if i > 0 && all[i].Seq <= all[i-1].Seq {
			e.Fatalf("numbers %d, %d", all[i-1].Seq, all[i].Seq)
		}
		want[i].Seq = all[i].Seq
	}
	e.same("audit log", all, want)
	for _, c := range []struct {
		what string
		q    audit.Query
		want []audit.Entry
	}{
		{"user", audit.Query{User: want[1].Who.User}, want[1:2]},
		{"verb", audit.Query{Verb: want[2].Verb}, want[2:3]},
		{"kind", audit.Query{Kind: want[3].Kind}, want[3:]},
		{"object", audit.Query{Object: "alpha/n0"}, []audit.Entry{want[0], want[2]}},
		{"objects", audit.Query{Object: "alpha/*"}, want[:3]},
		{"since", audit.Query{Since: want[1].At}, want[1:3]},
		{"until", audit.Query{Until: want[1].At}, []audit.Entry{want[0], want[3]}},
		{"after", audit.Query{After: want[2].Seq}, want[3:]},
		{"newest", audit.Query{Limit: 2}, want[2:]},
		{"newest of an object", audit.Query{Object: "alpha/*", Limit: 1}, want[2:3]},
		{"before", audit.Query{Before: want[2].Seq}, want[:2]},
		{"oldest after", audit.Query{After: want[0].Seq, Limit: 2, Oldest: true}, want[1:3]},
		{"newest before", audit.Query{Before: want[3].Seq, Limit: 2}, want[1:3]},
		{"none", audit.Query{User: "nobody"}, nil},
	} {
		got, err := s.Audit(ctx, c.q)
		e.must(err)
		e.same(c.what, got, c.want)
	}
	if n, err := s.PurgeAudit(ctx, want[1].At); n != 2 || err != nil {
		e.Fatalf("%d entries deleted, %v; want 2", n, err)
	}
	got, err := s.Audit(ctx, audit.Query{})
	e.must(err)
	e.same("after a purge", got, want[1:3])
}

// testAuditWhole: an entry is there if, and only if, the change is that it came with.
func testAuditWhole(e *env) {
	s := e.open()
	j := e.create(s, "alice", "")
	said := func(verb string) audit.Entry { return audit.Entry{Verb: verb} }
	_, err := s.AddRequest(ctx, action.Request{Job: j.ID, Kind: action.Hold}, said("hold"))
	e.must(err)
	e.must(s.SetSiteState(ctx, federation.SiteRecord{Name: "alpha"}, said("drain")))
	e.must(s.Commit(ctx, &journal.Batch{Jobs: []*federation.Job{j}, Audit: []audit.Entry{said("requeue")}}))

	_, err = s.AddRequest(ctx, action.Request{Job: j.ID + 1, Kind: action.Hold}, said("hold of nothing"))
	e.wants(err, federation.ErrNotFound)
	unknown := *j
	unknown.ID++
	e.wants(s.Commit(ctx, &journal.Batch{Jobs: []*federation.Job{&unknown}, Audit: []audit.Entry{said("nothing")}}), federation.ErrNotFound)
	gone, cancel := context.WithCancel(ctx)
	cancel()
	e.wants(s.AddAudit(gone, said("cancelled")), context.Canceled)

	all, err := s.Audit(ctx, audit.Query{})
	e.must(err)
	var got []string
	for _, v := range all {
		got = append(got, v.Verb)
		if time.Since(v.At) > time.Minute {
			e.Errorf("%s is of %v", v.Verb, v.At)
		}
	}
	e.same("what was written", got, []string{"hold", "drain", "requeue"})
}
