package federation

import (
	"time"

	"fsub/accounting"
	"fsub/sbatch"
)

// Spending is what a job that runs has come to, with its runs that have ended, and what it may come to. It is an estimate: the charge is made when the run ends.
type Spending struct {
	SoFar   Money `json:"so_far_usd"`
	AtMost  Money `json:"at_most_usd,omitempty"` // by its time limit; 0: it has none
	PerHour Money `json:"per_hour_usd"`
}

// SpendingOf tells that of a job whose newest attempt is a, at a site with such prices; nil of one that does not run. limit is the time limit of its partition, where the
// job has none of its own.
func SpendingOf(j *Job, a *Attempt, prices accounting.Prices, limit time.Duration, now time.Time) *Spending {
	if a == nil || a.Started.IsZero() || a.State.Final() || !j.State.Started() || j.State.Ended() {
		return nil
	}
	s := &Spending{PerHour: a.Held.PricePerHour}
	held := max(now.Sub(a.Started), 0)
	if s.PerHour == 0 { // suspended time is not billed at a site's own prices
		tres, err := accounting.ParseTRES(a.Held.TRES)
		if err != nil {
			return nil
		}
		s.PerHour = accounting.MoneyOf(accounting.PerHour(prices, tres))
		held -= j.Suspension().Suspended(a.Started, now, j.State == Suspended)
	}
	s.SoFar = j.Cost + s.PerHour.For(held)
	if own := j.Needs().TimeLimit; own != 0 {
		limit = own
	}
	if limit > 0 && limit != sbatch.Unlimited {
		s.AtMost = max(j.Cost+s.PerHour.For(limit), s.SoFar)
	}
	return s
}

// Text is "$0.28 so far, $47.54 at most".
func (s *Spending) Text() string {
	text := s.SoFar.USD() + " so far"
	if s.AtMost > 0 {
		text += ", " + s.AtMost.USD() + " at most"
	}
	return text
}
