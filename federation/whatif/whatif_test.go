package whatif

import (
	"errors"
	"strings"
	"testing"
	"time"

	"fsub/accounting"
	"fsub/federation"
	"fsub/federation/accounts"
	"fsub/federation/decision"
	"fsub/federation/place"
	"fsub/federation/quota"
	"fsub/federation/reasons"
	"fsub/federation/replay"
	"fsub/sbatch"
)

// Who is told of some jobs alone learns nothing of others, though they are played too.
func TestCompareTellsOfSomeJobs(t *testing.T) {
	e := Edit{Drain: []string{"rhein"}}
	all, err := Compare(standing(t), e, place.DefaultPolicy(), 30*24*time.Hour, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	mine, err := Compare(standing(t), e, place.DefaultPolicy(), 30*24*time.Hour, func(j *federation.Job) bool { return j.ID == 99 }, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(all.Changes) < 2 || mine.Jobs != 1 || len(mine.Changes) != 1 || mine.Changes[0].Job.ID != 99 || mine.More != 0 || mine.StartBefore > 1 {
		t.Errorf("of all: %+v; of one: %+v", all, mine)
	}
}

var now = time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)

// standing is a site whose one node is held until an hour from now by a run that is expected to end after ten minutes, and four jobs that want it.
func standing(t *testing.T) *federation.Prospects {
	t.Helper()
	site, err := replay.ParseSite("rhein=1x8:h100,price=2")
	if err != nil {
		t.Fatal(err)
	}
	n := &site.Seen.Nodes[0]
	n.CPUsUsed, n.State, n.GRES[0].Used = 96, []string{"ALLOCATED"}, 8
	site.Seen.Running = []federation.RunningJob{{Job: 7, End: now.Add(time.Hour), Nodes: []string{n.Name}, CPUs: 96, GRES: []federation.GRES{{Name: "gpu", Type: "h100", Used: 8}}}}
	o := &federation.Prospects{Accounts: []string{"a", "above", "b"}, Now: now, Sites: []*federation.Site{site}, Ends: map[federation.SiteName]map[federation.JobID]time.Time{"rhein": {7: now.Add(10 * time.Minute)}}}
	for i := range 4 {
		j := &federation.Job{ID: federation.JobID(100 - i), State: federation.Pending, Submit: now.Add(-time.Hour)}
		j.SetSpec(sbatch.Spec{GPUsPerNode: "8", MinNodes: 1, MaxNodes: 1, CPUsPerTask: 8, MemPerNode: 1, TimeLimit: 2 * time.Hour, Account: "a"})
		p := federation.Prospect{Job: j, Expected: &decision.Expected{P50: time.Hour, P90: 2 * time.Hour, Runs: 9}}
		if i == 3 {
			p.Limited, p.Reason, p.Under = true, "AssocGrpGRES", []string{"a", "above"}
		}
		o.Waiting = append(o.Waiting, p)
	}
	return o
}

func ask(t *testing.T, e Edit) *Answer {
	t.Helper()
	a, err := Compare(standing(t), e, place.DefaultPolicy(), 30*24*time.Hour, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestCompare(t *testing.T) {
	a := ask(t, Edit{Add: []string{"rhein=3"}})
	if a.Jobs != 4 || a.StartBefore != 3 || a.StartAfter != 3 || len(a.Changes) != 3 {
		t.Fatalf("%d jobs, %d and %d start, %d changes", a.Jobs, a.StartBefore, a.StartAfter, len(a.Changes))
	}
	// By the run that is expected to end first, then one after the other, in the order of the queue.
	if want := (10 + 70 + 130) * time.Minute / 3; (a.MeanWaitBefore-want).Abs() > 5*time.Second || a.MeanWaitAfter != 0 {
		t.Errorf("they wait %v and %v, want %v and nothing", a.MeanWaitBefore, a.MeanWaitAfter, want)
	}
	if c := a.Changes[0]; c.Job.ID != 98 || c.After.Start != now {
		t.Errorf("the last one gains most, not job %d", c.Job.ID)
	}
	if cost := 3 * 8 * 2.0; a.CostBefore < decision.Dollars(cost*0.95) || a.CostBefore > decision.Dollars(cost*1.05) {
		t.Errorf("they cost $%.2f, want $%.2f", a.CostBefore, cost)
	}
	if a := ask(t, Edit{Drain: []string{"rhein"}}); a.StartAfter != 0 || len(a.Changes) != 3 || a.Changes[0].After.Reason != reasons.SiteDrain {
		t.Errorf("%d start at a site that takes none", a.StartAfter)
	}
	for lift, after := range map[string]int{"a": 4, "above": 4, "b": 3} {
		if a := ask(t, Edit{Lift: []string{lift}}); a.StartBefore != 3 || a.StartAfter != after || len(a.Changes) != after-3 || after > 3 && a.Changes[0].Before.Reason != "AssocGrpGRES" {
			t.Errorf("without the limits of %s %d start, %d before", lift, a.StartAfter, a.StartBefore)
		}
	}
	if a := ask(t, Edit{Price: []string{"rhein:gres/gpu=4"}}); a.CostAfter < 1.9*a.CostBefore || len(a.Changes) != 0 {
		t.Errorf("at twice the price they cost $%.2f after $%.2f", a.CostAfter, a.CostBefore)
	}
}

// limited is a site of nine free nodes and four jobs of an account that may hold one, for which another job has it for ten minutes more.
func limited(t *testing.T) *federation.Prospects {
	t.Helper()
	o := standing(t)
	site, err := replay.ParseSite("elbe=9x8:h100,price=2")
	if err != nil {
		t.Fatal(err)
	}
	o.Sites = append(o.Sites, site)
	empty, err := accounts.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	account := accounts.Edit{Op: accounts.Add, Key: accounts.AccountKey("a"), Set: map[string]string{"GrpTRES": "gres/gpu=8"}}
	tree, _, err := empty.Apply([]accounts.Edit{account, {Op: accounts.Add, Key: accounts.UserKey("a", "alice")}}, accounts.Editor{Operator: true})
	if err != nil {
		t.Fatal(err)
	}
	for i := range o.Waiting {
		w := &o.Waiting[i]
		w.Job.User, w.Under, w.Limited, w.Reason = "alice", []string{"a", "root"}, true, "AssocGrpGRES"
	}
	book := quota.New(books{tree}, 0)
	book.Take(70, quota.Want{User: "alice", Account: "a", TRES: accounting.TRES{"gres/gpu": 8}, Longest: time.Hour, Since: now.Add(-time.Hour)})
	o.Limits = book.Trial(now, o.Waiting, .5, map[federation.SiteName]map[string]float64{"elbe": site.Prices, "rhein": o.Sites[0].Prices})
	o.Numbers = map[federation.SiteName]map[federation.JobID]federation.JobID{"rhein": {7: 70}}
	return o
}

type books struct{ tree *accounts.Tree }

func (b books) Tree() *accounts.Tree { return b.tree }

// With another limit jobs are played within it, as they are within the one that there is: they start as others of the account end.
func TestLimit(t *testing.T) {
	ten := 10 * time.Minute
	for _, test := range []struct {
		e             Edit
		before, after int
		mean          time.Duration // after; before, each waits for the one before it, of an hour
	}{
		{Edit{Limit: []string{"a:GrpTRES=gres/gpu=8"}}, 4, 4, (4*ten + 6*time.Hour) / 4},
		{Edit{Limit: []string{"a:GrpTRES=gres/gpu=16"}}, 4, 4, (ten + time.Hour + ten + time.Hour) / 4}, // now, in ten minutes, then each an hour later
		{Edit{Limit: []string{"a:GrpTRES=gres/gpu=-1"}}, 4, 4, 0},
		{Edit{Limit: []string{"a/alice:MaxJobs=1"}}, 4, 4, (4*ten + 6*time.Hour) / 4},
		{Edit{Limit: []string{"a:GrpTRES=gres/gpu=4"}}, 4, 0, 0},
		{Edit{Limit: []string{"a:GrpTRES=gres/gpu=16"}, Lift: []string{"a"}}, 4, 4, 0},
		{Edit{Limit: []string{"a:Budget=40/month"}}, 4, 2, 0}, // $33 are reserved for each, of which it uses 16: the other one starts in the next month
		{Edit{Limit: []string{"a:Budget=50/month"}}, 4, 4, 0},
	} {
		o := limited(t)
		a, err := Compare(o, test.e, place.DefaultPolicy(), 40*24*time.Hour, nil, nil)
		if err != nil {
			t.Errorf("%v: %v", test.e, err)
			continue
		}
		if a.StartBefore != test.before || a.StartAfter != test.after {
			t.Errorf("%v: %d start, then %d, want %d and %d", test.e, a.StartBefore, a.StartAfter, test.before, test.after)
		}
		if strings.Contains(test.e.Limit[0], "Budget") {
			continue
		}
		if test.after > 0 && (a.MeanWaitAfter-test.mean).Abs() > 10*time.Second {
			t.Errorf("%v: they wait %v, want %v", test.e, a.MeanWaitAfter, test.mean)
		}
		for _, c := range a.Changes {
			if c.After.Start.IsZero() && (c.After.Reason != "AssocGrpGRES" || !c.After.Limited) {
				t.Errorf("%v: job %d is kept back by %s", test.e, c.Job.ID, c.After.Reason)
			}
		}
		if again, err := Compare(o, test.e, place.DefaultPolicy(), 40*24*time.Hour, nil, nil); err != nil || again.MeanWaitBefore != a.MeanWaitBefore || again.MeanWaitAfter != a.MeanWaitAfter {
			t.Errorf("%v: asked again it says something else: %v", test.e, err)
		}
	}
	o := limited(t)
	if _, err := Compare(o, Edit{Limit: []string{"z:GrpJobs=1"}}, place.DefaultPolicy(), time.Hour, nil, nil); err == nil || !strings.Contains(err.Error(), "no account z in the federation") {
		t.Errorf("no such account: %v", err)
	}
	o.Limits = nil
	if _, err := Compare(o, Edit{QOS: []string{"high:GrpJobs=1"}}, place.DefaultPolicy(), time.Hour, nil, nil); err == nil || !strings.Contains(err.Error(), "no account tree") {
		t.Errorf("no limits: %v", err)
	}
}

// What names nothing that there is, or would mean nothing, is refused with what there is.
func TestInvalid(t *testing.T) {
	rented, err := replay.ParseSite("cloud=2x8:h100,price=3,rented=1m")
	if err != nil {
		t.Fatal(err)
	}
	o := standing(t)
	o.Sites = append(o.Sites, rented)
	for want, e := range map[string]Edit{
		`no account "nobody" in the federation; see: fed account list`:                              {Lift: []string{"nobody"}},
		`price "rhein:gpu=1": no gpu at rhein: want one of cpu, gres/gpu, gres/gpu:h100, mem, node`: {Price: []string{"rhein:gpu=1"}},
		`no gres/gpu:a100 at rhein`: {Price: []string{"rhein:gres/gpu:a100=1"}},
		`invalid price "rhein:gres/gpu=-1": want SITE:TRES=DOLLARS by the hour, 0 or more`: {Price: []string{"rhein:gres/gpu=-1"}},
		`cloud rents its machines, whose price is that of their offer; see: fed offers`:    {Price: []string{"cloud:gres/gpu=1"}},
		`no site "elbe" in the federation; see: fed site list`:                             {Price: []string{"elbe:gres/gpu=1"}},
		`site rhein has no partition "gpu": want one of main`:                              {Add: []string{"rhein/gpu=1"}},
		`policy run_fraction: invalid number "0": want 0.001 or more`:                      {Policy: []string{"run_fraction=0"}},
		`policy reservations: invalid number "0": want a whole one, 1 or more`:             {Policy: []string{"reservations=0"}},
		`policy reservations: invalid number "1.5": want a whole one, 1 or more`:           {Policy: []string{"reservations=1.5"}},
	} {
		if _, err := Compare(o, e, place.DefaultPolicy(), time.Hour, nil, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: want %s", err, want)
		}
	}
	o.Waiting[3].Reason = "QOSGrpGRES"
	if a, err := Compare(o, Edit{Lift: []string{"a"}}, place.DefaultPolicy(), time.Hour, nil, nil); err != nil || len(a.Changes) != 0 {
		t.Errorf("an account's limits are not those of a QOS: %v", err)
	}
}

// What there is stays as it was.
func TestNothingIsChanged(t *testing.T) {
	o := standing(t)
	e := Edit{Drain: []string{"rhein/rhein00001"}, Add: []string{"rhein=2"}, Price: []string{"rhein:gres/gpu=9"}, Policy: []string{"run_fraction=0.1"}}
	if _, err := Compare(o, e, place.DefaultPolicy(), time.Hour, nil, nil); err != nil {
		t.Fatal(err)
	}
	if s := o.Sites[0]; len(s.Seen.Nodes) != 1 || s.Seen.Nodes[0].State[0] != "ALLOCATED" || len(s.Seen.Nodes[0].State) != 1 || s.Prices["gres/gpu"] != 2 || s.Seen.Nodes[0].GRES[0].Used != 8 {
		t.Errorf("the site has changed: %+v", s.Seen.Nodes)
	}
}

func TestDone(t *testing.T) {
	done := make(chan struct{})
	close(done)
	if _, err := Compare(standing(t), Edit{Drain: []string{"rhein"}}, place.DefaultPolicy(), time.Hour, nil, done); !errors.Is(err, ErrTooMuch) {
		t.Errorf("no time is left, and it says %v", err)
	}
}
