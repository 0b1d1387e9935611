package controller

import (
	"log/slog"
	"slices"
	"time"

	"fsub/accounting"
	"fsub/accounting/egress"
	"fsub/federation"
	"fsub/federation/fairshare"
	"fsub/federation/lifecycle"
	"fsub/federation/place"
	"fsub/federation/quota"
	"fsub/slurm/hostlist"
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
	through   egress.Store // by which results come home
}

// run writes the cost of a run, of which k says who held what, and when. s is nil if the site is not
// configured any more: nothing is billed then.
func (ch *charges) run(s *site, j *job, a *federation.Attempt, k federation.Charge) federation.Money {
	ch.name(s, j, a, &k)
	ch.price(s, j, a, &k)
	ch.lasted(s, j, a, &k)
	return ch.write(j, k)
}

// name says whose run a charge is for.
func (ch *charges) name(s *site, j *job, a *federation.Attempt, k *federation.Charge) {
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
}

// write writes a charge.
func (ch *charges) write(j *job, k federation.Charge) federation.Money {
	j.Cost += k.Amount
	ch.batch.charge(k)
	if ch.fairShare != nil {
		ch.fairShare.Charge(&k)
	}
	if ch.book != nil {
		ch.book.Charge(&k)
	}
	ch.batch.job(j)
	return k.Amount
}

// moved charges for the results of a run that has just ended, which are here: what the clouds ask that they have left. Before the run itself is charged.
func (ch *charges) moved(s *site, j *job, sj *federation.SiteJob, bytes int64) {
	a := j.att
	m, ok := egress.Home(place.DataAt(&s.Site, zoneOf(s, sj.Nodes)), ch.through, bytes)
	amount := accounting.MoneyOf(m.Dollars)
	if !ok || m.Assumed || amount == 0 { // what is assumed is not billed
		return
	}
	held := sj.Held()
	held.TRES, held.PricePerHour = "", 0
	now := ch.now().UTC()
	k := federation.Charge{Run: -(a.Charged + 1), Held: held, Nodes: sj.Nodes, State: sj.State, Start: now, End: now, From: lifecycle.PriceMoved, Amount: amount}
	ch.name(s, j, a, &k)
	a.Cost += ch.write(j, k)
	ch.batch.eventf(j, "its results cost %s: %s", amount.USD(), m.Detail)
}

// zoneOf is where rented nodes are; "": they are not rented, or it is not known.
func zoneOf(s *site, nodes string) string {
	names, err := hostlist.Expand(nodes)
	if err != nil || len(names) == 0 || s.Seen == nil {
		return ""
	}
	if n := s.Seen.Node(names[0]); n != nil && n.Rented != nil {
		return n.Rented.Zone
	}
	return ""
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
			Suspended: sj.Suspension.Suspended(sj.Start, sj.End, false), From: federation.PriceTable, Amount: sj.Cost})
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
