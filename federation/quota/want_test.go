package quota

import (
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/accounts"
	"fsub/federation/decision"
	"fsub/sbatch"
)

// What a job without a time limit has cost so far is a part of what is reserved for it: of the time for which that was worked out.
func TestCostOfAJobWithoutLimit(t *testing.T) {
	b := New(tree(t, add(accounts.AccountKey("physics"), "Budget", "1000/month"), add(accounts.UserKey("physics", "alice"))), 0)
	j := &federation.Job{ID: 7, User: "alice"}
	j.SetSpec(sbatch.Spec{Account: "physics", TimeLimit: sbatch.Unlimited})
	o := &decision.Offer{Site: "x", Nodes: 1, Run: 10 * time.Hour, PerHour: federation.Dollar}
	w := WantOf(j, o, nil, .5)
	if w.Cost != 10*federation.Dollar {
		t.Fatalf("it may cost %s", w.Cost.USD())
	}
	b.Take(7, w)
	for after, want := range map[time.Duration]float64{5 * time.Hour: 5, 20 * time.Hour: 10} {
		b.Levels(start, map[federation.JobID]time.Time{7: start.Add(-after)})
		if all := b.Standings(); len(all) != 1 || all[0].Running != want {
			t.Errorf("after %s it has cost: %+v, want %v", after, all, want)
		}
	}
	w.Since = start.Add(-5 * time.Hour)
	one := New(b.books, 0)
	one.Take(7, w)
	trial := one.Trial(start, nil, .5, nil)
	trial.End(start, 7)
	if spent := sumSince(trial.book.days[accounts.AccountKey("physics")], dayOf(start)).cost; spent != 5*federation.Dollar {
		t.Errorf("it has cost %s in the end", spent.USD())
	}
}
