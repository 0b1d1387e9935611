package replay_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/decision"
	"fsub/federation/place"
	"fsub/federation/reasons"
	"fsub/federation/replay"
)

// most lets so many jobs run at once; where its price is known, one of them only for less than dear.
type most struct {
	jobs, runs, checks int
	dear               decision.Dollars
}

func (l *most) Check(_ time.Time, _ *federation.Job, o *decision.Offer) reasons.Reason {
	l.checks++
	if o != nil && l.dear > 0 && o.Total >= l.dear {
		return reasons.AccountBudget
	}
	if l.runs >= l.jobs {
		return "AssocGrpJobsLimit"
	}
	return ""
}

func (l *most) Start(time.Time, *federation.Job, *decision.Offer) { l.runs++ }
func (l *most) End(time.Time, federation.JobID)                   { l.runs-- }

// What many jobs like each other are kept back for is found out from some of them, and all start as they may.
func TestLimitsOfManyAlike(t *testing.T) {
	const n = 500
	text := "submit_time_s,duration_s,gpus,user,timelimit_s\n" + strings.Repeat("0,100,1,alice,200\n", n)
	one := sites(t, "rhein=5x8:h100,price=2")
	l := &most{jobs: 10}
	r := run(t, replay.Config{Sites: one, Jobs: jobs(t, text), Policy: place.DefaultPolicy(), Limits: l})
	for i, at := range starts(r) {
		if want := i / 10 * 100; at != want {
			t.Fatalf("job %d starts after %d s, want %d", i, at, want)
		}
	}
	if l.checks > 40*n { // each of them at each end: n*n/10 twice
		t.Errorf("%d jobs were looked at %d times", n, l.checks)
	}
	l = &most{jobs: n, dear: 0.01}
	text = "submit_time_s,duration_s,gpus,user,timelimit_s\n" + strings.Repeat("0,100,8,alice,200\n", n)
	r = run(t, replay.Config{Sites: one, Jobs: jobs(t, text), Policy: place.DefaultPolicy(), Limits: l})
	if got := fmt.Sprintf("%d %s %v", starts(r)[0], r.Jobs[n-1].Reason, r.Jobs[n-1].Limited); got != "-1 FedAccountBudget true" {
		t.Errorf("what is too dear: %s", got)
	}
	if r.Plans > 20 { // one for every five nodes
		t.Errorf("%d plans were made to keep back %d jobs that are alike", r.Plans, n)
	}
}

// More of those that are alike start at once than the planner is told of at a time.
func TestLimitsWithRoomForMany(t *testing.T) {
	const n = 200
	text := "submit_time_s,duration_s,gpus,user,timelimit_s\n0,100,1,alice,200\n" + strings.Repeat("1,100,1,alice,200\n", n)
	l := &opens{most: most{jobs: 1}, to: n}
	r := run(t, replay.Config{Sites: sites(t, "rhein=50x8:h100,price=2"), Jobs: jobs(t, text), Policy: place.DefaultPolicy(), Limits: l})
	for i, at := range starts(r)[1:] {
		if at != 100 {
			t.Fatalf("job %d starts after %d s, want 100", i+1, at)
		}
	}
}

// opens lets more jobs run once one has ended.
type opens struct {
	most
	to int
}

func (l *opens) End(now time.Time, id federation.JobID) {
	l.jobs = l.to
	l.most.End(now, id)
}
