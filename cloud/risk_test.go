package cloud

import (
	"log/slog"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"fsub/cloud/provider"
	"fsub/cloud/records"
)

// TestRiskConverges: from machines that are taken at a rate that is not the configured one that rate is learnt, though most of them end before they are taken; without a
// machine the configured rate is what there is, and one that is never taken back makes it less.
func TestRiskConverges(t *testing.T) {
	for _, c := range []struct{ configured, truth float64 }{{0.05, 0.05}, {0.05, 0.6}, {0.05, 0.004}, {2, 0.1}} {
		rng := rand.New(rand.NewPCG(7, uint64(c.truth*1000)))
		now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
		b := &base{cfg: Config{Now: func() time.Time { return now }}, rec: records.New(records.Config{}), log: slog.New(slog.DiscardHandler)}
		ps := &pools{}
		f := &fleet{base: b, pools: ps, cool: newCooldowns(b, ps)}
		p := newPool(f, PoolConfig{Name: "main"})
		ps.all = []*pool{p}
		ng := p.groupOf(&provider.Offering{ID: "x/a/spot", Market: provider.Spot, Interrupts: c.configured})
		if got := ng.riskOf(); got.PerHour != c.configured || got.Taken != 0 || got.Hours != 0 {
			t.Errorf("%+v: nothing was seen, and the risk is %+v", c, got)
		}
		taken := 0
		for range 4000 {
			m := &machine{gang: &gang{}, group: ng}
			m.gang.Offering, m.Created = ng.offering, now
			until, isTaken := rng.ExpFloat64()/c.truth, false
			if kept := 4 * rng.Float64(); until > kept {
				until = kept // it had nothing to do any more
			} else {
				isTaken, taken = true, taken+1
			}
			m.Ended = now.Add(time.Duration(until * float64(time.Hour)))
			now = m.Ended // eight thousand hours at most: nearly a year
			f.cool.machineEnded(m, isTaken)
		}
		got := ng.riskOf()
		if math.Abs(got.PerHour-c.truth) > c.truth*0.25 {
			t.Errorf("%+v: %+v after %d takings, want %v", c, got, taken, c.truth)
		}
		alive := &machine{gang: &gang{}, group: ng}
		alive.Created, alive.State = now, machineUp
		ng.machines = append(ng.machines, alive)
		now = now.Add(1000 * time.Hour)
		if later := ng.riskOf(); later.PerHour >= got.PerHour {
			t.Errorf("%+v: after 1000 h without a taking the risk is %v, before it was %v", c, later.PerHour, got.PerHour)
		}
	}
}
