package sim

import (
	"context"
	"fmt"

	"fsub/federation"
)

// checkCharges compares what jobs cost with their charges, and those with what has run: each run that was seen to end is charged once.
func (w *world) checkCharges(ctx context.Context) error {
	jobs, err := w.store.Jobs(ctx, federation.JobQuery{})
	if err != nil {
		return err
	}
	for i := range jobs {
		j := &jobs[i]
		all, err := w.store.Charges(ctx, federation.ChargeQuery{Job: j.ID})
		if err != nil {
			return err
		}
		sum, runs, seen := federation.Money(0), map[string]int{}, 0
		for _, k := range all {
			sum += k.Amount
			if k.Job == j.ID {
				runs[k.Key]++
				w.report.Charges++
			}
			if k.From != federation.PriceNone {
				seen++
			}
			if k.User != j.User || k.End.Before(k.Start) || k.From != federation.PriceNone && (k.TRES == "" || k.Start.IsZero()) {
				return w.wrong(ctx, j, fmt.Sprintf("has a charge that cannot be: %+v", k))
			}
		}
		if sum != j.Cost {
			return w.wrong(ctx, j, fmt.Sprintf("cost $%s, and its charges come to $%s: %+v", j.Cost, sum, all))
		}
		if j.Whole == nil {
			if err := w.checkChargesOf(ctx, j, runs, seen); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *world) checkChargesOf(ctx context.Context, j *federation.Job, charged map[string]int, seen int) error {
	attempts, err := w.store.Attempts(ctx, j.ID)
	if err != nil {
		return err
	}
	for _, a := range attempts {
		if a.Charged != charged[a.Key] || !a.Started.IsZero() && a.Charged == 0 {
			return w.wrong(ctx, j, fmt.Sprintf("has %d charges of attempt %d, which has started at %v and counts %d", charged[a.Key], a.Number, a.Started, a.Charged))
		}
	}
	ran := 0
	for _, s := range w.sites {
		ran += len(w.runsOf(s, j))
	}
	if w.report.Kills == 0 && seen != ran {
		return w.wrong(ctx, j, fmt.Sprintf("ran %d times and is charged for %d", ran, seen))
	}
	return nil
}
