package golden

import (
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/usage"
)

// putUsage stores what the recorded site had measured of jobs: 1 and 4 ran an srun beside their batch scripts. Of the other jobs
// the federation knows no more than that they ran.
func (w *world) putUsage(t *testing.T) {
	us := time.Microsecond
	step := func(id, name string, state federation.State, start, end time.Time, total time.Duration) usage.Step {
		s := usage.Step{ID: id, Name: name, State: state, Nodes: "chk1", NumNodes: 1, NumTasks: 1, Start: start, End: end, Total: total,
			Allocated: []usage.Amount{{Type: "cpu", Count: 1}, {Type: "mem", Count: 100}, {Type: "node", Count: 1}}}
		if !end.IsZero() {
			s.Elapsed = end.Sub(start)
		}
		s.In.Average, s.In.Total = []usage.Amount{{Type: "energy"}}, []usage.Amount{{Type: "energy"}}
		s.Out = s.In
		return s
	}
	batch := func(state federation.State, end time.Time, total time.Duration) usage.Step {
		s := step("batch", "batch", state, w.began, end, total)
		none := int64(0)
		s.Layout, s.Governor, s.MinFreq, s.MaxFreq = "Unknown", "0", &none, &none
		return s
	}
	srun := func(at time.Time, total time.Duration) usage.Step {
		s := step("0", "true", federation.Completed, at, at, total)
		s.Layout, s.Governor = "Cyclic", "Unknown"
		return s
	}
	second := w.began.Add(time.Second)
	running := batch(federation.Running, time.Time{}, 0)
	running.Elapsed = time.Since(w.began)
	flags := []string{"STARTED_ON_BACKFILL", "START_RECEIVED"}
	running.In, running.Out = usage.Measured{}, usage.Measured{}
	one := usage.Usage{Index: -1, Flags: flags, User: 2088 * us, Total: 2088 * us, Steps: []usage.Step{running, srun(second, 2088*us)}}
	one.Steps[1].User = 2088 * us
	four := usage.Usage{Index: -1, Flags: flags, User: 10605 * us, System: 5234 * us, Total: 15839 * us,
		Steps: []usage.Step{batch(federation.Completed, second, 13406*us), srun(second, 2433*us)}}
	four.Steps[0].User, four.Steps[0].System, four.Steps[1].User = 8172*us, 5234*us, 2433*us
	for id, u := range map[federation.JobID]usage.Usage{1: one, 4: four} {
		if err := w.daemon.Usage.PutUsage(t.Context(), id, []usage.Usage{u}); err != nil {
			t.Fatal(err)
		}
	}
}
