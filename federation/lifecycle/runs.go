package lifecycle

import (
	"slices"
	"time"

	"fsub/accounting"
	"fsub/federation"
)

// Runs are the runs of an attempt that its site has ended to queue the job again, with those that a report tells of: by the site's own word, or as the last one was
// seen to run. Of arrays that were handed over whole nothing is noted.
func Runs(a *federation.Attempt, sj *federation.SiteJob, now time.Time) []federation.AttemptRun {
	switch {
	case len(sj.Earlier) >= max(len(a.Runs), 1):
		return slices.Clone(sj.Earlier)
	case sj.Restarts > a.Restarts && !a.Started.IsZero() && len(sj.Tasks) == 0 && sj.PendingTasks == "" && !RequeueCounted(a):
		run := federation.AttemptRun{State: federation.Requeued, Started: a.Started, Ended: RequeuedAt(sj, a.Started, now), Nodes: a.Nodes}
		return append(slices.Clip(a.Runs), run)
	}
	return a.Runs
}

// RequeuedAt is when a run ended that a site has ended to queue the job again. A cluster sets the time of submission anew when it requeues a job.
func RequeuedAt(sj *federation.SiteJob, started, now time.Time) time.Time {
	if sj.Submit.After(started) && sj.Submit.Before(now) {
		return sj.Submit
	}
	return now.UTC()
}

// Price is what a run is billed, and where that comes from: what the site says that it costs by the hour, else its TRES at the site's prices. A charge whose From
// is PriceNone is not billed; an amount that is set is the site's own word. What a job is suspended for costs where its nodes are rented; a cluster counts it as
// nothing. Its error says that the TRES cannot be read.
func Price(k federation.Charge, prices accounting.Prices, a *federation.Attempt) (perHour, amount federation.Money, from federation.PriceSource, err error) {
	held := Elapsed(k.Start, k.End)
	perHour, amount, from = k.PricePerHour, k.Amount, k.From
	switch {
	case from == federation.PriceNone:
		return 0, 0, from, nil
	case perHour > 0 || amount > 0:
		from = federation.PriceSite
		if len(a.Decision.Offers) > 0 && a.Decision.Offers[0].Offering != "" {
			from = federation.PriceOffering
		}
	default:
		var tres accounting.TRES
		tres, err = accounting.ParseTRES(k.TRES)
		perHour = accounting.MoneyOf(accounting.PerHour(prices, tres))
		held -= k.Suspended
	}
	if amount == 0 {
		amount = perHour.For(held)
	}
	return perHour, amount, from, err
}

// PriceMoved is the [federation.Charge.From] of what brought a run's results home from a cloud. Such a charge has the run's number with the sign changed, and takes no time.
const PriceMoved federation.PriceSource = "moved"

// Elapsed is how long a run lasted; 0: it did not start.
func Elapsed(start, end time.Time) time.Duration {
	if start.IsZero() || end.Before(start) {
		return 0
	}
	return end.Sub(start)
}
