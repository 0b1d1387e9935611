package controller

import (
	"log/slog"
	"slices"
	"time"

	"fsub/accounting"
	"fsub/federation"
	"fsub/federation/fairshare"
	"fsub/federation/lifecycle"
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

// run writes the cost of a run, of which k says who held what, and when. s is nil if the site is not
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

// price sets what a run is billed.
func (ch *charges) price(s *site, j *job, a *federation.Attempt, k *federation.Charge) {
	var prices accounting.Prices
	if s != nil {
		prices = s.Prices
	}
	var err error
	if k.PricePerHour, k.Amount, k.From, err = lifecycle.Price(*k, prices, a); err != nil {
		ch.log.Error("cost of a job", "job", j.ID, "site", a.Site, "err", err)
	}
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

// lost writes, before an attempt is over or starts again, that a run of it was lost: its end was not seen. Tasks
// whose end was are billed.
func (ch *charges) lost(j *job) {
	a := j.att
	s := ch.sites.byName[a.Site]
	switch {
	case a.State != federation.AttemptStarted || a.Started.IsZero() || j.pack != nil:
	case j.whole != nil:
		ch.tasks(s, j, a.Held)
	case !lifecycle.RequeueCounted(a):
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
