package quota

import (
	"slices"
	"testing"
	"time"

	"fsub/accounting"
	"fsub/federation"
	"fsub/federation/accounts"
	"fsub/federation/decision"
)

// What keeps a job back is told with who holds it and with all ways out, and each way out is true: with the limit that it names the job may be bound.
func TestHoldback(t *testing.T) {
	const gpu = "gres/gpu"
	want := Want{User: "alice", Account: "physics", TRES: accounting.TRES{gpu: 4}, Longest: 2*time.Hour + federation.KillTime, Cost: 10 * federation.Dollar}
	other := Want{User: "bob", Account: "physics", TRES: accounting.TRES{gpu: 2}, Longest: 6*time.Hour + federation.KillTime, Cost: 12 * federation.Dollar}
	ends := func(id federation.JobID) time.Time {
		if id == 3 {
			return time.Time{}
		}
		return start.Add(time.Duration(id) * time.Hour)
	}
	for _, c := range []struct {
		set, value    string
		held          int // jobs of bob
		kind          decision.HoldbackKind
		text          string
		details, free []string
	}{
		{"Budget", "40/month", 3, decision.HeldByBudget, "account physics may spend $40.00 this month: $1.00 is spent, and $36.00 reserved; the job may take $10.00",
			[]string{"job 1 of bob holds $12.00, ends by 2026-11-29T23:00:00Z", "job 2 of bob holds $12.00, ends by 2026-11-30T00:00:00Z", "job 3 of bob holds $12.00"},
			[]string{"with --time=0:35:00 or less it takes at most $3.00",
				"when 1 ends, by 2026-11-29T23:00:00Z: the part of $12.00 that it does not use is free again", "on 2026-12-01 the next month begins", "with Budget=47.00/month of account physics"}},
		{"Budget", "8/month", 0, decision.HeldByBudget, "account physics may spend $8.00 this month: $1.00 is spent, and $0.00 reserved; the job may take $10.00", nil,
			[]string{"with --time=1:23:00 or less it takes at most $7.00", "with Budget=11.00/month of account physics"}},
		{"BudgetTRESMins", gpu + "=600/day", 0, decision.HeldByBudget, "account physics may use 600 minutes of gres/gpu this day: 120 are used, and 0 reserved; the job may take 484 minutes of gres/gpu", nil,
			[]string{"with --time=1:59:00 or less it takes at most 480 minutes of gres/gpu", "on 2026-11-30 the next day begins", "with BudgetTRESMins=gres/gpu=604/day of account physics"}},
		{"GrpTRES", gpu + "=6", 2, decision.HeldByLimit, "account physics may hold gres/gpu=6, and holds 4; the job asks for 4",
			[]string{"job 1 of bob holds gres/gpu=2, ends by 2026-11-29T23:00:00Z", "job 2 of bob holds gres/gpu=2, ends by 2026-11-30T00:00:00Z"},
			[]string{"when 1 ends, by 2026-11-29T23:00:00Z", "with GrpTRES=gres/gpu=8 of account physics"}},
		{"GrpJobs", "3", 3, decision.HeldByLimit, "account physics may run 3 jobs",
			[]string{"job 1 of bob runs, ends by 2026-11-29T23:00:00Z", "job 2 of bob runs, ends by 2026-11-30T00:00:00Z", "job 3 of bob runs"},
			[]string{"when 1 ends, by 2026-11-29T23:00:00Z", "with GrpJobs=4 of account physics"}},
		{"MaxTRES", gpu + "=2", 0, decision.HeldByLimit, "a job of account physics may hold gres/gpu=2; the job asks for 4", nil, []string{"with MaxTRES=gres/gpu=4 of account physics"}},
		{"MaxWall", "60", 0, decision.HeldByLimit, "a job of account physics may run for 60 minutes; the job may take 120 minutes", nil,
			[]string{"with --time=1:00:00 or less it takes at most 60 minutes", "with MaxWall=120 of account physics"}},
	} {
		made := func(value string) *Book {
			b := New(tree(t, add(accounts.AccountKey("physics"), c.set, value), add(accounts.UserKey("physics", "alice")), add(accounts.UserKey("physics", "bob"))), 0)
			b.Add("bob", federation.Held{Account: "physics", TRES: gpu + "=2"}, time.Hour, federation.Dollar, start)
			for id := range federation.JobID(c.held) {
				b.Take(id+1, other)
			}
			return b
		}
		got := made(c.value).Holdback(start, &want, ends)
		if got == nil {
			t.Errorf("%s=%s: nothing holds the job back", c.set, c.value)
			continue
		}
		if got.Kind != c.kind || got.Text != c.text || !slices.Equal(got.Details, c.details) || !slices.Equal(got.Free, c.free) {
			t.Errorf("%s=%s:\n%s: %q\n%q\n%q\nwant\n%s: %q\n%q\n%q", c.set, c.value, got.Kind, got.Text, got.Details, got.Free, c.kind, c.text, c.details, c.free)
		}
		last := got.Free[len(got.Free)-1]
		value := last[len("with "+c.set+"=") : len(last)-len(" of account physics")]
		if no := made(value).Holdback(start, &want, ends); no != nil {
			t.Errorf("with %s=%s: %s", c.set, value, no.Text)
		}
	}
}

// Of many jobs that hold something the first to end are told, and how many more there are.
func TestManyHolders(t *testing.T) {
	const many = 100_000
	b := New(tree(t, add(accounts.AccountKey("physics"), "GrpJobs", "100000"), add(accounts.UserKey("physics", "alice"))), 0)
	w := Want{User: "alice", Account: "physics"}
	for id := range federation.JobID(many) {
		b.Take(id+1, w)
	}
	got := b.Holdback(start, &w, func(id federation.JobID) time.Time { return start.Add(time.Duration(many-id) * time.Second) })
	if got == nil || len(got.Details) != mostDetails+1 || got.Details[0] != "job 100000 of alice runs, ends by 2026-11-29T22:00:00Z" || got.Details[mostDetails] != "and 99900 more" {
		t.Errorf("%.500q", got)
	}
}
