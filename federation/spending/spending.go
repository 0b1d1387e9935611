// Package spending is what a job that runs has come to so far, and may come to. Answers of the API have it as it is.
package spending

import (
	"cmp"
	"slices"
	"time"

	"fsub/accounting"
	"fsub/federation"
	"fsub/sbatch"
)

// Spending is what a job that runs has come to, with its runs that have ended, and what it may come to. It is an estimate: the charge is made when the run ends.
type Spending struct {
	SoFar   federation.Money `json:"so_far_usd"`
	AtMost  federation.Money `json:"at_most_usd,omitempty"` // by its time limit; 0: it has none
	PerHour federation.Money `json:"per_hour_usd"`
}

// Of is that of a job whose newest attempt, at site s, is a; nil of one that does not run.
func Of(s *federation.Site, j *federation.Job, a *federation.Attempt, now time.Time) *Spending {
	if a == nil || a.Started.IsZero() || a.State.Final() || !j.State.Started() || j.State.Ended() {
		return nil
	}
	is := &Spending{PerHour: a.Held.PricePerHour}
	held := max(now.Sub(a.Started), 0)
	if is.PerHour == 0 { // suspended time is not billed at a site's own prices
		tres, err := accounting.ParseTRES(a.Held.TRES)
		if err != nil {
			return nil
		}
		is.PerHour = accounting.MoneyOf(accounting.PerHour(s.Prices, tres))
		held -= j.Suspension().Suspended(a.Started, now, j.State == federation.Suspended)
	}
	is.SoFar = j.Cost + is.PerHour.For(held)
	limit := j.Needs().TimeLimit
	if limit == 0 {
		limit = usualLimit(s, j.Partition)
	}
	if limit > 0 && limit != sbatch.Unlimited {
		is.AtMost = max(j.Cost+is.PerHour.For(limit), is.SoFar)
	}
	return is
}

// usualLimit is the time limit of jobs in a partition that have none of their own; 0: there is none, or it is not known.
func usualLimit(s *federation.Site, partition string) time.Duration {
	if s.Seen == nil {
		return 0
	}
	i := slices.IndexFunc(s.Seen.Partitions, func(p federation.Partition) bool { return p.Name == partition })
	if i < 0 {
		return 0
	}
	return cmp.Or(s.Seen.Partitions[i].DefaultTime, s.Seen.Partitions[i].MaxTime)
}

// Spendings are what jobs that run have come to.
type Spendings map[federation.JobID]*Spending

// Text is "$0.28 so far, $47.54 at most".
func (s *Spending) Text() string {
	text := s.SoFar.USD() + " so far"
	if s.AtMost > 0 {
		text += ", " + s.AtMost.USD() + " at most"
	}
	return text
}

// Run is a run that goes on, as it would be charged if it ended now, with what the books want to know of its job.
type Run struct {
	federation.Charge
	Spec   *sbatch.Spec
	Submit time.Time
}
