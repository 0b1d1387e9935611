package controller

import (
	"strings"
	"testing"
	"time"

	"fsub/accounting"
	"fsub/federation"
	"fsub/federation/accounts"
	"fsub/federation/fairshare"
	"fsub/federation/health"
	"fsub/federation/journal"
	"fsub/federation/place"
	"fsub/federation/quota"
	"fsub/sbatch"
)

// changing is a tree that is edited while the daemon runs.
type changing struct{ t *accounts.Tree }

func (c *changing) Tree() *accounts.Tree { return c.t }

func (c *changing) edit(t *testing.T, edits ...accounts.Edit) {
	t.Helper()
	next, _, err := c.t.Apply(edits, accounts.Editor{Operator: true})
	if err != nil {
		t.Fatal(err)
	}
	c.t = next
}

// A budget is warned of once in its period, over restarts too; when it is used up, what runs on it gets its signal, and is cancelled after its grace.
func TestBudgetIsToldAndEnds(t *testing.T) {
	b := newBench(t)
	empty, _ := accounts.New(nil)
	tree := &changing{empty}
	tree.edit(t, accounts.Edit{Op: accounts.Add, Key: accounts.AccountKey("physics"), Set: map[string]string{"Budget": "4/month", "BudgetWarn": "20", "BudgetEnd": "60"}},
		accounts.Edit{Op: accounts.Add, Key: accounts.UserKey("physics", "alice")})
	var told []string
	start := func() {
		t.Helper()
		book := quota.New(tree, 0)
		charges, err := b.store.Charges(t.Context(), federation.ChargeQuery{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range charges {
			book.Charge(&charges[i])
		}
		b.ctl, err = New(t.Context(), Config{Federation: "test", Store: b.store, Policy: place.DefaultPolicy(), Now: b.now, Inline: true, Quota: book,
			FairShare: fairshare.New(fairshare.Default(), tree), Notify: func(f health.Finding) { told = append(told, f.Rule+": "+f.Why) },
			Sites: []Site{{Name: "cheap", Driver: b.cheap, Prices: accounting.Prices{"gres/gpu": 1}}}})
		if err != nil {
			t.Fatal(err)
		}
		b.wait(5 * time.Second)
	}
	start()
	id := b.submit(func(s *sbatch.Spec) { s.Signal = &sbatch.Signal{Name: "USR1"} }) // 2 GPUs for an hour: $2
	b.wait(10 * time.Second)
	b.cheap.start(id)
	b.wait(25 * time.Minute)
	if len(told) != 1 || !strings.HasPrefix(told[0], "BudgetWarn: account physics has spent $0.") {
		t.Fatalf("told: %q", told)
	}
	start()
	b.wait(5 * time.Minute)
	if len(told) != 1 {
		t.Fatalf("told again after a restart: %q", told)
	}
	tree.edit(t, accounts.Edit{Op: accounts.Modify, Key: accounts.AccountKey("physics"), Set: map[string]string{"Budget": "0.5/month"}})
	b.wait(20 * time.Second)
	if len(told) != 2 || !strings.HasPrefix(told[1], "Budget: account physics has spent $1.") {
		t.Fatalf("told: %q", told)
	}
	if past, err := b.store.HealthFindings(t.Context(), health.FindingQuery{}); err != nil || len(past) != 2 || past[1].Rule+": "+past[1].Why != told[1] {
		t.Errorf("in the log, for webhooks: %+v, %v", past, err)
	}
	if got := b.cheap.signals; len(got) != 1 || got[0].Name != "USR1" {
		t.Fatalf("signals: %v", got)
	}
	if j := b.job(id); j.Cancel {
		t.Fatal("cancelled at once")
	}
	b.wait(90 * time.Second)
	if j := b.job(id); !j.Cancel {
		t.Errorf("it is %s after its grace", j.State)
	}
}

// What is changed in the account tree shows within seconds: in the budgets, and in the shares.
func TestEditsOfTheTreeShowSoon(t *testing.T) {
	b := newBench(t)
	empty, _ := accounts.New(nil)
	tree := &changing{empty}
	b.limited(tree)
	b.wait(20 * time.Second)
	tree.edit(t, accounts.Edit{Op: accounts.Add, Key: accounts.AccountKey("physics"), Set: map[string]string{"Budget": "4/month"}},
		accounts.Edit{Op: accounts.Add, Key: accounts.UserKey("physics", "alice")})
	b.wait(3 * time.Second)
	if all := b.ctl.cfg.Quota.Standings(); len(all) != 1 || all[0].Limit != 4 {
		t.Errorf("budgets: %+v", all)
	}
	if n := len(b.ctl.cfg.FairShare.Standing()); n != 3 { // root, the account and its user
		t.Errorf("the shares of %d are known", n)
	}
}

// A job pays from the account that it was submitted under, though its user has another default account, or has left that one, when it is bound.
func TestPayerIsSettledAtSubmission(t *testing.T) {
	b := newBench(t)
	empty, _ := accounts.New(nil)
	tree := &changing{empty}
	tree.edit(t, accounts.Edit{Op: accounts.Add, Key: accounts.AccountKey("vision")}, accounts.Edit{Op: accounts.Add, Key: accounts.UserKey("vision", "alice")},
		accounts.Edit{Op: accounts.Add, Key: accounts.AccountKey("nlp")})
	b.limited(tree)
	id := b.submit(nil)
	j, err := b.store.Job(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	j.TreeAccount = tree.Tree().JobAccount(j.User, j.Spec.Account)
	if err := b.store.Commit(t.Context(), &journal.Batch{Jobs: []*federation.Job{&j}}); err != nil {
		t.Fatal(err)
	}
	tree.edit(t, accounts.Edit{Op: accounts.Add, Key: accounts.UserKey("nlp", "alice"), Default: true}, accounts.Edit{Op: accounts.Remove, Key: accounts.UserKey("vision", "alice")})
	b.wait(2 * time.Second)
	if all, err := b.store.Attempts(t.Context(), id); err != nil || len(all) != 1 || all[0].Held.Account != "vision" {
		t.Errorf("attempts %+v, %v: want one that vision pays", all, err)
	}
}
