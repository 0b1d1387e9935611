package once

import (
	"os"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/api/client"
	"fsub/sbatch"
)

func TestCheck(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(int64(1_800_000_000+s), 0) }
	run := func(site string, begin, end int) Run {
		r := Run{ID: 30000000, Site: federation.SiteName(site), Begin: at(begin)}
		if end > 0 {
			r.End = at(end)
		}
		return r
	}
	attempt := func(site string, state federation.AttemptState, started bool) federation.Attempt {
		a := federation.Attempt{Site: federation.SiteName(site), State: state, Tries: 1}
		if started {
			a.Started = at(0)
		}
		return a
	}
	ended, forgotten := federation.AttemptEnded, federation.AttemptForgotten
	again := []federation.Event{{Text: "the controller of alpha lost the start at 10:00:00: it has started the job again"}}
	twice := []Run{run("alpha", 0, 2), run("alpha", 5, 7)}
	refused := []federation.Attempt{{Job: 30000000, Site: "alpha", SiteJobID: 17, State: ended, Tries: 1, Acked: at(5), Started: at(6), Ended: at(6), Final: federation.Failed, ExitStatus: 1 << 8}}
	pinned, late := refused[0], refused[0]
	pinned.SiteJobID, late.Ended = 30000000, at(9)
	for name, c := range map[string]struct {
		noRequeue bool
		state     federation.State
		restarts  int
		attempts  []federation.Attempt
		events    []federation.Event
		runs      []Run
		kills     []Kill
		want      Kind
	}{
		"once":                    {state: federation.Completed, attempts: []federation.Attempt{attempt("alpha", ended, true)}, runs: twice[:1], want: Once},
		"never":                   {state: federation.Completed, attempts: []federation.Attempt{attempt("alpha", ended, true)}, want: Broken},
		"twice without a word":    {state: federation.Completed, attempts: []federation.Attempt{attempt("alpha", ended, true)}, runs: twice, want: Broken},
		"not to its end":          {state: federation.Completed, attempts: []federation.Attempt{attempt("alpha", ended, true)}, runs: []Run{run("alpha", 0, 0)}, want: Broken},
		"still pending":           {state: federation.Pending, attempts: []federation.Attempt{attempt("alpha", ended, true)}, runs: twice[:1], want: Broken},
		"live attempt":            {state: federation.Completed, attempts: []federation.Attempt{attempt("alpha", federation.AttemptSubmitted, true)}, runs: twice[:1], want: Broken},
		"where it never was sent": {state: federation.Completed, attempts: []federation.Attempt{attempt("beta", ended, true)}, runs: twice[:1], want: Broken},
		"requeued":                {state: federation.Completed, restarts: 1, attempts: []federation.Attempt{attempt("alpha", ended, true)}, runs: twice, want: Rerun},
		"requeued against its will": {noRequeue: true, state: federation.Completed, restarts: 1,
			attempts: []federation.Attempt{attempt("alpha", ended, true)}, runs: twice, want: Broken},
		"requeued against its will, and no controller was killed": {noRequeue: true, state: federation.Completed, restarts: 1, events: again,
			attempts: []federation.Attempt{attempt("alpha", ended, true)}, runs: twice, want: Broken},
		"started again and ended before anybody looked": {noRequeue: true, state: federation.Completed, restarts: 1, events: again,
			attempts: []federation.Attempt{attempt("alpha", ended, true)}, runs: twice, kills: []Kill{{"alpha", at(1), at(4)}}, want: RerunUnseen},
		"requeued by us after a kill": {noRequeue: true, state: federation.Completed, restarts: 1,
			attempts: []federation.Attempt{attempt("alpha", ended, true)}, runs: twice, kills: []Kill{{"alpha", at(1), at(4)}}, want: Broken},
		"two copies": {state: federation.Completed, restarts: 1, attempts: []federation.Attempt{attempt("alpha", ended, true)},
			runs: []Run{run("alpha", 0, 6), run("alpha", 5, 7)}, want: Broken},
		"lost before anything was known": {state: federation.Completed, want: Rerun,
			attempts: []federation.Attempt{attempt("alpha", forgotten, false), attempt("alpha", ended, true)}, runs: twice},
		"the same, not to be requeued": {noRequeue: true, state: federation.Completed, want: RerunBlindly,
			attempts: []federation.Attempt{attempt("alpha", forgotten, false), attempt("alpha", ended, true)}, runs: twice},
		"lost after its start": {noRequeue: true, state: federation.NodeFail, want: NodeFailed,
			attempts: []federation.Attempt{attempt("alpha", forgotten, true)}, runs: twice[:1]},
		"its second run stopped": {noRequeue: true, state: federation.NodeFail, want: NodeFailed,
			attempts: []federation.Attempt{attempt("alpha", forgotten, true)}, runs: []Run{twice[0], run("alpha", 5, 0)}},
		"a node that remembers": {noRequeue: true, state: federation.Cancelled, want: NodeFailed,
			attempts: []federation.Attempt{attempt("alpha", ended, true)}, runs: twice[:1]},
		"its number was another's": {noRequeue: true, state: federation.Cancelled, want: NumberTaken,
			attempts: []federation.Attempt{{Job: 30000000, Site: "alpha", SiteJobID: 17, State: ended, Tries: 1, Acked: at(5), Started: at(6), Ended: at(6)}},
			kills:    []Kill{{"alpha", at(3), at(4)}}},
		"its number was another's, and its start was forgotten": {noRequeue: true, state: federation.Cancelled, want: NumberTaken,
			attempts: []federation.Attempt{{Job: 30000000, Site: "alpha", SiteJobID: 17, State: ended, Tries: 1, Acked: at(5), Ended: at(9)}},
			kills:    []Kill{{"alpha", at(3), at(4)}, {"alpha", at(7), at(8)}}},
		"cancelled, and no controller was killed": {noRequeue: true, state: federation.Cancelled, want: Broken,
			attempts: []federation.Attempt{{Job: 30000000, Site: "alpha", SiteJobID: 17, State: ended, Tries: 1, Acked: at(5), Started: at(6), Ended: at(6)}}},
		"killed between the runs": {state: federation.Completed, want: RerunUnseen,
			attempts: []federation.Attempt{attempt("alpha", ended, true)}, runs: twice, kills: []Kill{{"alpha", at(3), at(4)}}},
		"killed while it ran": {state: federation.Completed, want: RerunUnseen, attempts: []federation.Attempt{attempt("alpha", ended, true)},
			runs: []Run{run("alpha", 0, 6), run("alpha", 5, 7), run("alpha", 12, 13)}, kills: []Kill{{"alpha", at(3), at(4)}, {"alpha", at(8), at(9)}}},
		"its end was not heard": {state: federation.Timeout, want: EndUnheard,
			attempts: []federation.Attempt{attempt("alpha", ended, true)}, runs: twice[:1], kills: []Kill{{"alpha", at(3), at(4)}}},
		"too long, and no controller was killed": {state: federation.Timeout, want: Broken,
			attempts: []federation.Attempt{attempt("alpha", ended, true)}, runs: twice[:1], kills: []Kill{{"alpha", at(30), at(31)}}},
		"too long, and killed for that": {state: federation.Timeout, want: Broken,
			attempts: []federation.Attempt{attempt("alpha", ended, true)}, runs: []Run{run("alpha", 0, 0)}, kills: []Kill{{"alpha", at(3), at(4)}}},
		"its number was another's, and it counts as failed":              {state: federation.Failed, want: NumberTaken, attempts: refused, kills: []Kill{{"alpha", at(3), at(4)}}},
		"started again after its end, and refused":                       {state: federation.Failed, want: EndUnheard, attempts: refused, runs: []Run{run("alpha", 3, 5)}, kills: []Kill{{"alpha", at(4), at(6)}}},
		"failed, and no controller was killed":                           {state: federation.Failed, want: Broken, attempts: refused},
		"failed after its end, and no controller was killed":             {state: federation.Failed, want: Broken, attempts: refused, runs: twice[:1]},
		"failed at a site that has no numbers of its own":                {state: federation.Failed, want: Broken, attempts: []federation.Attempt{pinned}, runs: []Run{run("alpha", 3, 5)}, kills: []Kill{{"alpha", at(4), at(6)}}},
		"failed after three seconds, as none that its node refuses does": {state: federation.Failed, want: Broken, attempts: []federation.Attempt{late}, runs: []Run{run("alpha", 3, 5)}, kills: []Kill{{"alpha", at(4), at(6)}}},
		"another site killed between the runs": {state: federation.Completed, want: Broken,
			attempts: []federation.Attempt{attempt("alpha", ended, true)}, runs: twice, kills: []Kill{{"beta", at(3), at(4)}}},
	} {
		t.Run(name, func(t *testing.T) {
			s := &Submission{ID: 30000000, Token: "x", User: "alice", NoRequeue: c.noRequeue}
			rec := &client.JobRecord{Job: federation.Job{ID: 30000000, User: "alice", State: c.state, Restarts: c.restarts, Spec: &sbatch.Spec{Name: "x"}}, Attempts: c.attempts, Events: c.events}
			if v := Check(s, rec, c.runs, c.kills); v.Kind != c.want {
				t.Errorf("verdict %d %q, want %d", v.Kind, v.Why, c.want)
			}
		})
	}
}

// A job that failed since its node had removed its script is nobody's fault here; one whose script said something else is.
func TestScriptGone(t *testing.T) {
	for said, want := range map[string]Kind{
		"[2026-11-29T08:52:49.091] error: execve(): /spool/alpha1/job30000000/slurm_script: No such file or directory\n": ScriptGone,
		"sh: 1: /spool/slurm_script: not found\n": Broken,
	} {
		s := &Submission{ID: 30000000, Token: "x", User: "alice", Home: t.TempDir()}
		if err := os.MkdirAll(RunDir(s.Home), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(s.complaints(), []byte(said), 0o600); err != nil {
			t.Fatal(err)
		}
		rec := &client.JobRecord{Job: federation.Job{ID: 30000000, User: "alice", State: federation.Failed, Spec: &sbatch.Spec{Name: "x"}}}
		if v := Check(s, rec, nil, nil); v.Kind != want {
			t.Errorf("%q: verdict %d %q, want %d", said, v.Kind, v.Why, want)
		}
	}
}
