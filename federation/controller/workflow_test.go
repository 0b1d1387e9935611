package controller

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/accounts"
	"fsub/federation/decision"
	"fsub/federation/fairshare"
	"fsub/federation/place"
	"fsub/sbatch"
)

// A workflow of a chain of ten jobs and of thirty others, which were submitted before it, beside thirty jobs of somebody else, all of an hour, on four places. With critical paths the
// chain begins at once and the workflow takes a quarter less of time; each job of the other user starts when it does without.
func TestCriticalPathEndsAWorkflowSooner(t *testing.T) {
	run := func(critical bool) (workflow time.Duration, others []time.Duration) {
		b := newBench(t)
		empty, _ := accounts.New(nil)
		policy := fairshare.Default()
		policy.CriticalPath, policy.Share = critical, 0 // places alone
		b.dear.nodes = 0
		b.with(func(cfg *Config) {
			cfg.FairShare = fairshare.New(policy, &changing{empty})
			cfg.Sites[0].Backlog = -1
		})
		start := b.clock
		of := map[federation.JobID]string{}
		in := func(s *sbatch.Spec) { s.Fed = &sbatch.Fed{Group: "w"} }
		other := func() {
			j := federation.Job{User: "bob", UID: 7002, State: federation.Pending, Submit: b.clock,
				Spec: &sbatch.Spec{Name: "x", GPUsPerNode: "2", TimeLimit: time.Hour, WorkDir: "/"}}
			if err := b.store.CreateJob(t.Context(), &j, &sbatch.Payload{Script: "#!/bin/sh\n"}); err != nil {
				t.Fatal(err)
			}
			of[j.ID] = "bob"
		}
		for range 30 {
			of[b.submit(in)] = "alice"
			other()
		}
		last := federation.JobID(0)
		for i := range 10 {
			last = b.submit(func(s *sbatch.Spec) {
				if in(s); i > 0 {
					s.Dependency = fmt.Sprintf("afterok:%d", last)
				}
			})
			of[last] = "alice"
		}
		explained := false
		for range 40 * 12 {
			b.rounds(3)
			for id, j := range b.cheap.jobs {
				switch {
				case j.State == federation.Pending:
					b.cheap.start(id)
					if of[id] == "bob" {
						others = append(others, b.clock.Sub(start).Round(10*time.Minute))
					}
				case j.State == federation.Running && !b.clock.Before(j.Start.Add(55*time.Minute)):
					b.cheap.end(id, federation.Completed)
					delete(of, id)
					if !slices.Contains(slices.Collect(maps.Values(of)), "alice") && workflow == 0 {
						workflow = b.clock.Sub(start)
					}
				}
			}
			if j := b.ctl.jobs.Of(last); critical && !explained && j != nil {
				first := b.ctl.jobs.Of(last - 5)
				if path := b.ctl.forecasts.waitsNow(first.ID).path; path > 0 {
					explained = true
					text := place.Detail(&first.Job, &decision.Explained{Path: path}, time.UTC)
					if path != 3*time.Hour || !strings.Contains(text, "critical path: 3.0 h in its group") {
						t.Errorf("the fifth of the chain has six times half an hour before it, and it is said: %v\n%s", path, text)
					}
				}
			}
			b.clock = b.clock.Add(5*time.Minute - 600*time.Millisecond)
		}
		if len(of) > 0 {
			t.Fatalf("%d jobs have not ended", len(of))
		}
		if critical && !explained {
			t.Error("nothing was said of the path")
		}
		slices.Sort(others)
		return workflow, others
	}
	without, before := run(false)
	with, after := run(true)
	t.Logf("the workflow takes %v, and %v without critical paths", with, without)
	if with > without*3/4 {
		t.Errorf("the workflow takes %v, and %v without critical paths", with, without)
	}
	for i := range before {
		if after[i] > before[i] {
			t.Errorf("job %d of the other user starts after %v, and after %v without critical paths", i, after[i], before[i])
		}
	}
}
