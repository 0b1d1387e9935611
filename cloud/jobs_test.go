package cloud

import (
	"fmt"
	"testing"
	"time"

	"fsub/federation"
	"fsub/sbatch"
)

// TestJobTable: what has changed since a mark is told once, each job as it is in the records; one that has ended is forgotten after a while.
func TestJobTable(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	js := newJobTable(clocked(&now), new(pools))
	change := func(j *job, state federation.State) {
		j.State = state
		j.Written()
	}
	told := func(since uint64) (text string, mark uint64) {
		r := js.changed(since)
		for _, j := range r.Changed {
			text += fmt.Sprint(j.ID, j.State, " ")
		}
		return text, r.Mark.(uint64)
	}
	a, b := &job{jobRecord: jobRecord{Job: federation.Job{ID: 1, Spec: new(sbatch.Spec)}}}, &job{jobRecord: jobRecord{Job: federation.Job{ID: 2, Spec: new(sbatch.Spec)}}}
	for _, j := range []*job{a, b} {
		js.take(j)
		change(j, federation.Pending)
	}
	change(a, federation.Running)
	text, mark := told(0)
	if text != "1RUNNING 2PENDING " {
		t.Error(text)
	}
	b.State = federation.Running // not written yet
	if text, _ := told(mark); text != "" {
		t.Error(text)
	}
	a.End = now
	js.end(a)
	change(a, federation.Completed)
	if text, _ := told(mark); text != "1COMPLETED " {
		t.Error(text)
	}
	now = now.Add(js.t.Keep)
	if js.tidy(now); !js.changed(0).Known[1] {
		t.Error("it was forgotten at once")
	}
	now = now.Add(time.Second)
	if js.tidy(now); js.changed(0).Known[1] || !js.changed(0).Known[2] {
		t.Errorf("known: %v", js.changed(0).Known)
	}
}
