package quota

import (
	"math"
	"testing"
	"time"

	"fsub/accounting"
	"fsub/federation"
	"fsub/federation/accounts"
)

// What has ended, what runs and what is reserved of a budget are told apart; what was spent before its period counts only for the pace.
func TestStandings(t *testing.T) {
	b := New(tree(t, add(accounts.AccountKey("physics"), "Budget", "1000/month", "BudgetTRESMins", "gres/gpu=6000/month"), add(accounts.UserKey("physics", "alice"))), 0)
	held := federation.Held{Account: "physics", TRES: "gres/gpu=4"}
	b.Add("alice", held, time.Hour, 50*accounting.Dollar, start.Add(-24*time.Hour))
	b.Add("alice", held, time.Hour, 90*accounting.Dollar, start.AddDate(0, -1, -1)) // before this month
	b.Take(7, Want{User: "alice", Account: "physics", TRES: accounting.TRES{"gres/gpu": 2}, Longest: 2 * time.Hour, Cost: 40 * accounting.Dollar})
	if b.Standings() != nil {
		t.Error("nobody has looked yet")
	}
	b.Levels(start, map[federation.JobID]time.Time{7: start.Add(-30 * time.Minute)})
	if !b.Stands() {
		t.Error("they are not of the tree as it is")
	}
	all := b.Standings()
	if len(all) != 2 {
		t.Fatalf("%+v", all)
	}
	money, gpus := all[0], all[1]
	if money.Of != "" || money.Limit != 1000 || money.Used != 50 || money.Running != 10 || money.Reserved != 40 || math.Abs(money.Daily-50.0/28) > 1e-9 ||
		!money.Until.Equal(time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("dollars: %+v", money)
	}
	if gpus.Of != "gres/gpu" || gpus.Limit != 6000 || gpus.Used != 240 || gpus.Running != 60 || gpus.Reserved != 240 {
		t.Errorf("minutes: %+v", gpus)
	}
}
