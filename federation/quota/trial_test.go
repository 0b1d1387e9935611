package quota

import (
	"maps"
	"strings"
	"testing"
	"time"

	"fsub/accounting"
	"fsub/federation"
	"fsub/federation/accounts"
	"fsub/federation/decision"
	"fsub/federation/reasons"
	"fsub/sbatch"
)

func trialJob(id federation.JobID, user string) *federation.Job {
	j := &federation.Job{ID: id, User: user}
	j.SetSpec(sbatch.Spec{GPUs: "4", TimeLimit: time.Hour})
	return j
}

// What is played in a copy has the limits of the tree or others, and the book knows nothing of it.
func TestTrial(t *testing.T) {
	b := tree(t, add(accounts.AccountKey("physics"), "GrpTRES", "gres/gpu=8", "Budget", "20/month"), add(accounts.UserKey("physics", "alice")), add(accounts.UserKey("physics", "bob")),
		add(accounts.QOSKey("high"), "MaxJobsPerUser", "2"))
	book := New(b, 0)
	book.Add("alice", federation.Held{Account: "physics", TRES: "gres/gpu=4"}, time.Hour, 4*federation.Dollar, start.Add(-time.Hour))
	book.Take(1, Want{User: "alice", TRES: accounting.TRES{"gres/gpu": 4}, Longest: 61 * time.Minute, Cost: 4 * federation.Dollar, Since: start.Add(-time.Minute)})
	o := &decision.Offer{Site: "x", GPUs: 4, Nodes: 1}
	waiting := []federation.Prospect{{Job: trialJob(2, "bob")}}
	trial := book.Trial(start, waiting, .5, map[federation.SiteName]map[string]float64{"x": {"gres/gpu": 1}})
	play := func(l federation.Limits, what string, id federation.JobID, want reasons.Reason) {
		t.Helper()
		if got := l.Check(start, trialJob(id, "bob"), o); got != want {
			t.Errorf("%s: job %d: %q, want %q", what, id, got, want)
		}
	}
	play(trial, "as it is", 2, "")
	trial.Start(start, trialJob(2, "bob"), o)
	play(trial, "both run", 3, "AssocGrpGRES")
	play(trial, "both run", 2, "") // which is sent
	trial.End(start.Add(time.Hour), 1)
	play(trial, "the first has ended", 3, "")
	more, err := trial.With([]string{"Physics:GrpTRES=gres/gpu=4"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	play(more, "half as many", 3, "AssocGrpGRES")
	play(trial, "the first has ended still", 3, "")
	trial.End(start.Add(time.Hour), 2)
	play(more, "half as many, which one has", 3, "AssocGrpGRES")
	more.End(start.Add(time.Hour), 2)
	play(more, "all have ended", 3, "")
	// $4 are spent, another 4 x 61/61 and 4 of runs of an hour.
	for budget, want := range map[string]reasons.Reason{"17/month": "", "15/month": reasons.AccountBudget} {
		if l, err := trial.With([]string{"physics:Budget=" + budget}, nil); err != nil {
			t.Error(err)
		} else {
			play(l, budget, 3, want)
		}
	}
	if used := sumSince(book.days[accounts.AccountKey("physics")], dayOf(start)).cost; used != 4*federation.Dollar || len(book.holds) != 1 || book.held[accounts.AccountKey("physics")].tres["gres/gpu"] != 4 {
		t.Errorf("the book has changed: $%s, %d holds", used.Text(2), len(book.holds))
	}
	high := trialJob(4, "bob")
	spec := *high.Spec
	spec.QOS = "high"
	high.SetSpec(spec)
	if l, err := trial.With(nil, []string{"high:MaxJobsPerUser=0"}); err != nil || l.Check(start, high, o) != "QOSMaxJobsPerUserLimit" {
		t.Errorf("no job of the QOS may run: %v", err)
	}
}

// A limit of minutes that is asked about knows how long the jobs have run that run, though there was none to count that for. What they come to begins with their start.
func TestTrialOfMinutes(t *testing.T) {
	b := tree(t, add(accounts.AccountKey("physics")), add(accounts.UserKey("physics", "bob")))
	book := New(b, 0)
	book.Take(1, Want{User: "bob", TRES: accounting.TRES{"gres/gpu": 4}, Longest: 10 * time.Hour, Cost: 40 * federation.Dollar, Since: start.Add(-20 * time.Hour)})
	book.Ran(lasted(map[federation.JobID]time.Duration{1: 8 * time.Hour}))
	o := &decision.Offer{Site: "x", GPUs: 4, Nodes: 1}
	trial := book.Trial(start, []federation.Prospect{{Job: trialJob(2, "bob")}}, .5, nil)
	play := func(l federation.Limits, what string, want reasons.Reason) {
		t.Helper()
		if got := l.Check(start, trialJob(2, "bob"), o); got != want {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	}
	with := func(limit string) federation.Limits {
		t.Helper()
		l, err := trial.With([]string{"physics:" + limit}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	play(with("GrpTRESRunMins=gres/gpu=724"), "two of ten hours are left, and the other asks for 61 minutes", "")
	play(with("GrpTRESRunMins=gres/gpu=723"), "one less", "AssocGrpGRESRunMinutes")
	l := with("GrpTRESMins=gres/gpu=2644")
	play(l, "ten hours and 61 minutes", "")
	play(with("GrpTRESMins=gres/gpu=2643"), "one less", "AssocGrpGRESMinutes")
	l.End(start, 1) // it has not run for its last two hours
	if used, reserved := l.(*Trial).book.usage(accounts.AccountKey("physics"), "gres/gpu"); used != 4*8*3600 || reserved != 0 {
		t.Errorf("%d seconds are used by one that ran for 8 hours after 12 in the queue, and %d reserved", used, reserved)
	}
}

// What names nothing, or no limit, is refused with what there is.
func TestTrialRefuses(t *testing.T) {
	trial := New(tree(t, add(accounts.AccountKey("physics")), add(accounts.QOSKey("high"))), 0).Trial(start, nil, .5, nil)
	for text, want := range map[string]string{
		"physics":                      `invalid limit "physics": want ACCOUNT:OPTION=VALUE or ACCOUNT/USER:OPTION=VALUE, as physics:GrpTRES=gres/gpu=64`,
		"physics:GrpTRES":              "want ACCOUNT:OPTION=VALUE",
		"vision:GrpJobs=1":             "no account vision in the federation; see: fed account list",
		"physics/dave:GrpJobs=1":       "no user dave of account physics in the federation; see: fed account list",
		"physics:Fairshare=3":          `limit "physics:Fairshare=3": Fairshare keeps no job waiting: want one of GrpJobs, GrpTRES, `,
		"physics:Colour=3":             "Colour keeps no job waiting: want one of GrpJobs, ",
		"physics:MaxTRESPerUser=cpu=1": "MaxTRESPerUser keeps no job waiting",
		"physics:GrpTRES=8":            `account physics: invalid value "8" of GrpTRES: want TRES as in cpu=64`,
		"physics:Budget=much":          `invalid value "much" of Budget`,
		"physics:Grp=1":                "write it out",
	} {
		if _, err := trial.With([]string{text}, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	for text, want := range map[string]string{
		"low:GrpJobs=1":  "no qos low in the federation; see: fed qos list",
		"high:MaxJobs=1": "MaxJobs",
		"high":           `invalid limit "high": want QOS:OPTION=VALUE, as high:MaxJobsPerUser=4`,
	} {
		if _, err := trial.With(nil, []string{text}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// Where GPUs are asked for on several bases, these say the same of them. The sums are those of ReqTRES.
func TestWantCountsGPUsOnce(t *testing.T) {
	for call, want := range map[string]accounting.TRES{
		"--gpus=8 --gpus-per-node=4":        {"node": 2, "cpu": 1, "gres/gpu": 8},
		"--gpus=4 --ntasks-per-gpu=2":       {"node": 1, "cpu": 8, "gres/gpu": 4},
		"-n4 --gpus-per-task=1":             {"node": 1, "cpu": 4, "gres/gpu": 4},
		"-N2 --gres=gpu:2 --cpus-per-gpu=3": {"node": 2, "cpu": 12, "gres/gpu": 4},
		"-n8 -O":                            {"node": 1, "cpu": 1},
	} {
		r, err := sbatch.Parse(sbatch.Input{Args: append(strings.Fields(call), "--wrap", "true"), Dir: "/tmp", Now: time.Unix(1e9, 0), Slurm: sbatch.Slurm2411})
		if err != nil {
			t.Fatal(err)
		}
		j := federation.Job{User: "alice"}
		j.SetSpec(r.Spec)
		w := WantOf(&j, nil, nil, 1)
		if !maps.Equal(w.TRES, want) {
			t.Errorf("%s: %v, want %v", call, w.TRES, want)
		}
	}
}
