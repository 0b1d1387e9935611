package quota

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"fsub/accounting"
	"fsub/federation"
	"fsub/federation/accounts"
	"fsub/federation/reasons"
)

type books struct{ t *accounts.Tree }

func (b books) Tree() *accounts.Tree { return b.t }

func tree(t interface{ Fatal(...any) }, edits ...accounts.Edit) books {
	empty, err := accounts.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	next, _, err := empty.Apply(edits, accounts.Editor{Operator: true})
	if err != nil {
		t.Fatal(err)
	}
	return books{next}
}

func add(k accounts.Key, set ...string) accounts.Edit {
	e := accounts.Edit{Op: accounts.Add, Key: k, Set: map[string]string{}}
	for i := 0; i < len(set); i += 2 {
		e.Set[set[i]] = set[i+1]
	}
	return e
}

var start = time.Date(2026, 11, 29, 22, 0, 0, 0, time.UTC) // near the end of a month

// Whatever is submitted together, ends, in whatever order, and however often the daemon starts anew: no cap is ever passed. A job at a site that does not
// answer is one that does not end.
func TestCapsAreNeverPassed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := tree(t, add(accounts.AccountKey("physics"), "Budget", "100/month", "BudgetTRESMins", "gres/gpu=3000/day", "GrpTRES", "gres/gpu=16", "GrpJobs", "9"),
			add(accounts.UserKey("physics", "alice"), "Budget", "60/month"), add(accounts.UserKey("physics", "bob"), "MaxJobs", "4"))
		type running struct {
			Want
			began time.Time
		}
		live := map[federation.JobID]running{}
		var order []federation.JobID
		var charges []federation.Charge
		book, now, next := New(b, 0), start, federation.JobID(1)
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch what := rapid.IntRange(0, 9).Draw(t, "what"); {
			case what < 5: // some at once, each looked at before it is bound
				for range rapid.IntRange(1, 30).Draw(t, "jobs") {
					gpus := int64(rapid.IntRange(1, 8).Draw(t, "gpus"))
					longest := time.Duration(rapid.IntRange(1, 600).Draw(t, "minutes")) * time.Minute
					price := federation.Money(gpus) * federation.Dollar / 4
					w := Want{User: rapid.SampledFrom([]string{"alice", "bob"}).Draw(t, "user"), TRES: accounting.TRES{"gres/gpu": gpus}, Longest: longest, Cost: price.For(longest)}
					if book.Check(now, &w) == nil {
						book.Take(next, w)
						live[next], order = running{w, now}, append(order, next)
					}
					next++
				}
			case what < 8 && len(order) > 0: // one ends
				i := rapid.IntRange(0, len(order)-1).Draw(t, "which")
				id := order[i]
				order = append(order[:i:i], order[i+1:]...)
				j := live[id]
				delete(live, id)
				ran := time.Duration(rapid.Int64Range(0, int64(j.Longest/time.Second)).Draw(t, "ran")) * time.Second
				price := federation.Money(j.TRES["gres/gpu"]) * federation.Dollar / 4
				k := federation.Charge{User: j.User, Held: federation.Held{TRES: j.TRES.String()}, Start: now.Add(-ran), End: now, Amount: price.For(ran), From: federation.PriceTable}
				charges = append(charges, k)
				book.Charge(&k)
				book.Release(id)
			case what == 8:
				now = now.Add(time.Duration(rapid.IntRange(1, 600).Draw(t, "later")) * time.Minute)
			default: // a new daemon
				book = New(b, 0)
				for i := range charges {
					book.Charge(&charges[i])
				}
				for id, j := range live {
					book.Take(id, j.Want)
				}
			}
			var gpus int64
			byUser := map[string]int{}
			for _, j := range live {
				gpus += j.TRES["gres/gpu"]
				byUser[j.User]++
			}
			if gpus > 16 || len(live) > 9 || byUser["bob"] > 4 {
				t.Fatalf("%d GPUs are held by %d jobs, %d of them bob's", gpus, len(live), byUser["bob"])
			}
			money, minutes := map[string]federation.Money{}, map[int64]float64{}
			for i := range charges {
				k := &charges[i]
				tres, _ := accounting.ParseTRES(k.TRES)
				month := k.End.Format("2006-01")
				money[month] += k.Amount
				money[month+k.User] += k.Amount
				minutes[dayOf(k.End)] += k.End.Sub(k.Start).Minutes() * float64(tres["gres/gpu"])
			}
			for month, spent := range money {
				if most := 100 * federation.Money(federation.Dollar); spent > most || len(month) > 7 && month[7:] == "alice" && spent > 60*federation.Dollar {
					t.Fatalf("%s: $%s are spent", month, spent)
				}
			}
			for day, n := range minutes {
				if n > 3000 {
					t.Fatalf("day %d: %v GPU minutes", day, n)
				}
			}
		}
	})
}

// The reasons are Slurm's words.
func TestReasons(t *testing.T) {
	b := tree(t, add(accounts.QOSKey("small"), "MaxTRESPerUser", "gres/gpu=2", "GrpTRESMins", "cpu=60"), add(accounts.QOSKey("one"), "MaxJobsPerUser", "0"),
		add(accounts.AccountKey("physics"), "GrpTRESMins", "gres/gpu=600", "MaxTRES", "node=4", "MaxJobs", "3"), add(accounts.UserKey("physics", "alice"), "GrpTRES", "cpu=64"),
		add(accounts.AccountKey("broke"), "Budget", "0/month"), add(accounts.UserKey("broke", "alice")),
		add(accounts.AccountKey("short"), "MaxWall", "60", "MaxTRESMins", "cpu=100,gres/gpu=60", "GrpTRESRunMins", "node=70", "GrpWall", "58"), add(accounts.UserKey("short", "alice")),
		add(accounts.QOSKey("long"), "MaxWall", "600", "MaxTRESMins", "cpu=1000", "GrpWall", "900", "MaxTRESPerAccount", "mem=64G,gres/gpu=1", "MaxTRES", "mem=128G"))
	for want, w := range map[reasons.Reason]Want{
		"":                        {TRES: accounting.TRES{"gres/gpu": 4, "cpu": 8}, Longest: time.Hour},
		"AssocGrpGRESMinutes":     {TRES: accounting.TRES{"gres/gpu": 4}, Longest: 3 * time.Hour},
		"AssocGrpCpuLimit":        {TRES: accounting.TRES{"cpu": 65}, Longest: time.Hour},
		"AssocMaxNodePerJobLimit": {TRES: accounting.TRES{"node": 5}, Longest: time.Hour},
		"QOSMaxGRESPerUser":       {QOS: "small", TRES: accounting.TRES{"gres/gpu": 3}, Longest: time.Hour},
		"QOSGrpCPUMinutesLimit":   {QOS: "small", TRES: accounting.TRES{"cpu": 2}, Longest: time.Hour},
		"QOSMaxJobsPerUserLimit":  {QOS: "one", Longest: time.Hour},
		reasons.AccountBudget:     {Account: "broke", Longest: time.Hour},

		"AssocMaxWallDurationPerJobLimit": {Account: "short", QOS: "small", Longest: 2*time.Hour + federation.KillTime},
		"AssocGrpWallLimit":               {Account: "short", Longest: time.Hour},
		"AssocMaxCpuMinutesPerJobLimit":   {Account: "short", Longest: 50 * time.Minute, TRES: accounting.TRES{"cpu": 4}},
		"AssocMaxGRESMinutesPerJob":       {Account: "short", QOS: "long", Longest: time.Hour, TRES: accounting.TRES{"cpu": 4, "gres/gpu": 2}},
		"AssocGrpNodeRunMinutes":          {Account: "short", Longest: 50 * time.Minute, TRES: accounting.TRES{"node": 2}},
		"QOSMaxWallDurationPerJobLimit":   {Account: "short", QOS: "long", Longest: 11 * time.Hour},
		"MaxMemoryPerAccount":             {QOS: "long", Longest: time.Hour, TRES: accounting.TRES{"mem": 65 << 10}},
		"QOSMaxMemoryPerJob":              {QOS: "long", Longest: time.Hour, TRES: accounting.TRES{"mem": 129 << 10}},
	} {
		book := New(b, 0)
		w.User = "alice"
		if w.Account == "" {
			w.Account = "physics"
		}
		var got reasons.Reason
		if no := book.Check(start, &w); no != nil {
			got = no.Reason
		}
		if got != want {
			t.Errorf("%+v: %q, want %q", w, got, want)
		}
	}
	book := New(b, 0)
	for id := range federation.JobID(3) {
		book.Take(id+1, Want{User: "alice", Account: "physics"})
	}
	if no := book.Check(start, &Want{User: "alice", Account: "physics", Longest: time.Hour}); no == nil || no.Reason != "AssocMaxJobsLimit" {
		t.Errorf("a limit that the account has: %+v", no)
	}
	if no := book.Check(start, &Want{User: "alice", Account: "physics", TRES: accounting.TRES{"gres/gpu": 1}}); no == nil || no.Text[len(no.Text)-10:] != "set --time" {
		t.Errorf("without a time limit: %+v", no)
	}
}

// At the soft limit an association is late; at the next period it is not any more.
func TestSoft(t *testing.T) {
	b := tree(t, add(accounts.AccountKey("physics"), "Budget", "100/month", "BudgetSoft", "80"), add(accounts.UserKey("physics", "alice")))
	book, alice := New(b, 0), accounts.UserKey("physics", "alice")
	book.Add("alice", federation.Held{Account: "physics"}, time.Hour, 70*federation.Dollar, start)
	if book.Late(start, alice) {
		t.Error("late at 70 of 100")
	}
	book.Take(1, Want{User: "alice", Cost: 10 * federation.Dollar})
	if !book.Late(start, alice) {
		t.Error("not late at 80 of 100")
	}
	book.Release(1)
	book.Add("alice", federation.Held{Account: "physics"}, time.Hour, 30*federation.Dollar, start)
	if !book.Late(start, alice) || book.Late(start.AddDate(0, 0, 5), alice) {
		t.Error("all is spent, and then a month begins")
	}
}
