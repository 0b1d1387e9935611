package cloud_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"fsub/cloud/agentapi"
	"fsub/federation"
	"fsub/federation/driver"
)

// TestSignalStep: an order to a step goes to the machine that leads the gang, and its word that there is no such step is the answer.
func TestSignalStep(t *testing.T) {
	byHand(t, func(w *world) {
		ctx := context.Background()
		ask := func(id federation.JobID, step string, s driver.StepSignal) chan error {
			answer := make(chan error, 1)
			go func() { answer <- w.driver.SignalStep(ctx, id, step, s) }()
			time.Sleep(time.Second)
			return answer
		}
		id := w.submit("srun", nodes(2))
		if err := <-ask(id, "0", driver.StepSignal{}); !errors.Is(err, federation.ErrNotFound) {
			t.Errorf("before it runs: %v", err)
		}
		ids := w.let()
		head, rest := ids[0], ids[1]
		run := w.poll(rest, agentapi.Poll{}).Runs[0].Run
		w.report(rest, agentapi.Status{Run: run, State: agentapi.RunReady})
		o := w.poll(head, agentapi.Poll{})
		w.report(head, agentapi.Status{Run: run, State: agentapi.RunRunning, Start: time.Now()})
		kill, usr1, none := ask(id, "0", driver.StepSignal{By: 7001}), ask(id, "1", driver.StepSignal{Name: "USR1"}), ask(id, "2", driver.StepSignal{Name: "USR1"})
		poll := agentapi.Poll{Version: o.Version, Known: []string{run}}
		o = w.poll(head, poll)
		want := []agentapi.Signal{{Run: run, Step: "0", By: 7001}, {Run: run, Step: "1", Name: "USR1"}, {Run: run, Step: "2", Name: "USR1"}}
		got := slices.Clone(o.StepSignals)
		for i := range got {
			got[i].Seq = 0
		}
		if !slices.Equal(got, want) || len(o.Signals) > 0 {
			t.Fatalf("the head is told %+v, and of the job %+v", o.StepSignals, o.Signals)
		}
		if o := w.poll(rest, agentapi.Poll{Known: []string{run}}); len(o.StepSignals) > 0 {
			t.Errorf("the other machine is told %+v", o.StepSignals)
		}
		poll.Version, poll.Signals, poll.Missed = o.Version, o.StepSignals[2].Seq, []uint64{o.StepSignals[2].Seq}
		w.poll(head, poll)
		if err := <-kill; err != nil {
			t.Error(err)
		}
		if err := <-usr1; err != nil {
			t.Error(err)
		}
		if err := <-none; !errors.Is(err, federation.ErrNotFound) {
			t.Errorf("a step that does not run: %v", err)
		}
		impatient := func(step string) error {
			patience, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			return w.driver.SignalStep(patience, id, step, driver.StepSignal{Name: "USR1"})
		}
		if err := impatient("4"); !errors.Is(err, federation.ErrUnavailable) {
			t.Errorf("nobody asks for orders: %v", err)
		}
		told := ask(id, "5", driver.StepSignal{})
		if o = w.poll(head, poll); len(o.StepSignals) != 1 || o.StepSignals[0].Step != "5" {
			t.Errorf("one order was taken back, the other not: the head is told %+v", o.StepSignals)
		}
		poll.Version, poll.Signals, poll.Missed = o.Version, o.StepSignals[0].Seq, nil
		w.poll(head, poll)
		if err := <-told; err != nil {
			t.Error(err)
		}
		late := ask(id, "3", driver.StepSignal{})
		w.report(head, agentapi.Status{Run: run, State: agentapi.RunEnded})
		w.report(rest, agentapi.Status{Run: run, State: agentapi.RunEnded})
		if err := <-late; !errors.Is(err, federation.ErrNotFound) {
			t.Errorf("a job that has ended meanwhile: %v", err)
		}
		patience, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		if err := w.driver.SignalStep(patience, id, "0", driver.StepSignal{}); !errors.Is(err, federation.ErrNotFound) {
			t.Errorf("a job that has ended: %v", err)
		}
	})
}

// TestSignalTimesOut: a signal to a job that a machine has not asked for in time is not sent later; one that it was given is not given again.
func TestSignalTimesOut(t *testing.T) {
	byHand(t, func(w *world) {
		id := w.submit("sleep 1000", nodes(2))
		ids := w.let()
		head, rest := ids[0], ids[1]
		run := w.poll(rest, agentapi.Poll{}).Runs[0].Run
		w.report(rest, agentapi.Status{Run: run, State: agentapi.RunReady})
		w.poll(head, agentapi.Poll{})
		w.report(head, agentapi.Status{Run: run, State: agentapi.RunRunning, Start: time.Now()})
		patience, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		answer := make(chan error, 1)
		go func() {
			answer <- w.driver.Signal(patience, federation.JobRef{ID: id}, nil, federation.Signal{Name: "USR1"})
		}()
		time.Sleep(time.Second)
		o := w.poll(head, agentapi.Poll{Known: []string{run}})
		if len(o.Signals) != 1 {
			t.Fatalf("the head is told %+v", o.Signals)
		}
		w.poll(head, agentapi.Poll{Known: []string{run}, Signals: o.Signals[0].Seq})
		if err := <-answer; !errors.Is(err, federation.ErrUnavailable) {
			t.Errorf("one machine does not ask: %v", err)
		}
		if o := w.poll(rest, agentapi.Poll{Known: []string{run}}); len(o.Signals) > 0 {
			t.Errorf("a minute too late the other is told %+v", o.Signals)
		}
	})
}
