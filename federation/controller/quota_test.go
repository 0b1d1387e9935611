package controller

import (
	"cmp"
	"errors"
	"strings"
	"testing"
	"time"

	"fsub/accounting"
	"fsub/federation"
	"fsub/federation/accounts"
	"fsub/federation/fairshare"
	"fsub/federation/place"
	"fsub/federation/quota"
	"fsub/federation/reasons"
	"fsub/sbatch"
)

type treeOf struct{ t *accounts.Tree }

func (l treeOf) Tree() *accounts.Tree { return l.t }

// limited is a new daemon over the same store, which knows a tree and what was charged.
func (b *bench) limited(tree interface{ Tree() *accounts.Tree }) {
	b.t.Helper()
	book := quota.New(tree, 0)
	charges, err := b.store.Charges(b.t.Context(), federation.ChargeQuery{})
	if err != nil {
		b.t.Fatal(err)
	}
	for i := range charges {
		book.Charge(&charges[i])
	}
	b.ctl, err = New(b.t.Context(), Config{Federation: "test", Store: b.store, Policy: place.DefaultPolicy(), Now: b.now, Inline: true, Quota: book,
		FairShare: fairshare.New(fairshare.Default(), tree), Sites: []Site{
			{Name: "cheap", Driver: b.cheap, Prices: accounting.Prices{"gres/gpu": 1}},
			{Name: "dear", Driver: b.dear, Prices: accounting.Prices{"gres/gpu": 3}},
		}})
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) live() int {
	b.t.Helper()
	all, err := b.store.LiveAttempts(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	return len(all)
}

// Many jobs that are submitted at once do not pass a hard limit together, nor while sites do not answer, nor over a restart.
func TestHardLimit(t *testing.T) {
	for name, set := range map[string]map[string]string{
		"TRES minutes": {"BudgetTRESMins": "gres/gpu=366/month"}, // 2 GPUs for 61 minutes: three jobs
		"money":        {"Budget": "6.2/month"},                  // at $2.03
		"jobs":         {"GrpJobs": "3"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			empty, _ := accounts.New(nil)
			tree, _, err := empty.Apply([]accounts.Edit{{Op: accounts.Add, Key: accounts.AccountKey("physics"), Set: set},
				{Op: accounts.Add, Key: accounts.UserKey("physics", "alice")}}, accounts.Editor{Operator: true})
			if err != nil {
				t.Fatal(err)
			}
			b.cheap.nodes, b.dear.nodes = 8, 8
			b.limited(treeOf{tree})
			b.rounds(3)
			var ids []federation.JobID
			for range 30 {
				ids = append(ids, b.submit(nil))
			}
			array := b.submit(func(s *sbatch.Spec) { s.Array = "0-9" })
			check := func(when string) {
				t.Helper()
				if n := b.live(); n == 0 || n > 3 {
					t.Fatalf("%s: %d attempts are alive", when, n)
				}
			}
			b.wait(10 * time.Second)
			check("at once")
			b.cheap.fail, b.dear.fail = federation.ErrUnavailable, federation.ErrUnavailable
			b.wait(time.Minute)
			check("while no site answers")
			b.limited(treeOf{tree})
			b.wait(time.Minute)
			b.cheap.fail, b.dear.fail = nil, nil
			b.wait(time.Minute)
			check("after a restart")
			waits := b.job(ids[29])
			if r := waits.Reason; r != "AssocGrpGRESMinutes" && r != reasons.AccountBudget && r != "AssocGrpJobsLimit" {
				t.Errorf("a job waits for %q", r)
			}
			if j := b.job(array); j.State != federation.Pending {
				t.Errorf("the array is %s", j.State)
			}
		})
	}
}

// What is spent of a budget does not stand in the history of a job, which others see too.
func TestHistoryTellsNoBudget(t *testing.T) {
	b := newBench(t)
	b.makeAble()
	empty, _ := accounts.New(nil)
	tree, _, err := empty.Apply([]accounts.Edit{{Op: accounts.Add, Key: accounts.AccountKey("physics"), Set: map[string]string{"Budget": "1/month", "GrpJobs": "5"}},
		{Op: accounts.Add, Key: accounts.UserKey("physics", "alice")}}, accounts.Editor{Operator: true})
	if err != nil {
		t.Fatal(err)
	}
	b.limited(treeOf{tree})
	b.rounds(3)
	id := b.submit(nil)
	b.wait(20 * time.Second)
	b.want(id, federation.Pending, reasons.AccountBudget, "")
	if got := b.history(id); strings.Contains(got, "$") || !strings.Contains(got, "waits: Budget of account physics does not suffice this month: see fed explain") {
		t.Errorf("its history: %s", got)
	}
}

// What a job has run is free again for GrpTRESRunMins, over a restart too.
func TestRunMinutesAreFreedAsJobsRun(t *testing.T) {
	b := newBench(t)
	b.makeAble()
	empty, _ := accounts.New(nil)
	tree, _, err := empty.Apply([]accounts.Edit{{Op: accounts.Add, Key: accounts.AccountKey("physics"), Set: map[string]string{"GrpTRESRunMins": "gres/gpu=200"}},
		{Op: accounts.Add, Key: accounts.UserKey("physics", "alice")}}, accounts.Editor{Operator: true})
	if err != nil {
		t.Fatal(err)
	}
	b.limited(treeOf{tree})
	b.rounds(3)
	waits := func(id federation.JobID, what string) {
		t.Helper()
		b.wait(40 * time.Second)
		b.want(id, federation.Pending, "AssocGrpGRESRunMinutes", "")
	}
	b.running() // two GPUs for 61 minutes
	second := b.submit(nil)
	waits(second, "at once")
	b.clock = b.clock.Add(18 * time.Minute)
	waits(second, "44 minutes are too many")
	b.clock = b.clock.Add(5 * time.Minute)
	b.wait(40 * time.Second)
	if j := b.job(second); j.Site == "" {
		t.Fatalf("it waits for %s when the first one has 37 minutes left", j.Reason)
	}
	third := b.submit(func(s *sbatch.Spec) { s.TimeLimit = 11 * time.Minute })
	waits(third, "")
	b.limited(treeOf{tree})
	waits(third, "after a restart")
	b.clock = b.clock.Add(10 * time.Minute)
	b.wait(40 * time.Second)
	if j := b.job(third); j.Site == "" {
		t.Errorf("it waits for %s when the first one has run for 35 minutes, which began before a restart", j.Reason)
	}
}

// With fair-share, one user's many jobs do not stand before another's.
func TestQueueTakesTurns(t *testing.T) {
	b := newBench(t)
	b.cheap.state, b.dear.state = "DOWN", "DOWN"
	empty, _ := accounts.New(nil)
	b.limited(treeOf{empty})
	b.rounds(3)
	for range 50 {
		b.submit(nil)
	}
	j := federation.Job{User: "bob", UID: 7002, State: federation.Pending, Submit: b.clock, Spec: &sbatch.Spec{Name: "y", GPUsPerNode: "2", TimeLimit: time.Hour, WorkDir: "/"}}
	if err := b.store.CreateJob(t.Context(), &j, &sbatch.Payload{Script: "#!/bin/sh\n"}); err != nil {
		t.Fatal(err)
	}
	b.wait(2 * time.Second)
	b.cheap.state = ""
	b.wait(5 * time.Second)
	if got := b.job(j.ID); got.Site == "" {
		t.Errorf("bob's job, the last of 51, waits for %s while %d of alice's are at sites", got.Reason, b.live())
	}
}

// What a QOS with DenyOnLimit allows no job, a submission is refused for, and a change of a job: as sbatch is. Once the limit is another, it may be submitted.
func TestDenyOnLimit(t *testing.T) {
	b := newBench(t)
	empty, _ := accounts.New(nil)
	tree := &changing{empty}
	tree.edit(t, accounts.Edit{Op: accounts.Add, Key: accounts.QOSKey("strict"), Set: map[string]string{"MaxWall": "30", "Flags": "DenyOnLimit"}})
	b.limited(tree)
	ask := func(change func(*sbatch.Spec)) error {
		j := federation.Job{User: "alice", Spec: &sbatch.Spec{MinNodes: 1, QOS: "strict", TimeLimit: time.Hour}}
		change(j.Spec)
		return b.ctl.Judge(&j)
	}
	same := func(*sbatch.Spec) {}
	var no *federation.SlurmError
	if err := ask(same); !errors.As(err, &no) || no.Number != 2050 || no.Said != "QOSMaxWallDurationPerJobLimit" || !errors.Is(err, federation.ErrDenied) {
		t.Errorf("an hour where half of one is allowed: %v", err)
	}
	if err := ask(func(s *sbatch.Spec) { s.Array = "0-9" }); err == nil {
		t.Error("an array of such jobs is taken")
	}
	if err := ask(func(s *sbatch.Spec) { s.TimeLimit = 0 }); err != nil {
		t.Errorf("no time limit: %v", err)
	}
	if err := ask(func(s *sbatch.Spec) { s.TimeLimit = 30 * time.Minute }); err != nil {
		t.Errorf("half an hour: %v", err)
	}
	tree.edit(t, accounts.Edit{Op: accounts.Modify, Key: accounts.QOSKey("strict"), Set: map[string]string{"MaxWall": "60"}})
	if err := ask(same); err != nil {
		t.Errorf("an hour is allowed now: %v", err)
	}
}

// An account of the tree may be named only by those who are in it, whatever a site's accounting says: who administers that would hand out the federation's budgets. A QOS
// that the tree does not give may be one that a site gives.
func TestOthersAccountIsRefused(t *testing.T) {
	b := newBench(t)
	empty, _ := accounts.New(nil)
	tree := &changing{empty}
	add := func(k accounts.Key, set map[string]string) {
		tree.edit(t, accounts.Edit{Op: accounts.Add, Key: k, Set: set})
	}
	add(accounts.QOSKey("normal"), nil)
	add(accounts.QOSKey("urgent"), nil)
	add(accounts.AccountKey("physics"), map[string]string{"QOS": "normal"})
	add(accounts.AccountKey("vision"), nil)
	add(accounts.UserKey("physics", "alice"), nil)
	add(accounts.UserKey("vision", "bob"), nil)
	b.limited(tree)
	b.rounds(2)
	for _, c := range []struct {
		user, account, qos string
		number             int // of the refusal
	}{
		{user: "alice"},
		{user: "alice", account: "physics", qos: "normal"},
		{user: "alice", account: "PHYSICS"},
		{user: "alice", account: "of-a-site", number: 2045}, // which the tree does not know
		{user: "alice", account: "vision", number: 2045},
		{user: "alice", qos: "urgent", number: 2066},
		{user: "bob", qos: "urgent"}, // nobody says which QOS vision has
		{user: "carol"},
		{user: "carol", account: "physics", number: 2045},
	} {
		ask := func() (number int) {
			for _, sp := range []*sbatch.Spec{{Account: c.account, QOS: c.qos}, {Het: []sbatch.Spec{{Account: c.account, QOS: c.qos}}}} {
				err := b.ctl.Judge(&federation.Job{User: c.user, Spec: sp})
				var no *federation.SlurmError
				if errors.As(err, &no); no != nil && no.Number != number && number != 0 {
					t.Errorf("%+v: %v", c, err)
				} else if no != nil {
					number = no.Number
				} else if number != 0 {
					t.Errorf("%+v: a component is taken", c)
				}
			}
			return number
		}
		if got := ask(); got != c.number {
			t.Errorf("%+v: refused with %d", c, got)
		}
		b.cheap.associations = federation.Associations{c.user: {{Account: "vision", QOS: []string{"urgent"}}, {Account: c.account, QOS: []string{"normal", "urgent"}}}}
		b.wait(time.Minute)
		want := 0
		if c.account == "vision" || c.user == "carol" && c.account == "physics" {
			want = 2045
		}
		if got := ask(); got != want {
			t.Errorf("%+v: refused with %d, want %d where a site has it so", c, got, want)
		}
		b.cheap.associations = nil
		b.wait(time.Minute)
	}
}

// Where a site keeps no accounts, a run is charged to the account of the tree that the job's limits are those of.
func TestChargeIsOnTheTreesAccount(t *testing.T) {
	b := newBench(t)
	empty, _ := accounts.New(nil)
	tree := &changing{empty}
	tree.edit(t, accounts.Edit{Op: accounts.Add, Key: accounts.AccountKey("physics")}, accounts.Edit{Op: accounts.Add, Key: accounts.UserKey("physics", "alice")})
	b.limited(tree)
	b.rounds(2)
	for named, want := range map[string]string{"": "physics", "physics": "physics"} {
		id := b.submit(func(s *sbatch.Spec) { s.Account = named })
		b.rounds(4)
		b.cheap.start(id)
		b.cheap.jobs[id].Account = named
		b.wait(time.Minute)
		if j := b.job(id); j.Account != want {
			t.Errorf("--account=%q: it runs on %q", named, j.Account)
		}
		b.cheap.end(id, federation.Completed)
		b.wait(time.Minute)
		if all := b.charges(id); len(all) != 1 || all[0].Account != want {
			t.Errorf("--account=%q: charged %+v", named, all)
		}
	}
}

// What pays for a job is the tree's account, and the site runs it under that one if its user has it there, under what the site's own map says, or else under his
// default one there. So limits, budgets, fair-share and the books have one figure.
func TestSitesAccountDoesNotPay(t *testing.T) {
	b := newBench(t)
	empty, _ := accounts.New(nil)
	tree := &changing{empty}
	tree.edit(t, accounts.Edit{Op: accounts.Add, Key: accounts.AccountKey("vision")}, accounts.Edit{Op: accounts.Add, Key: accounts.AccountKey("nlp"), Set: map[string]string{"Budget": "20/month"}},
		accounts.Edit{Op: accounts.Add, Key: accounts.UserKey("nlp", "alice")}, accounts.Edit{Op: accounts.Add, Key: accounts.UserKey("vision", "bob")})
	for _, c := range []struct {
		name, asked   string
		there         []federation.Association
		mapped, under string // that the site runs it under
	}{
		{name: "another default", there: []federation.Association{{Account: "vision", Default: true}}, under: "vision"},
		{name: "another default, named", asked: "nlp", there: []federation.Association{{Account: "vision", Default: true}}, under: "vision"},
		{name: "not the default", there: []federation.Association{{Account: "vision", Default: true}, {Account: "nlp"}}, under: "nlp"},
		{name: "mapped", there: []federation.Association{{Account: "vision", Default: true}, {Account: "hpc-nlp"}}, mapped: "hpc-nlp", under: "hpc-nlp"},
		{name: "of the site alone", asked: "guests", there: []federation.Association{{Account: "vision", Default: true}, {Account: "guests"}}, under: "guests"},
		{name: "no accounting", under: "nlp"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b.cheap.associations = nil
			if c.there != nil {
				b.cheap.associations = federation.Associations{"alice": c.there}
			}
			b.limited(tree)
			if c.mapped != "" {
				b.ctl.sites.byName["cheap"].Accounts = map[string]string{"nlp": c.mapped}
			}
			b.rounds(3)
			id := b.submit(func(s *sbatch.Spec) { s.Account = c.asked })
			b.rounds(4)
			b.want(id, federation.Pending, "", "cheap")
			if got := b.cheap.jobs[id].Account; got != c.under {
				t.Errorf("the site runs it under %q, want %q", got, c.under)
			}
			b.cheap.start(id)
			b.wait(time.Minute)
			if a := b.attempts(id)[0]; b.job(id).Account != "nlp" || a.Held.Account != "nlp" || cmp.Or(a.Held.SiteAccount, a.Held.Account) != c.under {
				t.Errorf("while it runs: job on %q, attempt %+v", b.job(id).Account, a.Held)
			}
			b.cheap.end(id, federation.Completed)
			b.wait(time.Minute)
			if all := b.charges(id); len(all) != 1 || all[0].Account != "nlp" || cmp.Or(all[0].SiteAccount, all[0].Account) != c.under {
				t.Errorf("charged %+v", all)
			}
		})
	}
	for _, s := range b.ctl.cfg.Quota.Standings() {
		if s.Key == accounts.AccountKey("nlp") && s.Used <= 0 {
			t.Error("the budget of nlp has paid nothing")
		}
	}
}
