package cloud_test

import (
	"context"
	"testing"
	"time"

	"fsub/cloud/agentapi"
	"fsub/federation"
)

// TestAnswerBeforeStop: a command inside a job that requeues or cancels it has its answer before the job's machines are told to end it. An answer that does not
// come delays that a moment only.
func TestAnswerBeforeStop(t *testing.T) {
	stop := func(w *world, id federation.JobID, why agentapi.Why) error {
		if why == agentapi.WhyRequeue {
			return w.driver.Requeue(context.Background(), federation.JobRef{ID: id}, nil)
		}
		return w.driver.Cancel(context.Background(), federation.JobRef{ID: id}, nil)
	}
	for _, why := range []agentapi.Why{agentapi.WhyRequeue, agentapi.WhyCancel} {
		for _, c := range []struct {
			what   string
			answer time.Duration // after the request; 0: it comes from elsewhere
			want   time.Duration // when the machine is told at the earliest
		}{{"from elsewhere", 0, 0}, {"from within", time.Second, time.Second + 50*time.Millisecond}, {"without an answer", time.Hour, 3 * time.Second}} {
			t.Run(string(why)+" "+c.what, func(t *testing.T) {
				byHand(t, func(w *world) {
					id := w.submit("scontrol requeue $SLURM_JOB_ID", nil)
					m := w.let()[0]
					run := w.poll(m, agentapi.Poll{}).Runs[0].Run
					w.report(m, agentapi.Status{Run: run, State: agentapi.RunRunning, Start: time.Now()})
					w.wants(id, federation.Running, time.Minute)
					if c.answer > 0 {
						defer time.AfterFunc(c.answer, w.driver.Agents().Asking(run)).Stop()
					}
					asked := time.Now()
					if err := stop(w, id, why); err != nil {
						t.Fatal(err)
					}
					told := func() *agentapi.Stop { return w.poll(m, agentapi.Poll{Known: []string{run}}).Runs[0].Stop }
					if s := told(); c.want > 0 && s != nil {
						t.Fatalf("the machine is told to end it before the answer: %+v", s)
					}
					w.until("the machine is told", c.want+time.Second, func() bool { return told() != nil })
					if s, late := told(), time.Since(asked); s.Why != why || late < c.want {
						t.Errorf("the machine is told %q after %s, want %q after %s", s.Why, late, why, c.want)
					}
				})
			})
		}
	}
}
