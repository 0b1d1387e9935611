package controller

import (
	"context"
	"time"

	"fsub/federation"
	"fsub/federation/lifecycle"
	"fsub/federation/spending"
)

// Running returns what the runs that go on would be charged if they ended now. It waits for the round under way.
func (v *View) Running(ctx context.Context) ([]spending.Run, error) {
	to := make(chan []spending.Run, 1)
	if err := v.afterRound(ctx, func(now *forecasts) { to <- now.running() }); err != nil {
		return nil, err
	}
	return <-to, nil
}

func (fc *forecasts) running() (all []spending.Run) {
	now := fc.now().UTC()
	for _, s := range fc.sites.all {
		for _, j := range s.jobs {
			a := j.att
			if a == nil || a.State != federation.AttemptStarted {
				continue
			}
			add := func(of *job, k federation.Charge) {
				k.Job, k.User, k.Key, k.Attempt, k.Site, k.From = of.ID, of.User, a.Key, a.Number, a.Site, federation.PriceTable
				if k.Run = a.Charged + 1; k.End.IsZero() {
					k.End = now
				}
				switch {
				case of.Part != nil:
					k.Array, k.Task = of.Part.Array, of.Part.Index
				case of.whole != nil:
					k.Array = of.ID
				}
				k.PricePerHour, k.Amount, k.From, _ = lifecycle.Price(k, s.Prices, a) // what cannot be read has no price here, and is told of when it ends
				all = append(all, spending.Run{Charge: k, Spec: of.Spec, Submit: of.Submit})
			}
			switch {
			case j.whole != nil: // tasks that have ended are charged when all have
				for _, i := range j.whole {
					if t := j.tasks[i]; t != nil && !t.Start.IsZero() {
						k := federation.Charge{Task: t.Index, Held: a.Held, Nodes: t.Nodes, State: t.State, Start: t.Start}
						if t.State.Ended() {
							k.End = t.End
						}
						add(j, k)
					}
				}
			case !a.Started.IsZero() && !lifecycle.RequeueCounted(a):
				add(j, federation.Charge{Held: a.Held, Nodes: a.Nodes, State: j.State, Start: a.Started, Suspended: suspended(&j.Job, a.Started, now)})
			}
			for _, o := range j.others {
				if !o.State.Ended() && !o.Start.IsZero() {
					add(o, federation.Charge{Held: o.held, Nodes: o.Nodes, State: o.State, Start: o.Start, Suspended: suspended(&o.Job, o.Start, now)})
				}
			}
		}
	}
	return all
}

func suspended(j *federation.Job, since, now time.Time) time.Duration {
	return j.Suspension().Suspended(since, now, j.State == federation.Suspended)
}
