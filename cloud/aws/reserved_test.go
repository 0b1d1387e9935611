package aws

import (
	"testing"
	"time"

	"fsub/cloud/provider"
	"fsub/cloud/providertest"
	"fsub/testbed/ec2"
)

func TestReservations(t *testing.T) {
	c, url := world(t, ec2.Config{})
	cfg := standIn(c, url, credentials(t, c.AccessKey(), c.SecretKey()))
	block := c.AddBlock("p5.48xlarge", "us-east-2a", 2, 24*time.Hour)
	kept := c.AddReservation("c7i.large", "us-east-2b", 2)
	cfg.Types, cfg.Reservations = nil, []string{block, kept}
	p := open(t, cfg)
	const target = "CapacityReservationSpecification.CapacityReservationTarget.CapacityReservationId"
	for id, want := range map[string]map[string]string{
		"p5.48xlarge/us-east-2a/block/" + block: {target: block, "InstanceMarketOptions.MarketType": "capacity-block"},
		"c7i.large/us-east-2b/reserved/" + kept: {target: kept, "InstanceMarketOptions.MarketType": ""},
	} {
		o := providertest.Offer(t, p, id)
		token := "g-" + o.Reservation
		if _, err := p.Create(t.Context(), gang(o, token, 2)); err != nil {
			t.Errorf("%s: %v", id, err)
			continue
		}
		wants(t, last(t, c, "RunInstances"), want)
		// It is full now: that is a stock-out of this offering.
		if _, err := p.Create(t.Context(), gang(o, token+"-more", 1)); providertest.KindOf(err) != provider.KindStockOut {
			t.Errorf("one more of %s: %v", id, err)
		}
	}
}
