package simsite

import (
	"context"
	"errors"
	"testing"
	"time"

	"fsub/federation"
	"fsub/slurm/wire"
)

func TestKilledControllerForgets(t *testing.T) {
	s := newSite(t)
	d := restDriver(t, s)
	old := s.mustSubmit(t, desc(100*second1, pinned(30000001, "fsub:old")))
	s.Advance(6 * second1) // saved
	s.mustSubmit(t, desc(100*second1, pinned(30000002, "fsub:new")))
	own := s.mustSubmit(t, desc(100*second1))
	s.Advance(second1)
	s.RestartController(CrashOptions{})
	s.wantState(t, old, federation.Running)
	s.wantRuns(t, 30000002, RunOrphan)
	j, err := d.Lookup(context.Background(), federation.JobRef{ID: 30000002})
	if err != nil || !j.FromAccounting || j.State != federation.Running || j.Key != "" {
		t.Errorf("the ghost in accounting: %+v %v", j, err)
	}
	r, err := d.Jobs(context.Background(), nil)
	if err != nil || len(r.Known) != 1 || !r.Known[30000001] {
		t.Errorf("%+v %v", r, err)
	}
	if again := s.mustSubmit(t, desc(100*second1)); again != own {
		t.Errorf("the counter gave %d, want %d again", again, own)
	}
	s.mustSubmit(t, desc(second1, pinned(30000002, "fsub:new")))
	s.Advance(2 * second1)
	s.wantRuns(t, 30000002, RunOrphan, RunCompleted)
	if rows := s.Records(30000002); len(rows) != 2 || rows[0].State != federation.Running || rows[1].State != federation.Completed {
		t.Errorf("accounting: %+v", rows)
	}
}

// What was not saved of an older job is undone: a start, an end.
func TestKilledControllerGoesBack(t *testing.T) {
	s := newSite(t)
	s.mustSubmit(t, desc(20*second1, func(d *wire.JobDesc) { d.Nodes, d.Tasks, d.TRESPerNode = "4", 4, "gres/gpu:4" }))
	started := s.mustSubmit(t, desc(100*second1))
	no := false
	ended := s.mustSubmit(t, desc(12*second1, func(d *wire.JobDesc) { d.Requeue = &no }))
	ended2 := s.mustSubmit(t, desc(12*second1))
	first := s.mustSubmit(t, desc(100*second1, func(d *wire.JobDesc) { d.TRESPerNode = "gres/gpu:1" }))
	s.Advance(11 * second1)
	s.wantState(t, first, federation.Pending)
	s.Advance(10 * second1) // 12 s: two ended; saved at 17; 20: the gang ended, first starts; killed at 21
	s.wantState(t, first, federation.Running)
	s.wantState(t, ended, federation.Completed)
	s.RestartController(CrashOptions{})
	s.wantState(t, started, federation.Running)
	s.wantState(t, ended, federation.Completed)
	s.wantRuns(t, first, RunOrphan) // PENDING again; the gang counts as running
	s.Advance(s.cfg.Registration)
	s.wantRuns(t, first, RunOrphan, RunActive)
	s.wantRuns(t, ended2, RunCompleted)

	// An end that was lost: the job counts as running until its node is asked.
	a := s.mustSubmit(t, desc(10*second1))
	b := s.mustSubmit(t, desc(10*second1, func(d *wire.JobDesc) { d.Requeue = &no }))
	s.Advance(11 * second1)
	s.wantState(t, a, federation.Completed)
	s.RestartController(CrashOptions{})
	s.wantState(t, a, federation.Running)
	if r := s.Records(a); r[0].State != federation.Completed {
		t.Errorf("slurmdbd: %+v", r)
	}
	s.Advance(s.cfg.Registration)
	s.wantState(t, b, federation.NodeFail)
	if r := s.Records(b); r[0].State != federation.NodeFail || r[0].Exit != 1<<8 {
		t.Errorf("slurmdbd: %+v", r)
	}
	if j, _ := s.Job(a); j.State != federation.Pending || j.Restarts != 1 {
		t.Errorf("a job that may be requeued: %+v", j)
	}
	s.Advance(3 * time.Minute)
	s.wantRuns(t, a, RunCompleted, RunCompleted) // Slurm itself runs it twice
	s.wantRuns(t, b, RunCompleted)
}

func TestCrashOptions(t *testing.T) {
	s := newSite(t)
	short := s.mustSubmit(t, desc(second1))
	long := s.mustSubmit(t, desc(time.Hour))
	s.Advance(6 * second1)
	s.RestartController(CrashOptions{ForgetEnded: true})
	if _, ok := s.Job(short); ok {
		t.Error("the ended job is still in memory")
	}
	s.wantState(t, long, federation.Running)
	s.RestartController(CrashOptions{Everything: true})
	if _, ok := s.Job(long); ok {
		t.Error("the running job is still in memory")
	}
	s.wantRuns(t, long, RunOrphan)

	s = newSite(t)
	id := s.mustSubmit(t, desc(7*second1))
	s.Advance(8 * second1)
	s.RestartController(CrashOptions{KeepChanges: true})
	s.wantState(t, id, federation.Completed)
}

func TestControllerDown(t *testing.T) {
	s := newSite(t)
	id := s.mustSubmit(t, desc(10*second1))
	limited := s.mustSubmit(t, desc(time.Hour, func(d *wire.JobDesc) { d.TimeLimit = wire.Num(1) }))
	s.Advance(6 * second1)
	s.KillController(CrashOptions{})
	d := restDriver(t, s)
	if _, err := d.Observe(context.Background()); !errors.Is(err, federation.ErrUnavailable) {
		t.Errorf("observe: %v", err)
	}
	s.Advance(2 * time.Minute)
	s.wantRuns(t, id, RunCompleted) // the node went on by itself
	s.wantRuns(t, limited, RunActive)
	s.StartController()
	s.wantState(t, id, federation.Completed)
	s.Advance(0)
	s.wantState(t, limited, federation.Timeout)
}

func TestStoppedControllerLosesNothing(t *testing.T) {
	s := newSite(t)
	id := s.mustSubmit(t, desc(10*second1))
	s.StopController()
	s.StartController()
	s.wantState(t, id, federation.Running)
	s.Advance(10 * second1)
	s.wantRuns(t, id, RunCompleted)
}

func TestArrayForgottenInPart(t *testing.T) {
	s := newSite(t)
	s.mustSubmit(t, desc(8*second1, pinned(30000011, "k"), array1("0-5%2")))
	s.Advance(6 * second1)
	s.Advance(3 * second1) // two tasks ended at 8 s, two more started: not saved
	s.RestartController(CrashOptions{})
	d := restDriver(t, s)
	j, err := d.Lookup(context.Background(), federation.JobRef{ID: 30000011})
	if err != nil || j.PendingTasks == "" {
		t.Fatalf("%+v %v", j, err)
	}
	s.Advance(10 * time.Minute)
	if j, _ = d.Lookup(context.Background(), federation.JobRef{ID: 30000011}); len(j.Tasks) != 6 || !j.State.Ended() {
		t.Errorf("%+v", j)
	}
	if p, r := s.Counts(); p != 0 || r != 0 {
		t.Errorf("%d pending, %d running", p, r)
	}
}

func TestSlurmdbdDown(t *testing.T) {
	s := newSite(t)
	ctx, d := context.Background(), restDriver(t, s)
	s.SetSlurmdbd(false)
	s.mustSubmit(t, desc(second1, pinned(30000001, "k")))
	s.Advance(2 * second1)
	if _, err := d.Lookup(ctx, federation.JobRef{ID: 30000009}); !errors.Is(err, federation.ErrUnavailable) {
		t.Errorf("unknown job while slurmdbd is down: %v", err)
	}
	if len(s.Records(30000001)) != 0 {
		t.Error("a row although slurmdbd is down")
	}
	s.SetSlurmdbd(true)
	if r := s.Records(30000001); len(r) != 1 || r[0].State != federation.Completed {
		t.Errorf("after it came back: %+v", r)
	}
	if _, err := d.Lookup(ctx, federation.JobRef{ID: 30000009}); !errors.Is(err, federation.ErrNotFound) {
		t.Errorf("unknown job: %v", err)
	}
	s.SetSlurmdbd(false)
	s.mustSubmit(t, desc(second1, pinned(30000002, "k")))
	s.RestartController(CrashOptions{})
	s.SetSlurmdbd(true)
	if r := s.Records(30000002); len(r) != 0 {
		t.Errorf("a killed controller has lost its messages: %+v", r)
	}
}
