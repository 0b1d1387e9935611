package cloud_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"fsub/cloud/agentapi"
	"fsub/federation"
	"fsub/sbatch"
)

// TestUpdateRunning: the agent hears of a new time limit, also of a daemon that was killed meanwhile; what a run holds stays as it is.
func TestUpdateRunning(t *testing.T) {
	byHand(t, func(w *world) {
		var sub federation.Submission
		id := w.submit("sleep 1000", func(s *federation.Submission) {
			s.Job.Spec.TimeLimit = 10 * time.Minute
			sub = *s
		})
		m := w.let()[0]
		o := w.poll(m, agentapi.Poll{})
		run := o.Runs[0].Run
		w.report(m, agentapi.Status{Run: run, State: agentapi.RunRunning})
		w.wants(id, federation.Running, time.Second)
		update := func(change func(*federation.Job)) error {
			before, after := *sub.Job, *sub.Job
			before.Partition, after.Partition = sub.Partition, sub.Partition
			after.EditSpec(func(*sbatch.Spec) {}) // a copy of its own
			change(&after)
			return w.driver.Update(context.Background(), federation.JobRef{ID: id, Key: sub.Key}, "", &before, &after)
		}
		for what, change := range map[string]func(*federation.Job){
			"nodes":     func(j *federation.Job) { j.Spec.MinNodes = 2 },
			"partition": func(j *federation.Job) { j.Partition = "other" },
		} {
			if err := update(change); !errors.Is(err, federation.ErrConflict) {
				t.Errorf("%s of a running job: %v", what, err)
			}
		}
		if err := update(func(j *federation.Job) { j.Spec.TimeLimit, j.Spec.Comment = 3*time.Minute, "changed" }); err != nil {
			t.Fatal(err)
		}
		told := func(p agentapi.Poll) {
			t.Helper()
			if o := w.poll(m, p); len(o.Runs) != 1 || o.Runs[0].TimeLimit != 3*time.Minute || o.Runs[0].Stop != nil {
				t.Errorf("the agent is told %+v", o.Runs)
			}
		}
		told(agentapi.Poll{Version: o.Version, Known: []string{run}})
		if j := w.lookup(id); j.State != federation.Running || j.Limit != 3*time.Minute {
			t.Errorf("%+v", j)
		}
		w.stop()
		w.ready()
		told(agentapi.Poll{Known: []string{run}})
	})
}

// TestUpdatePending: what decides where a job can run is for the federation to change, which submits it anew.
func TestUpdatePending(t *testing.T) {
	w := newWorld(t)
	w.start()
	w.ready()
	var sub federation.Submission
	id := w.submit("true", func(s *federation.Submission) {
		s.Job.Held = federation.HeldUser
		sub = *s
	})
	before, after := *sub.Job, *sub.Job
	before.Partition, after.Partition = sub.Partition, sub.Partition
	after.EditSpec(func(s *sbatch.Spec) { s.GPUsPerNode = "l4:1" })
	if err := w.driver.Update(context.Background(), federation.JobRef{ID: id, Key: sub.Key}, "", &before, &after); !errors.Is(err, federation.ErrInvalid) {
		t.Errorf("%v", err)
	}
	if j := w.lookup(id); j.State != federation.Pending || j.GPUs != 0 {
		t.Errorf("%+v", j)
	}
}
