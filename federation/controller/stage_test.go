package controller

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"fsub/accounting"
	"fsub/accounting/egress"
	"fsub/federation"
	"fsub/federation/action"
	"fsub/federation/journal"
	"fsub/federation/lifecycle"
	"fsub/federation/reasons"
	"fsub/sbatch"
)

var stageDirectives = &sbatch.Fed{StageOut: []sbatch.Stage{{From: "results"}}}

// fakeStager carries nothing; it counts, and fails as it is told.
type fakeStager struct {
	bytes                  int64
	prepareErr, collectErr error
	prepared, collected    int
	linked                 int
	linkErr                error
	kept                   *egress.Kept
	tasks                  []int  // of the last Collect
	meanwhile              func() // what happens while files are brought to the site
}

func (f *fakeStager) Prepare(_ context.Context, site federation.SiteName, s federation.Submission) (federation.Submission, error) {
	f.prepared++
	if f.meanwhile != nil {
		f.meanwhile()
	}
	if site != "cheap" {
		return s, errors.New("that site sees the directory")
	}
	s.Payload.Script = "#!/bin/sh\n# wrapped\n"
	return s, f.prepareErr
}

func (f *fakeStager) Link(_ context.Context, s federation.Submission, sees func(string) bool) error {
	f.linked++
	return f.linkErr
}

func (f *fakeStager) Collect(_ context.Context, _ *federation.Job, _ *federation.Attempt, ended federation.SiteJob) ([]string, int64, error) {
	f.collected++
	f.tasks = nil
	for _, t := range ended.Tasks {
		f.tasks = append(f.tasks, t.Index)
	}
	return []string{"3 files"}, f.bytes, f.collectErr
}

func (f *fakeStager) Kept(context.Context, *federation.Attempt) (*egress.Kept, error) {
	return f.kept, nil
}

// stagedBench is a bench whose cheap site sees no directory.
func stagedBench(t *testing.T) (*bench, *fakeStager) {
	b, f := newBench(t), &fakeStager{}
	b.carry(f)
	return b, f
}

func (b *bench) carry(f *fakeStager) {
	b.with(func(c *Config) { c.Stager = f })
	b.ctl.sites.byName["cheap"].FileSystems = []string{}
}

func (b *bench) history(id federation.JobID) string {
	events, err := b.store.Events(b.t.Context(), id)
	if err != nil {
		b.t.Fatal(err)
	}
	return fmt.Sprint(events)
}

// staged is a job at the cheap site. Only there it can be carried to: placement would not send it there without directives.
func (b *bench) staged() federation.JobID {
	b.t.Helper()
	id := b.submit(func(s *sbatch.Spec) { s.Fed = stageDirectives })
	b.rounds(4)
	b.want(id, federation.Pending, "", "cheap")
	return id
}

// TestLinksWhereTheSiteSees: what is staged in is put in its place at a site that sees the directory, too. A job whose links cannot be made does not run.
func TestLinksWhereTheSiteSees(t *testing.T) {
	b, f := newBench(t), &fakeStager{}
	b.with(func(c *Config) { c.Stager = f })
	in := func(s *sbatch.Spec) { s.Fed = &sbatch.Fed{StageIn: []sbatch.Stage{{From: "data/*", To: "in/"}}} }
	id := b.submit(in)
	b.rounds(4)
	b.want(id, federation.Pending, "", "cheap")
	b.submit(nil)
	b.rounds(4)
	f.linkErr = &federation.SlurmError{Kind: federation.ErrInvalid, Text: "stage-in: nothing matches data/*"}
	bad := b.submit(in)
	b.rounds(4)
	b.want(bad, federation.Failed, reasons.LaunchFailure, "cheap")
	if h := b.history(bad); f.linked != 2 || f.prepared != 0 || !strings.Contains(h, "nothing matches data/*") {
		t.Errorf("%d links, %d prepared; history: %s", f.linked, f.prepared, h)
	}
}

// TestNoCopyIsWhole: a job that was not started since no copy of what it keeps is whole is held, whether a node or the daemon has found that, and starts again when it is let go.
func TestNoCopyIsWhole(t *testing.T) {
	held := func(b *bench, id federation.JobID) {
		t.Helper()
		b.want(id, federation.Pending, reasons.HeldUser, "")
		if h := b.history(id); !strings.Contains(h, "no copy of what it keeps (--keep) is whole") {
			t.Errorf("history: %s", h)
		}
	}
	b, f := stagedBench(t)
	id := b.staged()
	b.cheap.start(id)
	b.rounds(4)
	f.collectErr = egress.ErrDamaged
	b.cheap.end(id, federation.Failed)
	b.rounds(6)
	held(b, id)
	f.collectErr = nil
	b.request(action.Request{Job: id, Kind: action.Release, UID: 7001})
	b.wait(20 * time.Minute)
	if got := b.attempts(id); len(got) < 2 {
		t.Errorf("let go, it has not begun again: %+v; history: %s", b.job(id), b.history(id))
	}

	b, f = newBench(t), &fakeStager{linkErr: egress.ErrDamaged}
	b.with(func(c *Config) { c.Stager = f })
	id = b.submit(func(s *sbatch.Spec) { s.Fed = &sbatch.Fed{Keep: []string{"ck"}} })
	b.rounds(6)
	held(b, id)
}

func TestTheEndWaitsForTheResults(t *testing.T) {
	b, f := stagedBench(t)
	id := b.staged()
	b.cheap.start(id)
	b.rounds(4)
	f.collectErr = errors.New("the store is down")
	b.cheap.end(id, federation.Completed)
	b.wait(10 * time.Second)
	b.want(id, federation.Completing, "", "cheap")
	if f.prepared != 1 || f.collected < 3 {
		t.Errorf("prepared %d times, tried to collect %d times", f.prepared, f.collected)
	}
	f.collectErr = nil
	b.wait(30 * time.Second)
	b.want(id, federation.Completed, "", "cheap")
	if h := b.history(id); !strings.Contains(h, "3 files") || !strings.Contains(h, "the store is down") {
		t.Errorf("history: %s", h)
	}
}

// TestResultsThatLeaveACloudAreCharged: what the results have come to is charged beside the run, once, though they are asked for again; of a site in no cloud nothing is.
func TestResultsThatLeaveACloudAreCharged(t *testing.T) {
	for at, want := range map[string]federation.Money{"aws:us-east-1": 9 * accounting.Dollar, "": 0} {
		b, f := stagedBench(t)
		b.ctl.sites.byName["cheap"].Data.Place = at
		f.bytes, f.collectErr = 100*egress.GB, errors.New("the store is down")
		id := b.staged()
		b.cheap.start(id)
		b.rounds(4)
		b.cheap.end(id, federation.Completed)
		b.wait(10 * time.Second)
		f.collectErr = nil
		b.wait(30 * time.Second)
		b.want(id, federation.Completed, "", "cheap")
		all, err := b.store.Charges(t.Context(), federation.ChargeQuery{Job: id})
		if err != nil {
			t.Fatal(err)
		}
		var moved, ran []federation.Charge
		for _, k := range all {
			if k.From == lifecycle.PriceMoved {
				moved = append(moved, k)
			} else {
				ran = append(ran, k)
			}
		}
		if len(ran) != 1 || want == 0 && len(moved) > 0 {
			t.Fatalf("%q: charges %+v", at, all)
		}
		if want == 0 {
			continue
		}
		if len(moved) != 1 || moved[0].Amount != want || moved[0].Account != ran[0].Account || moved[0].Run != -ran[0].Run || moved[0].TRES != "" {
			t.Errorf("%q: charged %+v beside %+v, want %s", at, moved, ran, want.USD())
		}
		j, err := b.store.Job(t.Context(), id)
		if err != nil || j.Cost != ran[0].Amount+want {
			t.Errorf("%q: the job costs %s, %v", at, j.Cost.USD(), err)
		}
	}
}

func TestResultsAreCollectedAgainAfterARestart(t *testing.T) {
	b, f := stagedBench(t)
	id := b.staged()
	b.cheap.start(id)
	f.collectErr = errors.New("the store is down")
	b.cheap.end(id, federation.Failed)
	b.rounds(4)
	b.want(id, federation.Completing, "", "cheap")
	b.restart()
	b.carry(f)
	f.collectErr = nil
	b.wait(3 * time.Second)
	b.want(id, federation.Failed, "", "cheap")
	if b.cheap.submits != 1 {
		t.Errorf("submitted %d times", b.cheap.submits)
	}
}

func TestResultsThatCannotBeHadEndTheJob(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		wait time.Duration
	}{
		"denied":   {fmt.Errorf("%w: read-only", federation.ErrDenied), 3 * time.Second},
		"too long": {errors.New("the store is down"), homeFor + time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			b, f := stagedBench(t)
			id := b.staged()
			b.cheap.start(id)
			f.collectErr = c.err
			b.cheap.end(id, federation.Completed)
			b.wait(c.wait)
			b.want(id, federation.Completed, "", "cheap")
			if h := b.history(id); !strings.Contains(h, "could not all be brought home") {
				t.Errorf("history: %s", h)
			}
		})
	}
}

func TestAStageInThatCannotBeDoneFailsTheJob(t *testing.T) {
	b, f := stagedBench(t)
	f.prepareErr = fmt.Errorf("%w: nothing matches *.csv", federation.ErrInvalid)
	id := b.submit(func(s *sbatch.Spec) { s.Fed = stageDirectives })
	b.wait(2 * time.Second)
	b.want(id, federation.Failed, reasons.LaunchFailure, "cheap")
	if j := b.job(id); b.cheap.submits != 0 || j.ExitStatus != 1<<8 || !strings.Contains(b.history(id), "nothing matches *.csv") {
		t.Errorf("%d submissions, exit status %d, history %s", b.cheap.submits, j.ExitStatus, b.history(id))
	}
}

func TestAStoreThatIsDownSendsTheJobElsewhere(t *testing.T) {
	b, f := stagedBench(t)
	f.prepareErr = errors.New("the store is down")
	id := b.submit(func(s *sbatch.Spec) { s.Fed = stageDirectives })
	b.wait(3 * time.Second)
	b.want(id, federation.Pending, "", "dear")
	if b.cheap.submits != 0 || f.prepared != 1 {
		t.Errorf("%d submissions, prepared %d times", b.cheap.submits, f.prepared)
	}
}

func TestResultsOfTasksComeAsTheyEnd(t *testing.T) {
	b, f := stagedBench(t)
	id := b.submit(func(s *sbatch.Spec) { s.Fed, s.Array = stageDirectives, "0-1" })
	b.rounds(4)
	b.tasks(id, federation.Running, federation.Completed)
	b.wait(2 * time.Second)
	if p := b.part(id, 1); f.collected != 1 || p.State != federation.Completed {
		t.Errorf("collected %d times, task 1 is %s", f.collected, p.State)
	}
	b.tasks(id, federation.Completed)
	b.wait(2 * time.Second)
	if j := b.job(id); f.collected != 2 || j.State != federation.Completed {
		t.Errorf("collected %d times, the array is %s", f.collected, j.State)
	}
}

// A job that its site runs once more after its end does not end by what was seen before.
func TestRequeuedAfterItsEndIsNotOver(t *testing.T) {
	b, f := stagedBench(t)
	id := b.staged()
	b.cheap.start(id)
	f.collectErr = errors.New("the store is down")
	b.cheap.end(id, federation.Completed)
	b.rounds(4)
	b.want(id, federation.Completing, "", "cheap")
	at := b.cheap.jobs[id]
	at.State, at.End, at.Restarts = federation.Running, time.Time{}, 1
	b.rounds(5)
	f.collectErr = nil
	b.wait(5 * time.Second)
	b.want(id, federation.Running, "", "cheap")
	b.cheap.end(id, federation.Completed)
	b.wait(2 * time.Second)
	b.want(id, federation.Completed, "", "cheap")
}

func TestCancelledWhileItsFilesAreOnTheWay(t *testing.T) {
	b, f := stagedBench(t)
	id := b.submit(func(s *sbatch.Spec) { s.Fed = stageDirectives })
	f.meanwhile = func() { // as another round of a real controller would write it down
		j := b.job(id)
		j.Cancel = true
		if err := b.store.Commit(b.t.Context(), &journal.Batch{Jobs: []*federation.Job{&j}}); err != nil {
			t.Fatal(err)
		}
		b.ctl.jobs.Of(id).Cancel = true
	}
	b.wait(2 * time.Second)
	b.want(id, federation.Cancelled, "", "cheap")
	if b.cheap.submits != 0 {
		t.Errorf("%d submissions", b.cheap.submits)
	}
}
