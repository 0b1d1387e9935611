package controller

import (
	"log/slog"
	"slices"
	"time"

	"fsub/accounting"
	"fsub/federation"
	"fsub/federation/fairshare"
	"fsub/federation/quota"
)

// charges charges for every run that has ended, once, in the batch that its end is written with. What jobs,
// attempts and tasks cost is the sum of that.
type charges struct {
	now       func() time.Time
	log       *slog.Logger
	sites     *roster
	batch     *pendingBatch
	runs      *runTimes
	fairShare *fairshare.Shares
	book      *quota.Book
}

// run writes what a run has come to, of which k says who held what, and when. s is nil if the site is not
// configured any more: nothing is billed then.
func (ch *charges) run(s *site, j *job, a *federation.Attempt, k federation.Charge) federation.Money {
	k.Job, k.User = j.ID, j.User
	k.Key, k.Attempt, k.Site = a.Key, a.Number, a.Site
	switch {
	case j.Part != nil:
		k.Array, k.Task = j.Part.Array, j.Part.Index
	case j.whole != nil:
		k.Array = j.ID
	}
	if s != nil && s.Seen != nil {
		k.Cluster = s.Seen.Cluster
	}
	ch.price(s, j, a, &k)
	j.Cost += k.Amount
	ch.batch.charge(k)
	ch.lasted(s, j, a, &k)
	if ch.fairShare != nil {
		ch.fairShare.Charge(&k)
	}
	if ch.book != nil {
		ch.book.Charge(&k)
	}
	ch.batch.job(j)
	return k.Amount
}

// price sets what a run is billed: what the site says that it costs by the hour, else its TRES at the site's
// prices. What a job is suspended for costs where its nodes are rented; a cluster counts it as nothing. An amount
// that is set is the site's own word.
func (ch *charges) price(s *site, j *job, a *federation.Attempt, k *federation.Charge) {
	held := elapsed(k.Start, k.End)
	switch {
	case k.From == federation.PriceNone:
		k.PricePerHour, k.Amount = 0, 0
		return
	case k.PricePerHour > 0 || k.Amount > 0:
		k.From = federation.PriceSite
		if len(a.Decision.Offers) > 0 && a.Decision.Offers[0].Offering != "" {
			k.From = federation.PriceOffering
		}
	default:
		tres, err := accounting.ParseTRES(k.TRES)
		if err != nil {
			ch.log.Error("cost of a job", "job", j.ID, "site", s.Name, "err", err)
		}
		k.PricePerHour = accounting.MoneyOf(accounting.PerHour(s.Prices, tres))
		held -= k.Suspended
	}
	if k.Amount == 0 {
		k.Amount = k.PricePerHour.For(held)
	}
}

func elapsed(start, end time.Time) time.Duration {
	if start.IsZero() || end.Before(start) {
		return 0
	}
	return end.Sub(start)
}

// ended charges for an attempt's last run, or for the tasks of an array, when the site has said how it ended. An
// array's tasks hold the same each.
func (ch *charges) ended(s *site, j *job, sj federation.SiteJob) {
	a := j.att
	switch {
	case j.whole != nil:
		ch.tasks(s, j, sj.Held())
	case !sj.Start.IsZero():
		a.Charged++
		a.Cost += ch.run(s, j, a, federation.Charge{Run: a.Charged, Held: sj.Held(), Nodes: sj.Nodes, State: sj.State, Start: sj.Start, End: sj.End,
			Suspended: sj.Suspension.Suspended(sj.Start, sj.End, false), From: federation.PriceTable})
	}
}

// lost writes, before an attempt is over or starts anew, that a run of it was lost: its end was not seen. Tasks
// whose end was are billed.
func (ch *charges) lost(j *job) {
	a := j.att
	s := ch.sites.byName[a.Site]
	switch {
	case a.State != federation.AttemptStarted || a.Started.IsZero():
	case j.whole != nil:
		ch.tasks(s, j, a.Held)
	case len(a.Runs) == 0 || !a.Runs[len(a.Runs)-1].Started.Equal(a.Started):
		a.Charged++
		ch.run(s, j, a, federation.Charge{Run: a.Charged, Held: a.Held, Nodes: a.Nodes, State: federation.NodeFail, Start: a.Started, End: ch.now().UTC()})
	}
}

// component charges for the run of a component, if it has started. It has the number of its leader's.
func (ch *charges) component(s *site, j *job, run int, state federation.State, end time.Time, from federation.PriceSource) {
	if j.Start.IsZero() {
		return
	}
	ch.run(s, j, j.leader.att, federation.Charge{Run: run, Held: j.held, Nodes: j.Nodes, State: state, Start: j.Start, End: end,
		Suspended: j.Suspension().Suspended(j.Start, end, false), From: from})
}

// requeued charges for those runs of an attempt that were not among before, which are charged. All are new to an
// attempt of which nothing is.
func (ch *charges) requeued(s *site, j *job, before []federation.AttemptRun, held federation.Held) {
	a := j.att
	if a.Charged == 0 {
		before = nil
	}
	for i := range a.Runs {
		r := &a.Runs[i]
		if at := slices.IndexFunc(before, func(b federation.AttemptRun) bool { return b.Started.Equal(r.Started) }); at >= 0 {
			r.Cost, before = before[at].Cost, before[at+1:]
			continue
		}
		a.Charged++
		k := federation.Charge{Run: a.Charged, Held: held, Nodes: r.Nodes, State: r.State, Start: r.Started, End: r.Ended,
			Suspended: r.Suspension.Suspended(r.Started, r.Ended, false), From: federation.PriceTable, Amount: r.Cost}
		r.Cost = ch.run(s, j, a, k)
		a.Cost += r.Cost
	}
}
