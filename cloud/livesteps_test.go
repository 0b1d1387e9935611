package cloud_test

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"testing"
	"time"

	"fsub/cloud/agentapi"
	"fsub/cloud/records"
	"fsub/federation"
)

func (w *world) liveSteps(jobs ...federation.JobID) (list []string) {
	for _, s := range w.driver.Steps(jobs, false) {
		list = append(list, s.Job.String()+"."+s.ID+" "+s.Nodes+" "+strconv.Itoa(s.NumNodes))
	}
	return list
}

// bookedSteps are the steps in a job's record.
func (w *world) bookedSteps() (list []agentapi.Step) {
	w.Helper()
	var r struct {
		Steps []agentapi.Step `json:"steps"`
	}
	if err := json.Unmarshal(w.records(records.PoolJob)[0].Data, &r); err != nil {
		w.Fatal(err)
	}
	return r.Steps
}

// TestLiveSteps: what agents tell of steps that run is known at once, costs the records nothing, and is in them when the run has ended.
func TestLiveSteps(t *testing.T) {
	byHand(t, func(w *world) {
		id := w.submit("srun", nodes(2))
		ids := w.let()
		head, rest := ids[0], ids[1]
		run := w.poll(rest, agentapi.Poll{}).Runs[0].Run
		w.report(rest, agentapi.Status{Run: run, State: agentapi.RunReady})
		w.poll(head, agentapi.Poll{})
		running := agentapi.Status{Run: run, State: agentapi.RunRunning, Start: time.Now()}
		running.Steps = []agentapi.Step{{ID: "batch", Name: "batch", State: "RUNNING", Nodes: "n1", Start: time.Now()}}
		w.report(head, running)
		commits := w.store.Commits()
		start := time.Now()
		for i := range 10000 { // each begins before the one before it has ended
			running.Steps = []agentapi.Step{{ID: strconv.Itoa(i), Name: "s", State: "RUNNING", Nodes: "n[1-2]", Tasks: 2, CPUs: 4, Start: start}}
			if i > 0 {
				running.Steps = append(running.Steps, agentapi.Step{ID: strconv.Itoa(i - 1), Name: "s", State: "COMPLETED", Nodes: "n[1-2]", Start: start, End: start})
			}
			w.report(head, running)
		}
		want := []string{id.String() + ".9999 n[1-2] 2"}
		if got := w.liveSteps(); !slices.Equal(got, want) {
			t.Errorf("of all jobs %q", got)
		}
		if got := w.liveSteps(id, 1); !slices.Equal(got, want) {
			t.Errorf("of the job %q", got)
		}
		if n := len(w.driver.Steps([]federation.JobID{id}, true)); n != 10001 {
			t.Errorf("it has had %d steps so far", n)
		}
		if n := w.store.Commits() - commits; n > 0 || len(w.bookedSteps()) > 0 {
			t.Errorf("%d commits, %d steps in the records", n, len(w.bookedSteps()))
		}
		// The machine is lost: nobody tells how the last step ended.
		w.report(head, agentapi.Status{Run: run, State: agentapi.RunEnded, Why: agentapi.WhyNode})
		w.report(rest, agentapi.Status{Run: run, State: agentapi.RunEnded})
		if got := w.liveSteps(); len(got) > 0 {
			t.Errorf("after the end: %q", got)
		}
		if n := len(w.driver.Steps([]federation.JobID{id}, true)); n != 10001 {
			t.Errorf("%d steps of a job that has just ended", n)
		}
		steps := w.bookedSteps()
		if len(steps) != 10001 || steps[0].ID != "batch" || steps[10000].ID != "9999" || steps[10000].State != "CANCELLED" || steps[10000].End.IsZero() || steps[9999].State != "COMPLETED" {
			t.Errorf("%d steps in the records, the last is %+v", len(steps), steps[len(steps)-1])
		}
		usage, err := w.driver.Measured(context.Background(), []federation.JobRef{{ID: id}})
		if err != nil || len(usage[id]) != 1 || usage[id][0].Steps[1].NumNodes != 2 {
			t.Fatalf("%+v, %v", usage, err)
		}
		tres := map[string]int64{}
		for _, a := range usage[id][0].Allocated {
			tres[a.Type] = a.Count
		}
		if tres["cpu"] != 8 || tres["node"] != 2 || tres["billing"] != 8 {
			t.Errorf("the job had %v", tres)
		}
	})
}

// TestStepsAfterRestart: a daemon that has begun anew says so, and agents tell it all steps once more.
func TestStepsAfterRestart(t *testing.T) {
	byHand(t, func(w *world) {
		w.submit("srun", nil)
		head := w.let()[0]
		o := w.poll(head, agentapi.Poll{})
		w.report(head, agentapi.Status{Run: o.Runs[0].Run, State: agentapi.RunRunning, Start: time.Now(), Steps: []agentapi.Step{{ID: "0", State: "RUNNING", Start: time.Now()}}})
		if got := w.liveSteps(); len(got) != 1 {
			t.Fatalf("%q", got)
		}
		w.stop()
		time.Sleep(time.Second)
		w.ready()
		again := w.poll(head, agentapi.Poll{Version: o.Version, Known: []string{o.Runs[0].Run}})
		if o.Daemon == "" || again.Daemon == o.Daemon {
			t.Errorf("daemon %q, then %q", o.Daemon, again.Daemon)
		}
		w.report(head, agentapi.Status{Run: o.Runs[0].Run, State: agentapi.RunRunning, Steps: []agentapi.Step{{ID: "0", State: "RUNNING", Start: time.Now()}}})
		if got := w.liveSteps(); len(got) != 1 {
			t.Errorf("after it was told once more: %q", got)
		}
	})
}
