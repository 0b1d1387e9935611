package sim

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"fsub/accounting"
	"fsub/federation"
	"fsub/federation/accounts"
	"fsub/federation/quota"
	"fsub/federation/reasons"
	"fsub/testbed/simsite"
)

// liftAfter is when the limits are taken away: what they bear has ended by then.
const liftAfter = 30 * time.Minute

// rules is the tree of this history: two QOS of which one may preempt the other, or an account with limits.
func (w *world) rules() (*accounts.Tree, error) {
	empty, err := accounts.New(nil)
	if err != nil {
		return nil, err
	}
	var edits []accounts.Edit
	if w.cfg.Preempt {
		edits = []accounts.Edit{
			{Op: accounts.Add, Key: accounts.QOSKey("low"), Set: map[string]string{"GraceTime": "2"}},
			{Op: accounts.Add, Key: accounts.QOSKey("high"), Set: map[string]string{"Preempt": "low", "Priority": "100"}},
		}
	}
	if w.cfg.Caps != nil {
		edits = append(edits, accounts.Edit{Op: accounts.Add, Key: accounts.AccountKey("physics"), Set: w.cfg.Caps}, accounts.Edit{Op: accounts.Add, Key: accounts.UserKey("physics", "alice")})
	}
	if edits == nil {
		return nil, nil
	}
	tree, _, err := empty.Apply(edits, accounts.Editor{Operator: true})
	return tree, err
}

// Tree implements what [quota.Book] reads.
func (w *world) Tree() *accounts.Tree { return w.tree }

// book is what a new daemon knows of the limits; nil: there are none.
func (w *world) book(ctx context.Context) (*quota.Book, error) {
	if w.tree == nil {
		return nil, nil
	}
	return quota.Open(ctx, w, 0, w.store, w.clock.Now())
}

// longest is how long a job runs at most.
func (w *world) longest() time.Duration {
	if w.cfg.Caps != nil {
		return time.Minute
	}
	if w.cfg.Moves {
		return 15 * time.Minute
	}
	return 20 * time.Second
}

// awayDue begins and ends outages.
func (w *world) awayDue(now time.Time) {
	if w.nextAway.IsZero() || now.Before(w.nextAway) {
		return
	}
	w.nextAway = w.draw(w.cfg.Away)
	w.report.Outages++
	w.back[federation.SiteName(w.sites[w.rng.IntN(len(w.sites))].Name())] = now.Add(time.Duration(w.rng.IntN(120)) * time.Second)
}

// away reports whether a site does not answer.
func (w *world) away(site federation.SiteName) bool { return w.clock.Now().Before(w.back[site]) }

// gpusOf is how many GPUs a job asked for.
func (w *world) gpusOf(id federation.JobID) (int64, error) {
	if n, known := w.gpus[id]; known {
		return n, nil
	}
	j, err := w.store.Job(context.Background(), id)
	if err != nil {
		return 0, err
	}
	each, _ := strconv.Atoi(j.Spec.GPUsPerNode)
	w.gpus[id] = int64(each * j.Spec.MinNodes)
	return w.gpus[id], nil
}

// checkCaps adds up what has run at the sites' nodes until now, whatever our books say of it, and holds it against the limits.
func (w *world) checkCaps() error {
	if w.lifted {
		return nil
	}
	var jobs, gpus, seconds int64
	var cost federation.Money
	now := w.clock.Now()
	for i, s := range w.sites {
		price := accounting.MoneyOf(w.cfg.Sites[i].Prices["gres/gpu"])
		var err error
		s.EachRun(func(r simsite.Run) bool {
			var held int64
			if held, err = w.gpusOf(federation.JobID(r.JobID)); err != nil {
				return false
			}
			end := r.End
			if end.IsZero() {
				jobs, gpus, end = jobs+1, gpus+held, now
			}
			seconds += int64(end.Sub(r.Start).Seconds()) * held
			cost += federation.Money(held) * price.For(end.Sub(r.Start))
			return true
		})
		if err != nil {
			return err
		}
	}
	var err error
	below := func(what string, is, most float64) {
		w.report.AtLimit = max(w.report.AtLimit, int(100*is/most))
		if is > most {
			err = fmt.Errorf("%s: %f, and the limit is %f", what, is, most)
		}
	}
	r := w.tree.Get(accounts.AccountKey("physics"))
	for _, b := range r.Bounds() {
		most := float64(b.Most)
		switch b.Name {
		case "GrpJobs":
			below("jobs", float64(jobs), most)
		case "GrpTRES":
			below("GPUs", float64(gpus), most)
		case "Budget":
			below("millionths of a dollar", float64(cost), most)
		case "BudgetTRESMins":
			below("GPU seconds", float64(seconds), most)
		}
	}
	return err
}

// lift takes the limits away.
func (w *world) lift(ctx context.Context) error {
	live, err := w.store.Jobs(ctx, federation.JobQuery{Live: true})
	if err != nil {
		return err
	}
	for i := range live {
		switch live[i].Reason {
		case reasons.AccountBudget, "AssocGrpGRESMinutes", "AssocGrpGRES", "AssocGrpJobsLimit":
			w.report.Waited++
		}
	}
	w.lifted, w.cfg.Caps = true, map[string]string{}
	w.tree, err = w.rules()
	return err
}
