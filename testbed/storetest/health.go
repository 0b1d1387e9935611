package storetest

import (
	"fmt"
	"time"

	"fsub/federation"
	"fsub/federation/journal"
)

// testHealth: the last record of a name is kept until there is nothing to remember; findings are kept in their order, the newest of them, until they are
// purged.
func testHealth(e *env) {
	s := e.open()
	one := federation.HealthRecord{Kind: federation.HealthNode, Name: "alpha/n1", Data: []byte(`{"a":1}`)}
	two := federation.HealthRecord{Kind: federation.HealthJob, Name: "alpha/n1", Data: []byte(`{"b":1}`)}
	var findings []federation.HealthFinding
	for i := range 4 {
		f := filled[federation.HealthFinding](i)
		f.At = time.Unix(int64(1000+i), 0).UTC()
		findings = append(findings, f)
	}
	e.must(s.Commit(ctx, &journal.Batch{Health: []federation.HealthRecord{one, two}, Findings: findings[:2]}))
	one.Data = []byte(`{"a":2}`)
	e.must(s.Commit(ctx, &journal.Batch{Health: []federation.HealthRecord{one}, Findings: findings[2:]}))
	check := func(records []federation.HealthRecord, limit int, want ...federation.HealthFinding) {
		e.Helper()
		got, err := s.HealthRecords(ctx)
		e.must(err)
		e.same("records", got, records)
		said, err := s.HealthFindings(ctx, limit)
		e.must(err)
		e.same(fmt.Sprintf("at most %d findings", limit), said, want)
	}
	check([]federation.HealthRecord{two, one}, 9, findings...)
	e.must(s.Close())
	s = e.open()
	e.must(s.Commit(ctx, &journal.Batch{Health: []federation.HealthRecord{{Kind: two.Kind, Name: two.Name}}}))
	check([]federation.HealthRecord{one}, 2, findings[2:]...)
	log, err := s.Changes(ctx, journal.OldestMark, 0)
	e.must(err)
	var told []federation.HealthFinding
	for i := range log.Commits {
		for _, c := range log.Commits[i].Changes {
			if c.Kind == journal.ChangeFinding {
				told = append(told, *c.Finding)
			}
		}
	}
	e.same("findings that the log tells", told, findings)
}
