package controller

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/action"
	"fsub/federation/decision"
	"fsub/federation/journal"
	"fsub/federation/place"
	"fsub/sbatch"
)

// explains is what a user is told of a job. Between rounds the controller answers as it does after one.
func (b *bench) explains(id federation.JobID) string {
	b.t.Helper()
	j := b.job(id)
	told := make(chan decision.Explained)
	go func() { told <- b.ctl.Explain(b.t.Context(), &j) }()
	for {
		select {
		case e := <-told:
			return place.Summarize(&j, &e, time.UTC)
		case <-time.After(time.Millisecond):
			b.ctl.answer(b.ctl.forecasts)
		}
	}
}

// Of a job that waits for something else than nodes is told what, and what to do; not where it would start now.
func TestExplainEveryWait(t *testing.T) {
	b := newBench(t)
	b.rounds(3)
	array := b.submit(func(s *sbatch.Spec) { s.Array = "3-6" })
	for range 6 {
		b.turn(func(j federation.Job) federation.State {
			if j.Part.Index == 4 {
				return federation.Failed
			}
			return federation.Completed
		})
	}
	failed := b.part(array, 4)
	failed.ExitStatus = 3 << 8
	if err := b.store.Commit(t.Context(), &journal.Batch{Jobs: []*federation.Job{&failed}}); err != nil {
		t.Fatal(err)
	}
	runs := b.submit(func(s *sbatch.Spec) { s.Name = "first" })
	never := b.submit(func(s *sbatch.Spec) { s.Dependency = fmt.Sprintf("afterok:%d", array) })
	notYet := b.submit(func(s *sbatch.Spec) { s.Dependency = fmt.Sprintf("afterok:%d", runs) })
	twin := b.submit(func(s *sbatch.Spec) { s.Name, s.Dependency = "first", "singleton" })
	begins := b.submit(func(s *sbatch.Spec) { s.Begin = b.clock.Add(time.Hour) })
	held := b.submit(nil)
	stopped := b.submit(nil)
	limited := b.submit(func(s *sbatch.Spec) { s.Array = "0-9%1" })
	b.request(action.Request{Job: held, Kind: action.Hold, UID: 7001, User: "alice"})
	b.request(action.Request{Job: stopped, Kind: action.Hold, UID: 0, User: "olga", Operator: true})
	b.rounds(6)
	for _, c := range []struct {
		what string
		id   federation.JobID
		want string
	}{
		{"a dependency that is never met", never, fmt.Sprintf("waits (DependencyNeverSatisfied)\n  can never start: %d_4 had to end with exit code 0, and is FAILED, exit code 3\n    give it up: scancel %d\n    let it start without: scontrol update jobid=%[2]d dependency=\n", array, never)},
		{"a dependency", notYet, fmt.Sprintf("waits (Dependency)\n  waits for %d to end with exit code 0: it is PENDING\n", runs)},
		{"a singleton", twin, fmt.Sprintf("waits (Dependency)\n  waits for %d to end, an earlier job of the same name: it is PENDING (--dependency=singleton)\n", runs)},
		{"a begin time", begins, fmt.Sprintf("waits (BeginTime)\n  does not start before its begin time, until %s\n    start it now: scontrol update jobid=%d starttime=now\n", b.job(begins).Spec.Begin.UTC().Format(time.RFC3339), begins)},
		{"a hold", held, fmt.Sprintf("waits (JobHeldUser)\n  held by alice since %s\n    let it go: scontrol release %d\n", b.job(held).Holder.At.Format(time.RFC3339), held)},
		{"an operator's hold", stopped, "waits (JobHeldAdmin)\n  held by olga since "},
		{"the limit of an array", limited, fmt.Sprintf("waits (JobArrayTaskLimit)\n  its array runs at most 1 task at once (%%1), and 1 run\n    run more at once: scontrol update jobid=%d arraytaskthrottle=N\n", limited)},
	} {
		got := b.explains(c.id)
		if _, after, _ := strings.Cut(got, " "); !strings.Contains(after, c.want) || strings.Contains(got, "starts now") || strings.Contains(got, "first to start") || strings.Contains(got, "sooner:") {
			t.Errorf("%s: it says\n%s\nwant\n%s", c.what, got, c.want)
		}
	}
	if h := b.history(stopped); !strings.Contains(h, "held by olga") {
		t.Errorf("history: %s", h)
	}
	b.request(action.Request{Job: stopped, Kind: action.Release, User: "olga", Operator: true})
	b.rounds(2)
	if j := b.job(stopped); j.Holder != nil || !strings.Contains(b.history(stopped), "released by olga") {
		t.Errorf("released: %+v, %s", j.Holder, b.history(stopped))
	}
}
