package controller

import (
	"testing"
	"time"

	"fsub/federation"
	"fsub/sbatch"
)

// A job that runs has come to what it holds by its site's prices, and is told under the number that Slurm's commands have for it, too; one that waits or has ended to nothing.
func TestSpendings(t *testing.T) {
	b := newBench(t)
	id, waits := b.submit(func(s *sbatch.Spec) { s.TimeLimit = 2 * time.Hour }), b.submit(nil)
	b.wait(2 * time.Second)
	b.cheap.start(id)
	b.wait(2 * time.Second)
	b.clock = b.clock.Add(30 * time.Minute)
	j := b.ctl.jobs.Of(id)
	j.Part = &federation.ArrayPart{Array: 7, Last: true}
	all := b.ctl.forecasts.spendings()
	is := all[id]
	if is == nil || is.PerHour != 2*federation.Dollar || is.SoFar < federation.Dollar || is.SoFar > 1.01*federation.Dollar || is.AtMost != 4*federation.Dollar {
		t.Fatalf("it has come to %+v", is)
	}
	if all[7] != is || all[waits] != nil || len(all) != 2 {
		t.Errorf("told: %v", all)
	}
	j.Part = nil
	b.cheap.end(id, federation.Completed)
	b.wait(2 * time.Second)
	if all := b.ctl.forecasts.spendings(); all[id] != nil {
		t.Errorf("it has ended: %+v", all[id])
	}
}
