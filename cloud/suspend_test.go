package cloud_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"fsub/cloud/agentapi"
	"fsub/federation"
)

func (w *world) suspend(id federation.JobID) {
	w.Helper()
	if err := w.driver.Suspend(context.Background(), federation.JobRef{ID: id}); err != nil {
		w.Fatalf("Suspend: %v", err)
	}
}

func (w *world) resume(id federation.JobID) {
	w.Helper()
	if err := w.driver.Resume(context.Background(), federation.JobRef{ID: id}); err != nil {
		w.Fatalf("Resume: %v", err)
	}
}

// TestSuspend: a suspended job stays where it is, its time limit does not run, and the machine's agent is told for as long as it is so, by a later daemon too.
func TestSuspend(t *testing.T) {
	byHand(t, func(w *world) {
		ctx := context.Background()
		id := w.submit("sleep 1000", func(s *federation.Submission) { s.Job.Spec.TimeLimit = 10 * time.Minute })
		ref := federation.JobRef{ID: id}
		if err := w.driver.Suspend(ctx, ref); !errors.Is(err, federation.ErrConflict) {
			t.Errorf("before it runs: %v", err)
		}
		m := w.let()[0]
		o := w.poll(m, agentapi.Poll{})
		run := o.Runs[0].Run
		w.report(m, agentapi.Status{Run: run, State: agentapi.RunRunning, Start: time.Now()})
		start := w.wants(id, federation.Running, time.Second).Start
		told := func(what string, want bool) {
			t.Helper()
			o = w.poll(m, agentapi.Poll{Version: o.Version, Known: []string{run}})
			if len(o.Runs) != 1 || o.Runs[0].Suspend != want || o.Runs[0].Stop != nil {
				t.Errorf("%s: the agent is told %+v", what, o.Runs)
			}
		}
		sees := func(what string, state federation.State, ran time.Duration) {
			t.Helper()
			j := w.lookup(id)
			if got := j.Suspension.Elapsed(j.Start, time.Now(), j.State == federation.Suspended); j.State != state || !j.Start.Equal(start) || got < ran || got > ran+5*time.Second {
				t.Errorf("%s: %s for %s, not %s for %s", what, j.State, got, state, ran)
			}
			o, err := w.driver.Observe(ctx)
			if err != nil || len(o.Running) != 1 {
				t.Fatalf("%s: %+v, %v", what, o, err)
			}
			want := time.Time{}
			if state == federation.Running {
				want = o.At.Add(10*time.Minute - j.Suspension.Elapsed(j.Start, o.At, false))
			}
			if end := o.Running[0].End; !end.Equal(want) {
				t.Errorf("%s: it ends at %s, not %s", what, end, want)
			}
		}
		await := func(d time.Duration) { // the agent keeps its lease
			for end := time.Now().Add(d); time.Now().Before(end); {
				o = w.poll(m, agentapi.Poll{Version: o.Version, Known: []string{run}})
			}
		}
		await(4*time.Minute - time.Since(start))
		sees("runs", federation.Running, 4*time.Minute)
		w.suspend(id)
		told("suspended", true)
		w.suspend(id)
		await(time.Hour)
		sees("suspended for an hour", federation.Suspended, 4*time.Minute)
		w.stop()
		w.ready()
		told("suspended, and a new daemon", true)
		sees("a new daemon", federation.Suspended, 4*time.Minute)
		w.resume(id)
		told("resumed", false)
		w.resume(id)
		await(5 * time.Minute)
		sees("resumed", federation.Running, 9*time.Minute)
		w.suspend(id)
		await(time.Hour)
		w.resume(id)
		sees("resumed again", federation.Running, 9*time.Minute)
		await(5 * time.Minute) // its agent lets the limit pass
		o = w.poll(m, agentapi.Poll{Known: []string{run}})
		if s := o.Runs[0].Stop; s == nil || s.Why != agentapi.WhyTimeout {
			t.Errorf("its limit has passed: the agent is told %+v", o.Runs)
		}
	})
}

// TestSuspendedEnds: what is suspended can be cancelled, at once as in Slurm; it can be queued again, and does not begin suspended then.
func TestSuspendedEnds(t *testing.T) {
	bubble(t, func(w *world) {
		w.ready()
		run := func() federation.JobID {
			id := w.submit("work 600", nil)
			w.wants(id, federation.Running, 5*time.Minute)
			w.suspend(id)
			time.Sleep(time.Hour)
			w.wants(id, federation.Suspended, time.Second)
			return id
		}
		id := run()
		if err := w.driver.Cancel(context.Background(), federation.JobRef{ID: id}, nil); err != nil {
			t.Fatal(err)
		}
		j := w.wants(id, federation.Cancelled, time.Minute)
		if got := j.Suspension.Elapsed(j.Start, j.End, false); got > 10*time.Minute {
			t.Errorf("cancelled: it has run %s: %+v", got, j)
		}
		id = run()
		if err := w.driver.Requeue(context.Background(), federation.JobRef{ID: id}, nil); err != nil {
			t.Fatal(err)
		}
		w.wants(id, federation.Pending, time.Minute)
		j = w.wants(id, federation.Completed, 30*time.Minute)
		if len(j.Earlier) != 1 || j.Earlier[0].Suspension.Suspended(j.Earlier[0].Started, j.Earlier[0].Ended, false) < 59*time.Minute || j.Suspension != (federation.Suspension{}) {
			t.Errorf("queued again: %+v", j)
		}
		if got := j.Earlier[0].Cost; got < federation.Dollar { // a dollar an hour
			t.Errorf("an hour of suspension has cost $%.2f", float64(got))
		}
		if err := w.driver.Suspend(context.Background(), federation.JobRef{ID: id}); !errors.Is(err, federation.ErrConflict) {
			t.Errorf("after its end: %v", err)
		}
	})
}

// TestSuspendNotice: a job that is suspended on a machine which the cloud takes back goes on, to use the time that is left, and is not suspended again.
func TestSuspendNotice(t *testing.T) {
	byHand(t, func(w *world) {
		id := w.submit("sleep 1000", nil)
		m := w.let()[0]
		o := w.poll(m, agentapi.Poll{})
		run := o.Runs[0].Run
		w.report(m, agentapi.Status{Run: run, State: agentapi.RunRunning, Start: time.Now()})
		w.suspend(id)
		n := &agentapi.Notice{Kind: agentapi.NoticePreempt, At: time.Now().Add(2 * time.Minute)}
		if err := w.driver.Agents().Report(context.Background(), m, agentapi.Report{Notice: n}); err != nil {
			t.Fatal(err)
		}
		if o = w.poll(m, agentapi.Poll{Version: o.Version, Known: []string{run}}); len(o.Runs) != 1 || o.Runs[0].Suspend {
			t.Errorf("the agent is told %+v", o.Runs)
		}
		w.wants(id, federation.Running, time.Second)
		if err := w.driver.Suspend(context.Background(), federation.JobRef{ID: id}); !errors.Is(err, federation.ErrConflict) {
			t.Errorf("after the notice: %v", err)
		}
	})
}

// TestSuspendOldAgent: an agent that does not know what it is asked is not asked.
func TestSuspendOldAgent(t *testing.T) {
	byHand(t, func(w *world) {
		id := w.submit("sleep 1000", nil)
		time.Sleep(time.Second)
		h := hello(w.cloud.Living()[0], "n")
		h.Suspends = false
		let, err := w.driver.Agents().Hello(context.Background(), gangOf(w.cloud.Living()[0]), h)
		if err != nil {
			t.Fatal(err)
		}
		o := w.poll(let.Machine, agentapi.Poll{})
		w.report(let.Machine, agentapi.Status{Run: o.Runs[0].Run, State: agentapi.RunRunning, Start: time.Now()})
		if err := w.driver.Suspend(context.Background(), federation.JobRef{ID: id}); !errors.Is(err, federation.ErrInvalid) {
			t.Errorf("%v", err)
		}
		w.wants(id, federation.Running, time.Second)
	})
}
