package cloud

import (
	"testing"
	"time"

	"fsub/cloud/provider"
	"fsub/cloud/records"
)

// TestAvailability: what was refused lately lowers the chance, what was had raises it, and both are forgotten.
func TestAvailability(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	cs := newCooldowns(&base{cfg: Config{Now: func() time.Time { return now }}, rec: records.New(records.Config{})}, new(pools))
	o := &provider.Offering{ID: "x/a/spot"}
	dry := &provider.Error{Kind: provider.KindStockOut}
	is := func(want float64) {
		t.Helper()
		if got := cs.chance(o); got != want {
			t.Errorf("chance %v, want %v", got, want)
		}
	}
	is(0)
	cs.learn(o, nil)
	is(1)
	for range 3 {
		cs.learn(o, dry)
	}
	is(0.5) // 3 of 6, two of which are assumed
	cs.learn(o, &provider.Error{Kind: provider.KindThrottled})
	is(0.5)
	now = now.Add(availabilityHalf)
	is(0.7) // 2.5 of 4
	now = now.Add(24 * time.Hour)
	is(1)
	for range 100 {
		cs.learn(o, dry)
	}
	is(0.1)
}
