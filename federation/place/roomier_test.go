package place

import (
	"testing"
	"time"

	"fsub/accounting"
	"fsub/federation"
	"fsub/federation/decision"
)

// Of sites that others use too and that cost the same, a job starts where most is free, whatever the seed. At sites of ours alone the seed decides, so that holes stay large.
func TestStartsWhereMostIsFree(t *testing.T) {
	for _, shared := range []bool{true, false} {
		went := map[federation.SiteName]int{}
		for seed := range uint64(20) {
			w := newCrowd(3, 2)
			for i, s := range w.sites {
				s.Prices = accounting.Prices{"gres/gpu:h100": 2}
				if shared {
					s.Outlook = &told{Foreseen: decision.Foreseen{P50: time.Hour, P90: 2 * time.Hour}}
				}
				w.run(i, federation.JobID(i+1), "", []int{6, 2, 4}[i], time.Hour, 0)
			}
			s := w.snapshot(highJob(1000, 1, 1, "low"))
			s.Seed = seed
			d := Plan(s, Policy{}).Decisions[0]
			if !d.Bind {
				t.Fatalf("seed %d: it waits: %s", seed, d.Reason)
			}
			went[d.Offers[0].Site]++
		}
		if shared && went["s01"] != 20 || !shared && len(went) < 2 {
			t.Errorf("others use the sites too: %v; it went to %v", shared, went)
		}
	}
}
