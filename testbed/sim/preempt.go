package sim

import (
	"context"
	"fmt"

	"fsub/federation"
	"fsub/sbatch"
)

// rank gives a job its QOS: of ten, one gang is to take the place of others.
func (w *world) rank(s *sbatch.Spec) {
	if !w.cfg.Preempt {
		return
	}
	s.QOS = "low"
	if w.rng.IntN(10) == 0 {
		s.QOS, s.GPUsPerNode, s.MinNodes, s.MaxNodes = "high", "8", 2, 2
	}
}

// checkPreemption goes through what was decided: of lower QOS only, each run of a job for one other job at a time. What had to make room counts as asked.
func (w *world) checkPreemption(ctx context.Context) error {
	if !w.cfg.Preempt {
		return nil
	}
	type run struct {
		job      federation.JobID
		restarts int
	}
	taken := map[run]federation.Attempt{}
	after := func(a, b *federation.Attempt) bool { // b was decided when a waited no more
		end := a.Ended
		if !a.Started.IsZero() {
			end = a.Started
		}
		return !end.After(b.Created)
	}
	for _, id := range w.acked {
		attempts, err := w.store.Attempts(ctx, id)
		if err != nil {
			return err
		}
		for _, a := range attempts {
			if a.Decision.Preempt == nil {
				continue
			}
			w.report.Seized++
			for _, v := range a.Decision.Preempt.Victims {
				victim, err := w.store.Job(ctx, v.Job)
				if err != nil {
					return err
				}
				r := run{v.Job, v.Restarts}
				if other, twice := taken[r]; twice && !after(&other, &a) && !after(&a, &other) || victim.Spec.QOS != "low" {
					return fmt.Errorf("job %d of QOS %s makes room for %d, and for %d", v.Job, victim.Spec.QOS, id, other.Job)
				}
				taken[r] = a
				w.asked[v.Job]++
			}
		}
	}
	return nil
}
