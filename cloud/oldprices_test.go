package cloud_test

import (
	"context"
	"testing"
	"time"

	"fsub/cloud/prices"
	"fsub/cloud/provider"
)

// TestOldPrices: a look at a site says which prices are older than the site allows, and from when the oldest is; so does each of the nodes that have such a price.
func TestOldPrices(t *testing.T) {
	bubble(t, func(w *world) {
		learnt := time.Now().Add(-100 * time.Hour)
		spot := offer("spot", 0.3)
		spot.Market, spot.Interrupts = provider.Spot, 0.05
		for _, o := range []*provider.Offering{&w.cloud.Offers[0], &spot} {
			o.PricedAt, o.PriceFrom = learnt, "table"
		}
		paid := offer("paid", 0)
		paid.Market, paid.PricedAt, paid.PriceFrom = provider.Reserved, learnt.Add(-1000*time.Hour), "a contract"
		w.cloud.Offers = append(w.cloud.Offers, spot, paid)
		day := learnt.UTC().Format(time.DateOnly)
		for _, c := range []struct {
			most prices.MaxAge
			want string
			old  map[string]string
		}{
			{prices.MaxAge{}, "1 of 3 prices may have changed; the oldest, of " + day + ": spot (table)", map[string]string{"spot": day}},
			{prices.MaxAge{List: 99 * time.Hour, Spot: 101 * time.Hour}, "1 of 3 prices may have changed; the oldest, of " + day + ": small (table)", map[string]string{"small": day}},
			{prices.MaxAge{Spot: 101 * time.Hour}, "", map[string]string{}},
		} {
			w.cfg.MaxAge = c.most
			w.ready()
			o, err := w.driver.Observe(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			if o.OldPrices != c.want || !o.PricedAt.Equal(learnt) {
				t.Errorf("%+v: %q since %s, want %q since %s", c.most, o.OldPrices, o.PricedAt, c.want, learnt)
			}
			for i := range o.Nodes {
				if r := o.Nodes[i].Rented; r.OldPrice != c.old[r.Offering] {
					t.Errorf("%+v: %s: old %q", c.most, r.Offering, r.OldPrice)
				}
			}
			w.stop()
		}
	})
}
