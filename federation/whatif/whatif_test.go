package whatif

import (
	"errors"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/place"
	"fsub/federation/replay"
	"fsub/sbatch"
)

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
	o := &federation.Prospects{Now: now, Sites: []*federation.Site{site}, Ends: map[federation.SiteName]map[federation.JobID]time.Time{"rhein": {7: now.Add(10 * time.Minute)}}}
	for i := range 4 {
		j := &federation.Job{ID: federation.JobID(100 - i), State: federation.Pending, Submit: now.Add(-time.Hour)}
		j.SetSpec(sbatch.Spec{GPUsPerNode: "8", MinNodes: 1, MaxNodes: 1, CPUsPerTask: 8, MemPerNode: 1, TimeLimit: 2 * time.Hour, Account: "a"})
		p := federation.Prospect{Job: j, Expected: &federation.Expected{P50: time.Hour, P90: 2 * time.Hour, Runs: 9}}
		if i == 3 {
			p.Limited, p.Reason = true, "AssocGrpGRES"
		}
		o.Waiting = append(o.Waiting, p)
	}
	return o
}

func ask(t *testing.T, e Edit) *Answer {
	t.Helper()
	a, err := Compare(standing(t), e, place.DefaultPolicy(), 30*24*time.Hour, nil)
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
	if cost := 3 * 8 * 2.0; a.CostBefore < federation.Dollars(cost*0.95) || a.CostBefore > federation.Dollars(cost*1.05) {
		t.Errorf("they cost $%.2f, want $%.2f", a.CostBefore, cost)
	}
	if a := ask(t, Edit{Drain: []string{"rhein"}}); a.StartAfter != 0 || len(a.Changes) != 3 || a.Changes[0].After.Reason != federation.ReasonSiteDrain {
		t.Errorf("%d start at a site that takes none", a.StartAfter)
	}
	if a := ask(t, Edit{Lift: []string{"a"}}); a.StartBefore != 3 || a.StartAfter != 4 || len(a.Changes) != 1 || a.Changes[0].Before.Reason != "AssocGrpGRES" {
		t.Errorf("without a limit %d start, %d before", a.StartAfter, a.StartBefore)
	}
	if a := ask(t, Edit{Price: []string{"rhein:gres/gpu=4"}}); a.CostAfter < 1.9*a.CostBefore || len(a.Changes) != 0 {
		t.Errorf("at twice the price they cost $%.2f after $%.2f", a.CostAfter, a.CostBefore)
	}
}

// What there is stays as it was.
func TestNothingIsChanged(t *testing.T) {
	o := standing(t)
	e := Edit{Drain: []string{"rhein/rhein00001"}, Add: []string{"rhein=2"}, Price: []string{"rhein:gres/gpu=9"}, Policy: []string{"run_fraction=0.1"}}
	if _, err := Compare(o, e, place.DefaultPolicy(), time.Hour, nil); err != nil {
		t.Fatal(err)
	}
	if s := o.Sites[0]; len(s.Seen.Nodes) != 1 || s.Seen.Nodes[0].State[0] != "ALLOCATED" || len(s.Seen.Nodes[0].State) != 1 || s.Prices["gres/gpu"] != 2 || s.Seen.Nodes[0].GRES[0].Used != 8 {
		t.Errorf("the site has changed: %+v", s.Seen.Nodes)
	}
}

func TestDone(t *testing.T) {
	done := make(chan struct{})
	close(done)
	if _, err := Compare(standing(t), Edit{Drain: []string{"rhein"}}, place.DefaultPolicy(), time.Hour, done); !errors.Is(err, ErrTooMuch) {
		t.Errorf("no time is left, and it says %v", err)
	}
}
