package controller

import (
	"testing"
	"time"

	"fsub/accounting"
	"fsub/federation"
	"fsub/federation/accounts"
	"fsub/federation/fairshare"
	"fsub/federation/place"
	"fsub/federation/predict"
	"fsub/sbatch"
)

// Jobs that ran for a few minutes of their hour have later ones of that name reckoned with as few, after a restart too.
func TestExpectedRunTime(t *testing.T) {
	b := newBench(t)
	open := func() {
		t.Helper()
		runs, err := predict.Open(t.Context(), b.store, 0.5)
		if err != nil {
			t.Fatal(err)
		}
		b.ctl, err = New(t.Context(), Config{Federation: "test", Store: b.store, Policy: place.DefaultPolicy(), Now: b.now, Inline: true, Runs: runs,
			Sites: []Site{{Name: "cheap", Driver: b.cheap, Prices: accounting.Prices{"gres/gpu": 1}}}})
		if err != nil {
			t.Fatal(err)
		}
		b.rounds(3)
	}
	open()
	submit := func() federation.Attempt {
		t.Helper()
		id := b.submit(func(s *sbatch.Spec) { s.Name, s.TimeLimit = "train_1", time.Hour })
		b.wait(10 * time.Second)
		b.cheap.start(id)
		b.wait(time.Second)
		return b.attempts(id)[0]
	}
	first := submit()
	if d := first.Decision; d.Expected != nil || d.Offers[0].Run != 30*time.Minute {
		t.Fatalf("the first job: %+v, run %s", d.Expected, d.Offers[0].Run)
	}
	b.wait(2 * time.Minute)
	b.cheap.end(first.Job, federation.Completed)
	b.wait(time.Minute)
	for range 6 {
		a := submit()
		b.wait(2 * time.Minute)
		b.cheap.end(a.Job, federation.Completed)
		b.wait(time.Minute)
	}
	for _, when := range []string{"before", "after"} {
		d := submit().Decision
		if d.Expected == nil || d.Expected.Runs < 7 || d.Expected.P50 < 2*time.Minute || d.Expected.P50 > 4*time.Minute || d.Offers[0].Run > 5*time.Minute {
			t.Errorf("%s a restart: %+v, run %s", when, d.Expected, d.Offers[0].Run)
		}
		open()
	}
}

// Jobs that wait are foretold anew from what has ended meanwhile, and where those come first that take little, the order follows.
func TestForetoldWhileWaiting(t *testing.T) {
	b := newBench(t)
	nobody, err := accounts.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	runs := predict.New(0.5)
	b.ctl, err = New(t.Context(), Config{Federation: "test", Store: b.store, Policy: place.DefaultPolicy(), Now: b.now, Inline: true, Runs: runs,
		FairShare: fairshare.New(fairshare.ShortFirst(), oneTree{nobody}), Sites: []Site{{Name: "cheap", Driver: b.cheap, Prices: accounting.Prices{"gres/gpu": 1}}}})
	if err != nil {
		t.Fatal(err)
	}
	b.cheap.state = "DRAIN"
	b.rounds(3)
	submit := func(name string) federation.JobID {
		return b.submit(func(s *sbatch.Spec) { s.Name, s.TimeLimit, s.MinNodes, s.GPUsPerNode = name, sbatch.Unlimited, 2, "4" })
	}
	ended := func(id federation.JobID, lasts time.Duration) {
		j := b.job(id)
		for range 30 {
			runs.Ended(predict.Run{Keys: runs.Keys(&j), Start: b.clock, Seconds: float32(lasts.Seconds())})
		}
	}
	ended(submit("first"), time.Minute) // so that something is known of either
	first, second := submit("first"), submit("second")
	ended(second, time.Hour)
	b.wait(2 * time.Minute)
	ended(first, 10*time.Hour)
	ended(second, time.Minute)
	b.wait(2 * time.Minute)
	b.cheap.state = ""
	b.wait(20 * time.Second)
	if len(b.attempts(second)) != 1 || len(b.attempts(first)) != 0 {
		t.Errorf("%d attempts of the job that is long by now, %d of the short one", len(b.attempts(first)), len(b.attempts(second)))
	}
}

type oneTree struct{ tree *accounts.Tree }

func (o oneTree) Tree() *accounts.Tree { return o.tree }
