package storetest

import (
	"fmt"
	"time"

	"fsub/federation/health"
	"fsub/federation/journal"
)

// testHealth: the last record of a name is kept until there is nothing to remember; findings are kept in their order, the newest of them, until they are
// purged.
func testHealth(e *env) {
	s := e.open()
	one := health.Record{Kind: health.RecordNode, Name: "alpha/n1", Data: []byte(`{"a":1}`)}
	two := health.Record{Kind: health.RecordJob, Name: "alpha/n1", Data: []byte(`{"b":1}`)}
	var findings []health.PastFinding
	for i := range 4 {
		f := filled[health.PastFinding](i)
		f.At = time.Unix(int64(1000+i), 0).UTC()
		findings = append(findings, f)
	}
	e.must(s.Commit(ctx, &journal.Batch{Health: []health.Record{one, two}, Findings: findings[:2]}))
	one.Data = []byte(`{"a":2}`)
	e.must(s.Commit(ctx, &journal.Batch{Health: []health.Record{one}, Findings: findings[2:]}))
	check := func(records []health.Record, limit int, want ...health.PastFinding) {
		e.Helper()
		got, err := s.HealthRecords(ctx)
		e.must(err)
		e.same("records", got, records)
		said, err := s.HealthFindings(ctx, health.FindingQuery{Limit: limit})
		e.must(err)
		e.same(fmt.Sprintf("at most %d findings", limit), plainFindings(said), want)
	}
	check([]health.Record{two, one}, 9, findings...)
	e.must(s.Close())
	s = e.open()
	e.must(s.Commit(ctx, &journal.Batch{Health: []health.Record{{Kind: two.Kind, Name: two.Name}}}))
	check([]health.Record{one}, 2, findings[2:]...)
	all, err := s.HealthFindings(ctx, health.FindingQuery{})
	e.must(err)
	for _, c := range []struct {
		q    health.FindingQuery
		want []health.PastFinding
	}{
		{health.FindingQuery{Limit: 3, Oldest: true}, findings[:3]},
		{health.FindingQuery{After: all[0].Seq, Limit: 2, Oldest: true}, findings[1:3]},
		{health.FindingQuery{Before: all[3].Seq, Limit: 2}, findings[1:3]},
		{health.FindingQuery{After: all[0].Seq, Before: all[2].Seq}, findings[1:2]},
	} {
		some, err := s.HealthFindings(ctx, c.q)
		e.must(err)
		e.same(fmt.Sprintf("findings of %+v", c.q), plainFindings(some), c.want)
	}
	log, err := s.Changes(ctx, journal.OldestMark, 0)
	e.must(err)
	var told []health.PastFinding
	for i := range log.Commits {
		for _, c := range log.Commits[i].Changes {
			if c.Kind == journal.ChangeFinding {
				told = append(told, *c.Finding)
			}
		}
	}
	e.same("findings that the log tells", told, findings)
}

// plainFindings are findings without their numbers.
func plainFindings(kept []health.KeptFinding) (all []health.PastFinding) {
	for i := range kept {
		all = append(all, kept[i].PastFinding)
	}
	return all
}
