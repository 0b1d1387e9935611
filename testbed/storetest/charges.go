package storetest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	book "fsub/accounting/ledger"
	"fsub/federation"
	"fsub/federation/journal"
)

func testChargeFields(e *env) {
	s := e.open()
	j := e.create(s, "alice", "train")
	k := filled[federation.Charge](1)
	k.Job = j.ID
	e.must(s.Commit(ctx, &journal.Batch{Charges: []federation.Charge{k}}))
	e.sameCharges(s, federation.ChargeQuery{}, k)
	e.must(s.Close())
	s = e.open()
	e.sameCharges(s, federation.ChargeQuery{}, k)
}

// The same run is charged once, however often it is written, and what was written first stays.
func testChargeOnce(e *env) {
	s := e.open()
	j := e.create(s, "alice", "train")
	k := federation.Charge{Job: j.ID, Key: "fsub:x:1", Attempt: 1, Run: 1, Amount: 5, End: time.Unix(100, 0).UTC()}
	e.must(s.Commit(ctx, &journal.Batch{Charges: []federation.Charge{k, k}}))
	later := k
	later.Amount, later.Attempt, later.End, later.Site = 7, 2, time.Unix(200, 0).UTC(), "alpha"
	j.Priority = 99
	e.must(s.Commit(ctx, &journal.Batch{Jobs: []*federation.Job{j}, Charges: []federation.Charge{later}}))
	e.sameCharges(s, federation.ChargeQuery{}, k)
	if got, err := s.Job(ctx, j.ID); err != nil || got.Priority != 99 {
		e.Errorf("what was written with a charge that is there: %v, %v", got.Priority, err)
	}
	// Each of these is another run.
	task, run, attempt, other := k, k, k, k
	task.Task, run.Run, attempt.Key, other.Job = 3, 2, "fsub:x:2", k.Job+1
	e.must(s.Commit(ctx, &journal.Batch{Charges: []federation.Charge{task, run, attempt, other}}))
	if all, err := s.Charges(ctx, federation.ChargeQuery{}); err != nil || len(all) != 5 {
		e.Errorf("%d charges, %v; want 5", len(all), err)
	}
}

// A charge is written with the rest of its batch, or not at all.
func testChargeWhole(e *env) {
	s := e.open()
	b := &journal.Batch{Jobs: []*federation.Job{{ID: 40_000_000}}, Charges: []federation.Charge{{Job: 40_000_000, Key: "k", Run: 1}}}
	e.wants(s.Commit(ctx, b), federation.ErrNotFound)
	e.sameCharges(s, federation.ChargeQuery{})
}

func testChargeQuery(e *env) {
	s := e.open()
	var all []federation.Charge
	for i := range 8 {
		k := federation.Charge{Job: federation.JobID(1 + i/2), Key: fmt.Sprint("k", i/2), Attempt: 1, Run: 1 + i%2, Site: "alpha", User: "alice", End: time.Unix(int64(100+100*i), 0).UTC()}
		k.Account = "physics"
		switch i {
		case 2, 3:
			k.Site = "beta"
		case 4:
			k.User, k.Account = "bob", "chemistry"
		case 6, 7:
			k.Array, k.Task = 2, i
		}
		all = append(all, k)
	}
	e.must(s.Commit(ctx, &journal.Batch{Charges: []federation.Charge{all[7], all[6], all[5], all[4], all[3], all[2], all[1], all[0]}}))
	for _, c := range []struct {
		q    federation.ChargeQuery
		want []federation.Charge
	}{
		{federation.ChargeQuery{}, all},
		{federation.ChargeQuery{Limit: 3}, all[:3]},
		{federation.ChargeQuery{Since: all[2].End, Until: all[4].End}, all[2:4]},
		{federation.ChargeQuery{Site: "beta"}, all[2:4]},
		{federation.ChargeQuery{User: "bob"}, all[4:5]},
		{federation.ChargeQuery{Account: "chemistry"}, all[4:5]},
		{federation.ChargeQuery{Job: 1}, all[:2]},
		{federation.ChargeQuery{Job: 2}, []federation.Charge{all[2], all[3], all[6], all[7]}},
		{federation.ChargeQuery{Job: 2, Site: "alpha", Since: all[7].End}, all[7:]},
		{federation.ChargeQuery{Job: 9}, nil},
	} {
		e.sameCharges(s, c.q, c.want...)
	}
}

// Books outlive what they are about: a job's ID may be given again.
func testChargePurge(e *env) {
	s := e.open()
	j := e.create(s, "alice", "")
	end(e, s, j.ID)
	k := federation.Charge{Job: j.ID, Key: "k", Run: 1, End: longAgo}
	e.must(s.Commit(ctx, &journal.Batch{Charges: []federation.Charge{k}}))
	purge(e, s, 1)
	e.sameCharges(s, federation.ChargeQuery{}, k)
}

func (e *env) sameCharges(s Store, q federation.ChargeQuery, want ...federation.Charge) {
	e.Helper()
	got, err := s.Charges(ctx, q)
	e.must(err)
	e.same(fmt.Sprintf("charges of %+v", q), got, want)
}

// testChargeSums: sums are those of the charges, whatever the steps; runs whose end was not seen are left out, and a long one is not added to short ones, of which more counts still.
func testChargeSums(e *env) {
	s := e.open()
	const long = 30 * time.Hour
	at := time.Unix(1_000_000, 0).UTC()
	var b journal.Batch
	var want time.Duration
	var money federation.Money
	for i := range 20 {
		end := at.Add(time.Duration(i) * 7 * time.Minute)
		k := federation.Charge{Job: federation.JobID(1 + i), Key: fmt.Sprint("k", i), Run: 1, User: "alice", Held: federation.Held{Account: "physics", TRES: "cpu=2"},
			Start: end.Add(-time.Minute), End: end, From: federation.PriceTable, Amount: federation.Money(i)}
		if i == 18 {
			k.Start = end.Add(-long)
		}
		if i%5 == 0 {
			k.From = federation.PriceNone
		} else if i >= 3 {
			want, money = want+k.End.Sub(k.Start), money+federation.Money(i)
		}
		b.Charges = append(b.Charges, k)
	}
	e.must(s.Commit(ctx, &b))
	for _, step := range []time.Duration{time.Minute, time.Hour} {
		all, err := s.ChargeSums(ctx, at.Add(20*time.Minute), step)
		e.must(err)
		var got time.Duration
		var amount federation.Money
		runs := 0
		for _, k := range all {
			if k.User != "alice" || k.Account != "physics" || k.TRES != "cpu=2" || k.End.Before(at) || k.End.After(at.Add(4*time.Hour)) {
				e.Errorf("sum %+v", k)
			}
			if each := k.Elapsed / time.Duration(k.Runs); each != time.Minute && each != long {
				e.Errorf("in steps of %v: %d runs of %v in all are one sum", step, k.Runs, k.Elapsed)
			}
			got, amount, runs = got+k.Elapsed, amount+k.Amount, runs+k.Runs
		}
		if got != want || amount != money || time.Duration(runs-1)*time.Minute+long != want || step == time.Hour && len(all) > 5 {
			e.Errorf("in steps of %v: %v and %v of %d runs in %d sums, want %v and %v", step, got, amount, runs, len(all), want, money)
		}
	}
}

// testDirectSums: of the ledger only jobs that were submitted at the site itself are summed up, to the end of the time that is asked for.
func testDirectSums(e *env) {
	b := e.books(e.dir)
	all := someRuns(rand.New(rand.NewPCG(7, 7)), 2000)
	_, err := b.Book(ctx, all, nil)
	e.must(err)
	from, until := time.Unix(1.7e9+20*secondsOfDay, 0), time.Unix(1.7e9+60*secondsOfDay, 0)
	steps := []time.Duration{time.Minute, 24 * time.Hour}
	want, runs, likes := map[string]time.Duration{}, 0, map[time.Duration]map[string]bool{steps[0]: {}, steps[1]: {}}
	e.must(b.BookedRuns(ctx, "elbe", 0, math.MaxInt64, func(x *book.Entry) error {
		if x.Kind == book.SiteJob && x.End >= from.Unix() && x.End < until.Unix() {
			who, lasted := x.Group.User+" "+x.Group.Account+" "+x.Group.QOS+" "+x.TRES, x.Elapsed()-x.Suspended
			want[who] += time.Duration(lasted) * time.Second
			for _, step := range steps {
				likes[step][fmt.Sprint(who, x.End/int64(step/time.Second), " ", lasted/int64(step/time.Second))] = true
			}
			runs++
		}
		return nil
	}))
	for _, step := range steps {
		found, err := b.DirectSums(ctx, "elbe", from, until, step)
		e.must(err)
		got, n := map[string]time.Duration{}, 0
		for _, k := range found {
			got[k.User+" "+k.Account+" "+k.QOS+" "+k.TRES] += k.Elapsed
			n += k.Runs
			if k.End.Before(from.Add(-step)) || k.End.After(until.Add(step)) {
				e.Errorf("sum %+v", k)
			}
		}
		e.same(fmt.Sprintf("in steps of %v", step), got, want)
		e.same(fmt.Sprintf("runs in steps of %v", step), n, runs)
		e.same(fmt.Sprintf("sums in steps of %v", step), len(found), len(likes[step]))
	}
}
