package cloud_test

import (
	"slices"
	"testing"

	"fsub/cloud/provider"
	"fsub/federation/demand"
)

// TestFeatures: a constraint can ask for the market, the region and the zone of rented machines, each of which is there once.
func TestFeatures(t *testing.T) {
	bubble(t, func(w *world) {
		spot := offer("small", 1)
		spot.Market, spot.Features, spot.Region, spot.Zone = provider.Spot, []string{"small", "spot"}, "us-central1", "us-central1-a"
		w.cloud.Offers = []provider.Offering{spot}
		w.ready()
		obs, err := w.driver.Observe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got := obs.Nodes[0].Features; !slices.Equal(got, []string{"small", "spot", "us-central1", "us-central1-a"}) {
			t.Errorf("%q", got)
		}
		if _, err := demand.ParseConstraint("spot&(us-central1-a|on-demand)"); err != nil {
			t.Error(err)
		}
	})
}
