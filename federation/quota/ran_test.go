package quota

import (
	"context"
	"iter"
	"math"
	"testing"
	"time"

	"fsub/accounting"
	"fsub/accounting/fairtree"
	"fsub/federation"
	"fsub/federation/accounts"
)

// What a job has run is taken off what it has reserved, and given back once.
func TestRunMinutesLessenAsJobsRun(t *testing.T) {
	b := tree(t, add(accounts.AccountKey("physics"), "GrpTRESRunMins", "gres/gpu=120"), add(accounts.UserKey("physics", "alice")))
	book := New(b, 0)
	gpu := func(minutes int) *Want {
		return &Want{User: "alice", Account: "physics", TRES: accounting.TRES{"gres/gpu": 1}, Longest: time.Duration(minutes) * time.Minute}
	}
	may := func(what string, minutes int, want bool) {
		t.Helper()
		if no := book.Check(start, gpu(minutes)); (no == nil) != want {
			t.Errorf("%s: a job of %d minutes: %+v", what, minutes, no)
		}
	}
	ran := func(all map[federation.JobID]time.Duration) { book.Ran(lasted(all)) }
	book.Take(1, *gpu(60))
	book.Take(2, *gpu(40))
	may("nothing has run", 21, false)
	ran(map[federation.JobID]time.Duration{1: 50 * time.Minute})
	may("one has run", 70, true)
	may("one has run", 71, false)
	if h := book.Holdback(start, gpu(71), func(federation.JobID) time.Time { return time.Time{} }); h == nil || len(h.Details) != 2 || h.Details[0] != "job 1 of alice holds 10 minutes of gres/gpu" {
		t.Errorf("who holds it: %+v", h)
	}
	ran(map[federation.JobID]time.Duration{1: 500 * time.Minute})
	may("one has run past its limit", 81, false)
	ran(map[federation.JobID]time.Duration{1: 50 * time.Minute, 2: 40 * time.Minute, 3: time.Hour})
	book.Release(2)
	may("one has ended", 110, true)
	may("one has ended", 111, false)
	book.Release(1)
	may("both have ended", 121, false)
	book.Take(4, *gpu(100))
	ran(nil)
	may("none runs", 21, false)
}

// GrpTRESMins counts as slurmctld does, which adds every five minutes what jobs have run: while a job runs, when it has ended, and after the daemon has started anew.
func TestUsageDecaysAsJobsRun(t *testing.T) {
	const halfLife, step, lasts = 24 * time.Hour, 5 * time.Minute, 96 * time.Hour
	const longest = 2 * lasts
	b := tree(t, add(accounts.AccountKey("physics"), "GrpTRESMins", "gres/gpu=1"), add(accounts.UserKey("physics", "alice")))
	book := New(b, halfLife)
	w := Want{User: "alice", Account: "physics", TRES: accounting.TRES{"gres/gpu": 2}, Longest: longest}
	k := accounts.AccountKey("physics")
	book.Take(1, w)
	slurm := 0.0
	same := func(what string, book *Book, now time.Time) {
		t.Helper()
		book.decay(now)
		used, _ := book.usage(k, "gres/gpu")
		if math.Abs(float64(used)-slurm) > slurm/200 {
			t.Errorf("%s: %d seconds are used, in slurmctld %.0f", what, used, slurm)
		}
	}
	now := start
	for now.Before(start.Add(lasts)) {
		now = now.Add(step)
		slurm = slurm*fairtree.DecayFactor(halfLife, step) + 2*step.Seconds()
	}
	book.Ran(lasted(map[federation.JobID]time.Duration{1: lasts}))
	same("while it runs", book, now)
	if _, reserved := book.usage(k, "gres/gpu"); reserved != int64(2*(longest-lasts)/time.Second) {
		t.Errorf("%d seconds are reserved still", reserved)
	}
	charge := federation.Charge{Job: 1, User: "alice", Held: federation.Held{Account: "physics", TRES: "gres/gpu=2"}, Start: start, End: now, From: federation.PriceTable}
	book.Charge(&charge)
	book.Release(1)
	same("when it has ended", book, now)
	anew, err := Open(context.Background(), b, halfLife, sums{{User: "alice", Account: "physics", TRES: "gres/gpu=2", End: now, Elapsed: lasts, Runs: 1}}, now)
	if err != nil {
		t.Fatal(err)
	}
	same("after a start", anew, now)
}

// Jobs of a QOS that counts for nothing start whatever was used; where the factor is half, so is what they come to.
func TestUsageFactor(t *testing.T) {
	b := tree(t, add(accounts.AccountKey("physics"), "GrpTRESMins", "gres/gpu=100", "GrpTRESRunMins", "gres/gpu=100"), add(accounts.UserKey("physics", "alice")), add(accounts.QOSKey("free"), "UsageFactor", "0"),
		add(accounts.QOSKey("half"), "UsageFactor", "0.5"), add(accounts.QOSKey("safe"), "UsageFactor", "0.5", "Flags", "UsageFactorSafe"))
	book := New(b, 0)
	gpu := func(qos string, minutes int) *Want {
		return &Want{User: "alice", Account: "physics", QOS: qos, TRES: accounting.TRES{"gres/gpu": 1}, Longest: time.Duration(minutes) * time.Minute}
	}
	may := func(what, qos string, minutes int) {
		t.Helper()
		for more, want := range []bool{true, false} {
			if no := book.Check(start, gpu(qos, minutes+more)); (no == nil) != want {
				t.Errorf("%s: a job of %d minutes of %q: %+v", what, minutes+more, qos, no)
			}
		}
	}
	may("nothing runs", "", 100)
	may("nothing runs", "half", 100)
	may("nothing runs", "safe", 200)
	book.Take(1, *gpu("free", 100))
	may("one that does not count", "", 100)
	book.Take(2, *gpu("half", 100))
	may("half of 100 are reserved", "", 50)
	if h := book.Holdback(start, gpu("", 60), func(federation.JobID) time.Time { return time.Time{} }); h == nil || len(h.Details) != 1 || h.Details[0] != "job 2 of alice holds 50 minutes of gres/gpu" {
		t.Errorf("who holds it: %+v", h)
	}
	book.Charge(&federation.Charge{Job: 2, User: "alice", Held: federation.Held{Account: "physics", QOS: "half", TRES: "gres/gpu=1"}, Start: start, End: start.Add(100 * time.Minute), From: federation.PriceTable})
	book.Release(2)
	may("half of 100 are used", "", 50)
	may("a job of the QOS itself", "half", 50)
	may("which does not count", "free", 100)
}

// A budget may be as large as a number can be given.
func TestLateOfALargeBudget(t *testing.T) {
	b := tree(t, add(accounts.AccountKey("physics"), "BudgetTRESMins", "gres/gpu=9007199254740992/month", "BudgetSoft", "90"), add(accounts.UserKey("physics", "alice")))
	book := New(b, 0)
	book.Take(1, Want{User: "alice", Account: "physics", TRES: accounting.TRES{"gres/gpu": 8}, Longest: 24 * time.Hour})
	if book.Late(start, accounts.UserKey("physics", "alice")) {
		t.Error("a job of a day has come to nine tenths of it")
	}
}

// lasted are runs that were never suspended.
func lasted(all map[federation.JobID]time.Duration) iter.Seq2[federation.JobID, Lasted] {
	return func(yield func(federation.JobID, Lasted) bool) {
		for id, d := range all {
			if !yield(id, Lasted{Since: start.Add(-d), Held: d, Ran: d}) {
				return
			}
		}
	}
}

type sums []federation.ChargeSum

func (s sums) ChargeSums(context.Context, time.Time, time.Duration) ([]federation.ChargeSum, error) {
	return s, nil
}
