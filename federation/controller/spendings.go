package controller

import (
	"context"

	"fsub/federation/spending"
)

// Spendings returns what the jobs that run have come to, by their IDs and by the numbers that Slurm's commands call them by. It may be some seconds old; else it waits for the round under way.
func (v *View) Spendings(ctx context.Context) (spending.Spendings, error) {
	return v.spendings.ask(ctx, v)
}

func (fc *forecasts) spendings() spending.Spendings {
	all, now := spending.Spendings{}, fc.now().UTC()
	for _, s := range fc.sites.all {
		for id, j := range s.jobs {
			if is := spending.Of(&s.Site, &j.Job, j.att, now); is != nil {
				all[id], all[j.Number()] = is, is
			}
		}
	}
	return all
}
